//! Codes, access tokens and refresh tokens, from issue to revocation.

use std::time::Duration;

use mcp_workbench_mock_servers::oauth::{AuditEvent, AuthScript};
use serde_json::{Value, json};

use crate::peer::{Peer, claims};

#[tokio::test]
async fn a_code_brings_a_token_that_says_whose_and_for_what_it_is() {
    let peer = Peer::new("{}").await;
    let client = peer.public_client().await;
    let resource = peer.mock.protected().to_owned();
    let code = peer.code(&client, &[("scope", "read write"), ("resource", &resource)]).await;
    let answer = peer.redeem(&client, &code, &[("resource", &resource)]).await;
    assert_eq!((answer.status, answer.header("cache-control")), (200, "no-store"));
    assert_eq!(answer.header("content-type"), "application/json");
    let body = answer.json();
    assert_eq!(
        (&body["token_type"], &body["expires_in"], &body["scope"]),
        (&json!("Bearer"), &json!(3600), &json!("read write"))
    );
    let token = claims(&body["access_token"]);
    assert_eq!((&token["iss"], &token["aud"]), (&json!(peer.mock.issuer()), &json!(resource)));
    assert_eq!((&token["client_id"], &token["scope"]), (&json!(client), &json!("read write")));
    assert_eq!(token["exp"], 1_800_003_600_u64);
    assert_eq!(peer.list_with(&body["access_token"]).await.json()["result"]["tools"][0]["name"], "test-tool");
    let AuditEvent::TokenRequested(asked) = peer.events().remove(2) else { panic!("{:?}", peer.events()) };
    assert_eq!((asked.grant.as_deref(), asked.auth_method.as_deref()), (Some("authorization_code"), Some("none")));
    assert!(asked.verifier && asked.error.is_none());
    assert_eq!((asked.resource, asked.granted_scope.as_deref()), (vec![resource], Some("read write")));
}

#[tokio::test]
async fn a_code_is_good_for_one_client_one_verifier_one_redirect_uri_and_one_minute() {
    let peer = Peer::new("{}").await;
    let (client, other) = (peer.public_client().await, peer.public_client().await);
    let resource = peer.mock.protected().to_owned();
    for (over, error) in [
        (("code_verifier", "another-verifier-that-is-long-enough-for-the-standard"), "invalid_grant"),
        (("code_verifier", ""), "invalid_grant"),
        (("redirect_uri", "http://127.0.0.1:7777/other"), "invalid_grant"),
        (("redirect_uri", ""), "invalid_grant"),
        (("client_id", other.as_str()), "invalid_grant"),
        (("code", "a-code-that-nobody-issued"), "invalid_grant"),
        (("code", ""), "invalid_request"),
        (("grant_type", ""), "invalid_request"),
        (("grant_type", "password"), "unsupported_grant_type"),
        (("resource", "https://another.example/mcp"), "invalid_target"),
    ] {
        let code = peer.code(&client, &[("resource", &resource)]).await;
        assert_eq!(peer.redeem(&client, &code, &[over]).await.error(), (400, error.to_owned()), "{over:?}");
    }
    let code = peer.code(&client, &[]).await;
    peer.clock.advance(Duration::from_secs(60));
    assert_eq!(peer.redeem(&client, &code, &[]).await.error().1, "invalid_grant");
}

#[tokio::test]
async fn a_code_that_is_used_again_takes_its_tokens_with_it() {
    let peer = Peer::new("{}").await;
    let client = peer.public_client().await;
    let code = peer.code(&client, &[]).await;
    let body = peer.redeem(&client, &code, &[]).await.json();
    assert_eq!(peer.list_with(&body["access_token"]).await.status, 200);
    assert_eq!(peer.redeem(&client, &code, &[]).await.error().1, "invalid_grant");
    assert!(peer.events().contains(&AuditEvent::CodeReused));
    assert_eq!(peer.list_with(&body["access_token"]).await.status, 401);
    assert_eq!(refresh(&peer, &client, &body, &[]).await.error().1, "invalid_grant");
}

async fn refresh(peer: &Peer, client: &str, tokens: &Value, more: &[(&str, &str)]) -> crate::peer::Read {
    let token = tokens["refresh_token"].as_str().expect("there is a refresh token");
    let mut form = vec![("grant_type", "refresh_token"), ("client_id", client), ("refresh_token", token)];
    form.extend(more);
    peer.form("/token", &form).await
}

