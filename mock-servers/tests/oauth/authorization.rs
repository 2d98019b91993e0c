//! The authorization endpoint, and the user before it.

use mcp_workbench_mock_servers::oauth::{AuditEvent, Outcome};

use crate::peer::{CALLBACK, Peer, challenge};

#[tokio::test]
async fn a_consent_redirects_at_once_with_code_state_and_iss() {
    let peer = Peer::new("{}").await;
    let client = peer.public_client().await;
    let answer = peer.authorize(&client, &[("scope", "read"), ("resource", "https://mcp.example/mcp")]).await;
    assert_eq!((answer.status, answer.header("cache-control")), (302, "no-store"));
    assert!(answer.header("location").starts_with(&format!("{CALLBACK}?")));
    let query = answer.query();
    assert_eq!((query["state"].as_str(), query["iss"].as_str()), ("the-state", peer.mock.issuer()));
    let entry = peer.last();
    assert_eq!(entry.client.as_deref(), Some(client.as_str()));
    let AuditEvent::Authorized(asked) = entry.event else { panic!("{entry:?}") };
    assert_eq!(asked.challenge_method.as_deref(), Some("S256"));
    assert!(asked.challenge && asked.state && !asked.dpop_jkt);
    assert_eq!((asked.resource, asked.scope), (vec!["https://mcp.example/mcp".to_owned()], Some("read".to_owned())));
    assert_eq!(asked.outcome, Outcome::Granted);
}

#[tokio::test]
async fn a_form_is_as_good_as_a_query() {
    let peer = Peer::new("{}").await;
    let client = peer.public_client().await;
    let challenge = challenge();
    let answer = peer
        .form(
            "/authorize",
            &[
                ("response_type", "code"),
                ("client_id", &client),
                ("redirect_uri", CALLBACK),
                ("code_challenge", &challenge),
                ("code_challenge_method", "S256"),
            ],
        )
        .await;
    assert_eq!(answer.status, 303);
    assert!(answer.query().contains_key("code"));
}

#[tokio::test]
async fn nothing_is_redirected_to_where_nobody_registered() {
    let peer = Peer::new("{}").await;
    let client = peer.public_client().await;
    for over in [
        ("client_id", "nobody"),
        ("client_id", ""),
        ("redirect_uri", "https://evil.example/cb"),
        ("redirect_uri", "http://127.0.0.1:7777/callback/more"),
    ] {
        let answer = peer.authorize(&client, &[over]).await;
        assert_eq!((answer.status, answer.header("location")), (400, ""), "{over:?}");
    }
    assert_eq!(peer.authorize(&client, &[("redirect_uri", "http://127.0.0.1:1/callback")]).await.status, 302);
    assert_eq!(peer.authorize(&client, &[("redirect_uri", "")]).await.status, 302);
}

#[tokio::test]
async fn an_invalid_request_gets_an_error_with_its_state() {
    let peer = Peer::new("scopes_supported: [read, write]\nresource: { known_only: true }\n").await;
    let client = peer.public_client().await;
    for (over, error) in [
        (("response_type", "token"), "unsupported_response_type"),
        (("response_type", ""), "invalid_request"),
        (("code_challenge", ""), "invalid_request"),
        (("code_challenge", "too-short"), "invalid_request"),
        (("code_challenge_method", "plain"), "invalid_request"),
        (("code_challenge_method", ""), "invalid_request"),
        (("code_challenge_method", "S512"), "invalid_request"),
        (("scope", "read admin"), "invalid_scope"),
        (("resource", "not a uri"), "invalid_target"),
        (("resource", "https://mcp.example/mcp#fragment"), "invalid_target"),
        (("resource", "https://unknown.example/mcp"), "invalid_target"),
    ] {
        let query = peer.authorize(&client, &[over]).await.query();
        assert_eq!(query["error"], error, "{over:?}");
        assert_eq!((query["state"].as_str(), query["iss"].as_str()), ("the-state", peer.mock.issuer()));
        assert!(!query.contains_key("code"));
    }
    let own = peer.mock.protected().to_owned();
    assert!(peer.authorize(&client, &[("resource", &own)]).await.query().contains_key("code"));
}

#[tokio::test]
async fn a_parameter_that_is_given_twice_is_refused() {
    let peer = Peer::new("{}").await;
    let client = peer.public_client().await;
    let challenge = challenge();
    let query = format!(
        "/authorize?response_type=code&client_id={client}&redirect_uri={CALLBACK}&code_challenge={challenge}\
         &code_challenge_method=S256&scope=a&scope=b"
    );
    assert_eq!(peer.get(&query).await.query()["error"], "invalid_request");
}

#[tokio::test]
async fn the_user_decides_each_time_as_the_script_says_and_then_stays() {
    let peer = Peer::new("user: [denies, { consents-to: [read] }, never-answers]\n").await;
    let client = peer.public_client().await;
    assert_eq!(peer.authorize(&client, &[]).await.query()["error"], "access_denied");
    let tokens = peer.tokens(&client, &[("scope", "read write")]).await;
    assert_eq!(tokens["scope"], "read");
    for _ in 0..2 {
        let answer = peer.authorize(&client, &[]).await;
        assert_eq!((answer.status, answer.header("location")), (200, ""));
        assert!(matches!(peer.last().event, AuditEvent::Authorized(asked) if asked.outcome == Outcome::Unanswered));
    }
}

#[tokio::test]
async fn a_client_without_the_grant_gets_an_error() {
    let peer = Peer::new(
        "clients:\n  - { id: machine, secret: s, redirect_uris: [\"http://127.0.0.1:7777/callback\"], grant_types: [client_credentials] }\n",
    )
    .await;
    assert_eq!(peer.authorize("machine", &[]).await.query()["error"], "unauthorized_client");
}

#[tokio::test]
async fn pkce_can_be_left_out_only_where_the_script_allows_it() {
    let peer = Peer::new("pkce: { required: false }\n").await;
    let client = peer.public_client().await;
    let without = [("code_challenge", ""), ("code_challenge_method", "")];
    let code = peer.code(&client, &without).await;
    // A verifier for a code without a challenge is a downgrade.
    assert_eq!(peer.redeem(&client, &code, &[]).await.error().1, "invalid_grant");
    let code = peer.code(&client, &without).await;
    assert_eq!(peer.redeem(&client, &code, &[("code_verifier", "")]).await.status, 200);
}
