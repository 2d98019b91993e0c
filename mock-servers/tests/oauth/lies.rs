//! Every lie, told once: what a client sees of it.

#[path = "lies/documents.rs"]
mod documents;
#[path = "lies/registration.rs"]
mod registration;
#[path = "lies/resource.rs"]
mod resource;
#[path = "lies/responses.rs"]
mod responses;
#[path = "lies/tokens.rs"]
mod tokens;

use serde_json::Value;

use crate::peer::Peer;

/// A server that tells this lie.
async fn liar(tell: &str) -> Peer {
    Peer::new(&format!("lies: [{{ tell: {tell} }}]\n")).await
}

async fn metadata(peer: &Peer) -> Value {
    peer.get("/.well-known/oauth-authorization-server").await.json()
}

#[tokio::test]
async fn a_lie_is_told_as_often_as_the_script_says_and_lies_work_together() {
    let peer = Peer::new(
        "lies:\n  - { tell: missing-state, after: 1, times: 1 }\n  - { tell: { wrong-iss: { as: trailing-slash } } }\n",
    )
    .await;
    let client = peer.public_client().await;
    let mut states = Vec::new();
    for _ in 0..3 {
        let query = peer.authorize(&client, &[]).await.query();
        assert_eq!(query["iss"], format!("{}/", peer.mock.issuer()));
        states.push(query.contains_key("state"));
    }
    assert_eq!(states, [true, false, true]);
}