#[tokio::test]
async fn refresh_tokens_rotate_and_a_stolen_one_ends_the_family() {
    let peer = Peer::new("{}").await;
    let client = peer.public_client().await;
    let first = peer.tokens(&client, &[("scope", "read write")]).await;
    let second = refresh(&peer, &client, &first, &[("scope", "read")]).await.json();
    assert_eq!(second["scope"], "read");
    assert_ne!(first["refresh_token"], second["refresh_token"]);
    // Fewer scopes once are not fewer scopes for ever (RFC 6749 section 6).
    let third = refresh(&peer, &client, &second, &[]).await.json();
    assert_eq!(third["scope"], "read write");
    assert_eq!(refresh(&peer, &client, &first, &[]).await.error(), (400, "invalid_grant".to_owned()));
    assert!(peer.events().contains(&AuditEvent::RefreshReused));
    assert_eq!(refresh(&peer, &client, &third, &[]).await.error().1, "invalid_grant");
    assert_eq!(peer.list_with(&third["access_token"]).await.status, 401);
}

#[tokio::test]
async fn a_refresh_token_is_good_for_its_client_its_scopes_and_its_time() {
    let peer = Peer::new("{}").await;
    let (client, other) = (peer.public_client().await, peer.public_client().await);
    let tokens = peer.tokens(&client, &[("scope", "read")]).await;
    assert_eq!(refresh(&peer, &client, &tokens, &[("scope", "read admin")]).await.error().1, "invalid_scope");
    assert_eq!(refresh(&peer, &other, &tokens, &[]).await.error().1, "invalid_grant");
    peer.clock.advance(Duration::from_secs(86_400));
    assert_eq!(refresh(&peer, &client, &tokens, &[]).await.error().1, "invalid_grant");
}

#[tokio::test]
async fn without_rotation_a_refresh_token_stays() {
    let peer = Peer::new("refresh: { rotate: false }\n").await;
    let client = peer.public_client().await;
    let tokens = peer.tokens(&client, &[]).await;
    for _ in 0..2 {
        let again = refresh(&peer, &client, &tokens, &[]).await.json();
        assert_eq!(again.get("refresh_token"), None);
    }
}

#[tokio::test]
async fn refresh_tokens_come_when_the_script_says_so() {
    for (issue, scope, expected) in [
        ("always", "read", true),
        ("never", "read offline_access", false),
        ("offline-access", "read", false),
        ("offline-access", "read offline_access", true),
    ] {
        let peer = Peer::new(&format!("refresh: {{ issue: {issue} }}\n")).await;
        let client = peer.public_client().await;
        let tokens = peer.tokens(&client, &[("scope", scope)]).await;
        assert_eq!(tokens.get("refresh_token").is_some(), expected, "{issue} {scope}");
    }
}

#[tokio::test]
async fn an_access_token_expires_by_the_clock_of_the_test() {
    let peer = Peer::new("lifetimes: { access_token: 2s }\n").await;
    let client = peer.public_client().await;
    let tokens = peer.tokens(&client, &[]).await;
    assert_eq!(tokens["expires_in"], 2);
    assert_eq!(peer.list_with(&tokens["access_token"]).await.status, 200);
    peer.clock.advance(Duration::from_secs(2));
    let answer = peer.list_with(&tokens["access_token"]).await;
    assert_eq!(answer.status, 401);
    assert!(answer.header("www-authenticate").contains("error=\"invalid_token\""), "{answer:?}");
    let AuditEvent::Accessed(accessed) = peer.last().event else { panic!("{:?}", peer.last()) };
    assert_eq!(accessed.reason.as_deref(), Some("expired"));
}

#[tokio::test]
async fn the_audience_follows_the_resource_or_the_script() {
    let peer = Peer::new("{}").await;
    let client = peer.public_client().await;
    let tokens = peer.tokens(&client, &[("resource", "https://another.example/mcp")]).await;
    assert_eq!(peer.list_with(&tokens["access_token"]).await.status, 401);
    assert!(
        matches!(peer.last().event, AuditEvent::Accessed(seen) if seen.reason.as_deref() == Some("wrong-audience"))
    );
    let peer = Peer::new("resource: { missing: no-audience }\n").await;
    let client = peer.public_client().await;
    let tokens = peer.tokens(&client, &[]).await;
    assert_eq!(claims(&tokens["access_token"]).get("aud"), None);
    assert_eq!(peer.list_with(&tokens["access_token"]).await.status, 401);
    let peer = Peer::new("resource: { missing: refuse }\n").await;
    let client = peer.public_client().await;
    assert_eq!(peer.authorize(&client, &[]).await.query()["error"], "invalid_target");
}

