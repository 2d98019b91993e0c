//! Faults of client registration.

use serde_json::json;

use super::faulty;
use crate::peer::CALLBACK;

#[tokio::test]
async fn registration_refused() {
    let peer = faulty("{ registration-refused: { status: 403, error: access_denied } }").await;
    let answer = peer.register(&json!({"redirect_uris": [CALLBACK]})).await;
    assert_eq!(answer.error(), (403, "access_denied".to_owned()));
}

#[tokio::test]
async fn registration_without_id() {
    let peer = faulty("registration-without-id").await;
    let answer = peer.register(&json!({"redirect_uris": [CALLBACK]})).await;
    assert_eq!((answer.status, answer.json().get("client_id")), (201, None));
}

#[tokio::test]
async fn changed_registration() {
    let peer = faulty("{ changed-registration: { with: { redirect_uris: ['https://evil.example.com/cb'] } } }").await;
    let answer = peer.register(&json!({"redirect_uris": [CALLBACK]})).await.json();
    assert_eq!(answer["redirect_uris"], json!(["https://evil.example.com/cb"]));
}
