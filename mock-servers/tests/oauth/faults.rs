//! Every OAuth fault: what a client observes.

#[path = "faults/documents.rs"]
mod documents;
#[path = "faults/registration.rs"]
mod registration;
#[path = "faults/resource.rs"]
mod resource;
#[path = "faults/responses.rs"]
mod responses;
#[path = "faults/tokens.rs"]
mod tokens;

use serde_json::Value;

use crate::peer::Peer;

/// A server with this fault.
async fn faulty(fault: &str) -> Peer {
    Peer::new(&format!("faults: [{{ fault: {fault} }}]\n")).await
}

async fn metadata(peer: &Peer) -> Value {
    peer.get("/.well-known/oauth-authorization-server").await.json()
}

#[tokio::test]
async fn a_fault_is_injected_as_often_as_the_script_says_and_faults_combine() {
    let peer = Peer::new(
        "faults:\n  - { fault: missing-state, after: 1, times: 1 }\n  - { fault: { wrong-iss: { as: trailing-slash } } }\n",
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