#[tokio::test]
async fn a_revoked_token_is_dead_and_an_unknown_one_does_no_harm() {
    let peer = Peer::new("{}").await;
    let (client, other) = (peer.public_client().await, peer.public_client().await);
    let tokens = peer.tokens(&client, &[]).await;
    let access = tokens["access_token"].as_str().unwrap();
    let revoke =
        async |client: &str, token: &str| peer.form("/revoke", &[("client_id", client), ("token", token)]).await.status;
    assert_eq!(revoke(&other, access).await, 200);
    assert_eq!(peer.list_with(&tokens["access_token"]).await.status, 200);
    assert_eq!(revoke(&client, access).await, 200);
    assert_eq!(peer.list_with(&tokens["access_token"]).await.status, 401);
    assert_eq!(revoke(&client, "unknown").await, 200);
    assert_eq!(revoke(&client, "").await, 400);
    assert_eq!(revoke("nobody", access).await, 401);
    let renewed = refresh(&peer, &client, &tokens, &[]).await.json();
    assert_eq!(revoke(&client, renewed["refresh_token"].as_str().unwrap()).await, 200);
    assert_eq!(refresh(&peer, &client, &renewed, &[]).await.error().1, "invalid_grant");
    assert_eq!(peer.list_with(&renewed["access_token"]).await.status, 401);
}

#[tokio::test]
async fn only_a_client_with_credentials_may_ask_about_tokens() {
    let peer = Peer::new("clients: [{ id: api, secret: s3cret }]\n").await;
    let client = peer.public_client().await;
    let tokens = peer.tokens(&client, &[("scope", "read")]).await;
    let ask = async |token: &str| {
        peer.form("/introspect", &[("client_id", "api"), ("client_secret", "s3cret"), ("token", token)]).await.json()
    };
    let described = ask(tokens["access_token"].as_str().unwrap()).await;
    assert_eq!((&described["active"], &described["scope"]), (&json!(true), &json!("read")));
    assert_eq!(described["client_id"], client);
    assert_eq!(ask(tokens["refresh_token"].as_str().unwrap()).await["active"], true);
    assert_eq!(ask("unknown").await, json!({"active": false}));
    peer.mock.revoke_client(&client);
    assert_eq!(ask(tokens["access_token"].as_str().unwrap()).await, json!({"active": false}));
    let public = peer.form("/introspect", &[("client_id", &client), ("token", "x")]).await;
    assert_eq!(public.error(), (401, "invalid_client".to_owned()));
}

#[tokio::test]
async fn a_form_is_needed_and_a_parameter_counts_once() {
    let peer = Peer::new("{}").await;
    let client = peer.public_client().await;
    let answer =
        crate::peer::read(peer.http.post(peer.at("/token")).json(&json!({"grant_type": "refresh_token"}))).await;
    assert_eq!(answer.error(), (400, "invalid_request".to_owned()));
    let form = [("grant_type", "refresh_token"), ("grant_type", "refresh_token"), ("client_id", &client)];
    assert_eq!(peer.form("/token", &form).await.error(), (400, "invalid_request".to_owned()));
    assert_eq!(peer.get("/token").await.status, 405);
}

#[tokio::test]
async fn the_same_seed_brings_the_same_codes_and_another_does_not() {
    let mut codes = Vec::new();
    for seed in [7, 7, 8] {
        let peer = Peer::with(AuthScript::default(), seed).await;
        let client = peer.public_client().await;
        codes.push((peer.code(&client, &[]).await, client));
    }
    assert_eq!(codes[0], codes[1]);
    assert_ne!(codes[0], codes[2]);
}

#[tokio::test]
async fn a_client_that_is_forgotten_is_not_known_any_more() {
    let peer = Peer::new("{}").await;
    let client = peer.public_client().await;
    let tokens = peer.tokens(&client, &[]).await;
    peer.mock.forget_client(&client);
    assert_eq!(refresh(&peer, &client, &tokens, &[]).await.error(), (401, "invalid_client".to_owned()));
    assert_eq!(peer.authorize(&client, &[]).await.status, 400);
}
