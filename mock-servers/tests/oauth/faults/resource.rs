//! Faults of the protected resource.

use super::faulty;

#[tokio::test]
async fn untrusted_metadata_url() {
    let peer = faulty("{ untrusted-metadata-url: { url: 'http://169.254.169.254/metadata' } }").await;
    assert_eq!(
        peer.list(None).await.header("www-authenticate"),
        "Bearer resource_metadata=\"http://169.254.169.254/metadata\""
    );
}

#[tokio::test]
async fn malformed_challenge() {
    let peer = faulty("{ malformed-challenge: { value: 'Bearer resource_metadata=\"open' } }").await;
    assert_eq!(peer.list(None).await.header("www-authenticate"), "Bearer resource_metadata=\"open");
}

#[tokio::test]
async fn missing_challenge() {
    let answer = faulty("missing-challenge").await.list(None).await;
    assert_eq!((answer.status, answer.header("www-authenticate")), (401, ""));
}

#[tokio::test]
async fn tokens_rejected() {
    let peer = faulty("tokens-rejected, times: 2").await;
    let client = peer.public_client().await;
    let tokens = peer.tokens(&client, &[]).await;
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(peer.list_with(&tokens["access_token"]).await.status);
    }
    assert_eq!(statuses, [401, 401, 200]);
}
