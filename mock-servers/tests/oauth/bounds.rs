//! What hostile clients cannot do, and what the log never says.

use std::time::Duration;

use mcp_workbench_mock_servers::{
    Recorder, listen,
    oauth::{AuditEvent, AuthScript, OAuthMock, OAuthOptions},
};
use serde_json::json;

use crate::peer::{Peer, VERIFIER, read};

#[tokio::test]
async fn hostile_requests_get_an_error_and_the_server_lives_on() {
    let peer = Peer::new("{}").await;
    let huge = "x".repeat(300_000);
    assert_eq!(read(peer.http.post(peer.at("/register")).json(&json!({"client_name": huge}))).await.status, 413);
    for path in ["/authorize", "/token", "/register", "/revoke", "/introspect", "/mcp", "/", "/.well-known/%ff"] {
        for body in ["", "\u{0}", "%", "&&&===", "{", "[[[[[[[[", "grant_type=%ff%fe&client_id=%00"] {
            for content_type in ["application/x-www-form-urlencoded", "application/json", ";;;"] {
                let request = peer.http.post(peer.at(path)).header("content-type", content_type).body(body);
                let status = read(request).await.status;
                assert!((400..500).contains(&status), "{path} {body:?} {status}");
            }
        }
    }
    let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
    let request = peer.http.post(peer.at("/register")).header("content-type", "application/json").body(deep);
    assert_eq!(read(request).await.status, 400);
    let many: String = (0..1_000).map(|index| format!("p{index}=1&")).collect();
    assert_eq!(peer.get(&format!("/authorize?{many}")).await.status, 400);
    assert_eq!(peer.get("/.well-known/oauth-authorization-server").await.status, 200);
}

#[tokio::test]
async fn requests_under_a_foreign_name_are_turned_away() {
    let peer = Peer::new("{}").await;
    let metadata = peer.at("/.well-known/oauth-authorization-server");
    assert_eq!(read(peer.http.get(&metadata).header("host", "evil.example")).await.status, 403);
}

#[tokio::test]
async fn the_log_and_the_record_hold_no_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let (audit_file, record_file) = (folder.path().join("audit.jsonl"), folder.path().join("frames.jsonl"));
    let recorder = Recorder::to_file("oauth", &record_file).unwrap();
    let options = OAuthOptions::default().with_recorder(recorder).with_audit_file(&audit_file);
    let mock = OAuthMock::start(AuthScript::default(), options).await.unwrap();
    let http = test_support::http_client_builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let peer = Peer { clock: mock.clock().clone(), mock, http };
    let client = peer.public_client().await;
    let code = peer.code(&client, &[("state", "a-state-of-mine")]).await;
    let tokens = peer.redeem(&client, &code, &[]).await.json();
    peer.list_with(&tokens["access_token"]).await;
    let refresh = tokens["refresh_token"].as_str().unwrap().to_owned();
    let form = [("grant_type", "refresh_token"), ("client_id", client.as_str()), ("refresh_token", &refresh)];
    peer.form("/token", &form).await;
    peer.get(&format!("/nowhere?token={refresh}")).await;
    let audit = std::fs::read_to_string(&audit_file).unwrap();
    assert_eq!(audit.lines().count(), peer.mock.audit().len());
    let record = std::fs::read_to_string(&record_file).unwrap();
    assert!(record.contains("/token") && audit.contains(&client));
    let access = tokens["access_token"].as_str().unwrap();
    let signature = access.rsplit('.').next().unwrap();
    for secret in [&code, &refresh, access, signature, VERIFIER] {
        assert!(!audit.contains(secret), "{secret} in {audit}");
        assert!(!record.contains(secret), "{secret} in {record}");
    }
    assert!(!audit.contains("a-state-of-mine"));
}

#[tokio::test]
async fn assertions_and_proofs_are_scrubbed_from_the_record() {
    let folder = tempfile::tempdir().unwrap();
    let record_file = folder.path().join("frames.jsonl");
    let options = OAuthOptions::default().with_recorder(Recorder::to_file("oauth", &record_file).unwrap());
    let mock = OAuthMock::start(AuthScript::default(), options).await.unwrap();
    let peer = Peer { clock: mock.clock().clone(), mock, http: test_support::http_client() };
    let form =
        [("client_assertion", "secret-assertion"), ("subject_token", "secret-subject"), ("assertion", "secret-grant")];
    read(peer.post("/token", &form).header("dpop", "secret-proof")).await;
    let record = std::fs::read_to_string(&record_file).unwrap();
    assert!(record.contains("client_assertion") && !record.contains("secret-"), "{record}");
}

#[tokio::test]
async fn a_test_can_wait_for_what_a_client_does() {
    let peer = Peer::new("{}").await;
    let asked = |entries: &[mcp_workbench_mock_servers::oauth::AuditEntry]| {
        entries.iter().any(|entry| matches!(entry.event, AuditEvent::Discovered(_)))
    };
    assert!(!peer.mock.until(Duration::from_millis(1), asked).await);
    let (waited, _) = tokio::join!(
        peer.mock.until(Duration::from_secs(10), asked),
        peer.get("/.well-known/oauth-authorization-server")
    );
    assert!(waited);
}

#[tokio::test]
async fn a_stopped_server_lets_go_of_its_port() {
    let peer = Peer::new("{}").await;
    let url = peer.at("/token");
    peer.mock.stop().await;
    assert!(peer.http.get(url).send().await.is_err());
}

#[tokio::test]
async fn a_server_needs_an_origin_and_a_script_that_makes_sense() {
    let folder = tempfile::tempdir().unwrap();
    let at = listen::Options::at(listen::Address::Unix(folder.path().join("socket")));
    let refused = OAuthMock::start(AuthScript::default(), OAuthOptions::default().with_listen(at)).await.unwrap_err();
    assert_eq!(refused.to_string(), "an authorization server on a Unix socket needs an origin");
    let script = crate::peer::script("identity_provider: { server_client_id: app }\n");
    let refused = OAuthMock::start(script, OAuthOptions::default()).await.unwrap_err();
    assert!(refused.to_string().contains("`app`, which `clients` does not list"), "{refused}");
}
