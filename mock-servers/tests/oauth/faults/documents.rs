//! Faults of metadata documents.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{faulty, metadata};

const METADATA: &str = "/.well-known/oauth-authorization-server";
const RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";

#[tokio::test]
async fn issuer_mismatch() {
    for (form, expected) in [
        ("stranger", "https://evil.example.com".to_owned()),
        ("{ text: 'http://127.0.0.1:1' }", "http://127.0.0.1:1".to_owned()),
    ] {
        let peer = faulty(&format!("{{ issuer-mismatch: {{ as: {form} }} }}")).await;
        assert_eq!(metadata(&peer).await["issuer"], expected);
    }
    for (form, ending) in [("trailing-slash", "/"), ("neighbour", "/other-tenant")] {
        let peer = faulty(&format!("{{ issuer-mismatch: {{ as: {form} }} }}")).await;
        assert_eq!(metadata(&peer).await["issuer"], format!("{}{ending}", peer.mock.issuer()));
    }
    let peer = faulty("{ issuer-mismatch: { as: upper-case } }").await;
    assert_eq!(metadata(&peer).await["issuer"], peer.mock.issuer().replace("http", "HTTP"));
}

#[tokio::test]
async fn pkce_not_advertised() {
    let peer = faulty("pkce-not-advertised").await;
    assert_eq!(metadata(&peer).await.get("code_challenge_methods_supported"), None);
}

#[tokio::test]
async fn plain_pkce() {
    let peer = faulty("plain-pkce").await;
    assert_eq!(metadata(&peer).await["code_challenge_methods_supported"], json!(["plain"]));
    let client = peer.public_client().await;
    let plain = [("code_challenge_method", "plain"), ("code_challenge", crate::peer::VERIFIER)];
    let code = peer.code(&client, &plain).await;
    assert_eq!(peer.redeem(&client, &code, &[]).await.status, 200);
}

#[tokio::test]
async fn untrusted_endpoint() {
    let peer =
        faulty("{ untrusted-endpoint: { endpoint: token_endpoint, url: 'http://169.254.169.254/latest' } }").await;
    assert_eq!(metadata(&peer).await["token_endpoint"], "http://169.254.169.254/latest");
}

#[tokio::test]
async fn oversized_document() {
    let peer = faulty("{ oversized-document: { bytes: 3000000 } }").await;
    let answer = peer.get(METADATA).await;
    assert!(answer.text.len() > 3_000_000 && answer.json()["issuer"] == peer.mock.issuer());
    assert!(peer.get(RESOURCE).await.text.len() < 10_000);
}

#[tokio::test]
async fn slow_document() {
    let peer = faulty("{ slow-document: { document: jwks, delay: 30ms, per_byte: 1ms } }").await;
    let began = Instant::now();
    assert!(peer.get("/jwks.json").await.json()["keys"].is_array());
    assert!(began.elapsed() > Duration::from_millis(100), "{:?}", began.elapsed());
}

#[tokio::test]
async fn wrong_content_type() {
    let peer = faulty("{ wrong-content-type: { content_type: text/html } }").await;
    assert_eq!(peer.get(METADATA).await.header("content-type"), "text/html");
}

#[tokio::test]
async fn broken_json() {
    let peer = faulty("{ broken-json: { document: protected-resource } }").await;
    assert!(serde_json::from_str::<serde_json::Value>(&peer.get(RESOURCE).await.text).is_err());
    assert_eq!(metadata(&peer).await["issuer"], peer.mock.issuer());
}

#[tokio::test]
async fn redirected_document() {
    let peer = faulty("{ redirected-document: { to: 'http://169.254.169.254/', status: 302 } }").await;
    let answer = peer.get(METADATA).await;
    assert_eq!((answer.status, answer.header("location")), (302, "http://169.254.169.254/"));
}

#[tokio::test]
async fn document_status() {
    let peer = faulty("{ document-status: { status: 503 } }").await;
    assert_eq!(peer.get(METADATA).await.status, 503);
}

#[tokio::test]
async fn wrong_resource() {
    let peer = faulty("{ wrong-resource: { resource: 'https://evil.example.com/mcp' } }").await;
    assert_eq!(peer.get(RESOURCE).await.json()["resource"], "https://evil.example.com/mcp");
}

#[tokio::test]
async fn wrong_authorization_servers() {
    let peer = faulty("{ wrong-authorization-servers: { servers: [] } }").await;
    assert_eq!(peer.get(RESOURCE).await.json()["authorization_servers"], json!([]));
}
