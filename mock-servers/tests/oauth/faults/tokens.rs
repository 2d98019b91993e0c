//! Faults of the token endpoint.

use std::time::{Duration, Instant};

use mcp_workbench_mock_servers::oauth::SigningKey;
use serde_json::{Value, json};

use super::faulty;
use crate::peer::{Peer, Read, claims, read};

async fn redeem(peer: &Peer) -> Read {
    let client = peer.public_client().await;
    let code = peer.code(&client, &[("scope", "read write")]).await;
    peer.redeem(&client, &code, &[]).await
}

#[tokio::test]
async fn pkce_not_verified() {
    let peer = faulty("pkce-not-verified").await;
    let client = peer.public_client().await;
    let code = peer.code(&client, &[]).await;
    assert_eq!(peer.redeem(&client, &code, &[("code_verifier", "")]).await.status, 200);
}

#[tokio::test]
async fn code_accepted_twice() {
    let peer = faulty("code-accepted-twice").await;
    let client = peer.public_client().await;
    let code = peer.code(&client, &[]).await;
    assert_eq!(peer.redeem(&client, &code, &[]).await.status, 200);
    assert_eq!(peer.redeem(&client, &code, &[]).await.status, 200);
}

#[tokio::test]
async fn token_refused() {
    let peer = faulty("{ token-refused: { status: 429, retry_after: 2s } }, times: 1").await;
    let answer = redeem(&peer).await;
    assert_eq!((answer.status, answer.header("retry-after"), answer.text.as_str()), (429, "2", ""));
    assert_eq!(redeem(&peer).await.status, 200);
    let peer = faulty("{ token-refused: { status: 401, error: invalid_client, grant: refresh_token } }").await;
    let tokens = redeem(&peer).await.json();
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let form = [("grant_type", "refresh_token"), ("client_id", "x"), ("refresh_token", refresh)];
    assert_eq!(peer.form("/token", &form).await.error(), (401, "invalid_client".to_owned()));
    let peer = faulty("{ token-refused: { status: 400, error: unauthorized_client, scope: trigger } }").await;
    let client = peer.public_client().await;
    let code = peer.code(&client, &[]).await;
    let answer = peer.redeem(&client, &code, &[("scope", "trigger")]).await;
    assert_eq!(answer.error(), (400, "unauthorized_client".to_owned()));
}

#[tokio::test]
async fn redirected_token() {
    let peer = faulty("{ redirected-token: { to: 'https://evil.example.com/token', status: 307 } }").await;
    let answer = redeem(&peer).await;
    assert_eq!((answer.status, answer.header("location")), (307, "https://evil.example.com/token"));
}

#[tokio::test]
async fn wrong_token_type() {
    let peer = faulty("{ wrong-token-type: { token_type: mac } }").await;
    assert_eq!(redeem(&peer).await.json()["token_type"], "mac");
}

#[tokio::test]
async fn no_expires_in() {
    assert_eq!(redeem(&faulty("no-expires-in").await).await.json().get("expires_in"), None);
}

#[tokio::test]
async fn wrong_expires_in() {
    let peer = faulty("{ wrong-expires-in: { expires_in: '3600' } }").await;
    assert_eq!(redeem(&peer).await.json()["expires_in"], "3600");
}

#[tokio::test]
async fn reduced_scope() {
    let answer = redeem(&faulty("{ reduced-scope: { scope: read } }").await).await.json();
    assert_eq!((&answer["scope"], &claims(&answer["access_token"])["scope"]), (&json!("read write"), &json!("read")));
}

#[tokio::test]
async fn extra_scope() {
    let answer = redeem(&faulty("{ extra-scope: { scope: read write admin } }").await).await.json();
    assert_eq!(answer["scope"], "read write admin");
    assert_eq!(claims(&answer["access_token"])["scope"], "read write");
}

#[tokio::test]
async fn broken_token_response() {
    let answer = redeem(&faulty("broken-token-response").await).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"));
    assert!(serde_json::from_str::<Value>(&answer.text).is_err());
}

#[tokio::test]
async fn slow_token() {
    let peer = faulty("{ slow-token: { delay: 80ms } }").await;
    let client = peer.public_client().await;
    let code = peer.code(&client, &[]).await;
    let began = Instant::now();
    assert_eq!(peer.redeem(&client, &code, &[]).await.status, 200);
    assert!(began.elapsed() >= Duration::from_millis(80));
}

fn proof(peer: &Peer, id: &str) -> String {
    let claims = json!({"jti": id, "htm": "POST", "htu": peer.at("/token"), "iat": peer.clock.seconds()});
    SigningKey::seeded(3, "client").dpop_proof(&claims)
}

#[tokio::test]
async fn dpop_not_bound() {
    let peer = Peer::new("dpop: { mode: optional }\nfaults: [{ fault: dpop-not-bound }]\n").await;
    let client = peer.public_client().await;
    let code = peer.code(&client, &[]).await;
    let answer = read(peer.redeeming(&client, &code, &[]).header("dpop", proof(&peer, "1"))).await.json();
    assert_eq!((&answer["token_type"], claims(&answer["access_token"]).get("cnf")), (&json!("Bearer"), None));
}

#[tokio::test]
async fn endless_nonce() {
    let peer = Peer::new("dpop: { mode: optional }\nfaults: [{ fault: { endless-nonce: {} } }]\n").await;
    let client = peer.public_client().await;
    let mut nonces = Vec::new();
    for id in ["1", "2"] {
        let code = peer.code(&client, &[]).await;
        let answer = read(peer.redeeming(&client, &code, &[]).header("dpop", proof(&peer, id))).await;
        assert_eq!(answer.error(), (400, "use_dpop_nonce".to_owned()));
        nonces.push(answer.header("dpop-nonce").to_owned());
    }
    assert_ne!(nonces[0], nonces[1]);
}

#[tokio::test]
async fn invalid_refresh_token() {
    let peer = faulty("invalid-refresh-token").await;
    let client = peer.public_client().await;
    let tokens = peer.tokens(&client, &[]).await;
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let form = [("grant_type", "refresh_token"), ("client_id", client.as_str()), ("refresh_token", refresh)];
    assert_eq!(peer.form("/token", &form).await.error(), (400, "invalid_grant".to_owned()));
}

#[tokio::test]
async fn wrong_audience() {
    let peer = faulty("{ wrong-audience: { audience: 'https://another.example/mcp' } }").await;
    let tokens = redeem(&peer).await.json();
    assert_eq!(claims(&tokens["access_token"])["aud"], "https://another.example/mcp");
    assert_eq!(peer.list_with(&tokens["access_token"]).await.status, 401);
}

#[tokio::test]
async fn invalid_token_signature() {
    let peer = faulty("invalid-token-signature").await;
    let tokens = redeem(&peer).await.json();
    assert_eq!(claims(&tokens["access_token"])["iss"], peer.mock.issuer());
    assert_eq!(peer.list_with(&tokens["access_token"]).await.status, 401);
}
