//! Faults of authorization responses.

use super::faulty;

#[tokio::test]
async fn wrong_iss() {
    let peer = faulty("{ wrong-iss: { as: stranger } }").await;
    let client = peer.public_client().await;
    assert_eq!(peer.authorize(&client, &[]).await.query()["iss"], "https://evil.example.com");
}

#[tokio::test]
async fn missing_iss() {
    let peer = faulty("missing-iss").await;
    let client = peer.public_client().await;
    assert!(!peer.authorize(&client, &[]).await.query().contains_key("iss"));
    assert_eq!(super::metadata(&peer).await["authorization_response_iss_parameter_supported"], true);
}

#[tokio::test]
async fn wrong_state() {
    let peer = faulty("wrong-state").await;
    let client = peer.public_client().await;
    assert_ne!(peer.authorize(&client, &[]).await.query()["state"], "the-state");
}

#[tokio::test]
async fn missing_state() {
    let peer = faulty("missing-state").await;
    let client = peer.public_client().await;
    assert!(!peer.authorize(&client, &[]).await.query().contains_key("state"));
}

#[tokio::test]
async fn repeated_parameter() {
    let peer = faulty("{ repeated-parameter: { name: code } }").await;
    let client = peer.public_client().await;
    let answer = peer.authorize(&client, &[]).await;
    assert_eq!(answer.header("location").matches("code=").count(), 2);
}

#[tokio::test]
async fn wrong_redirect_target() {
    let peer = faulty("{ wrong-redirect-target: { to: 'https://evil.example.com/cb' } }").await;
    let client = peer.public_client().await;
    let answer = peer.authorize(&client, &[]).await;
    assert!(answer.header("location").starts_with("https://evil.example.com/cb?code="), "{answer:?}");
}

#[tokio::test]
async fn code_and_error() {
    let peer = faulty("code-and-error").await;
    let client = peer.public_client().await;
    let query = peer.authorize(&client, &[]).await.query();
    assert!(query.contains_key("code") && query.contains_key("error"));
}

#[tokio::test]
async fn error_response() {
    let peer = faulty("{ error-response: { error: server_error, description: '<b>call 555</b>' } }").await;
    let client = peer.public_client().await;
    let query = peer.authorize(&client, &[]).await.query();
    assert_eq!((query["error"].as_str(), query["error_description"].as_str()), ("server_error", "<b>call 555</b>"));
    assert!(!query.contains_key("code"));
}

#[tokio::test]
async fn duplicate_code() {
    let peer = faulty("duplicate-code").await;
    let client = peer.public_client().await;
    assert_eq!(peer.code(&client, &[]).await, peer.code(&client, &[]).await);
}
