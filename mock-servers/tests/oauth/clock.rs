//! Jumps of the clock, as a script has them: what becomes of tokens that were good a moment ago.

use mcp_workbench_mock_servers::oauth::AuditEvent;
use serde_json::Value;

use crate::peer::{Peer, claims};

/// When a peer's clock begins, in seconds since the Unix epoch.
const START: u64 = 1_800_000_000;

fn reason(peer: &Peer) -> String {
    let AuditEvent::Accessed(accessed) = peer.last().event else { panic!("{:?}", peer.last()) };
    accessed.reason.unwrap_or_default()
}

/// The status of a request with this token, and whether the challenge says that the token is invalid.
async fn passes(peer: &Peer, token: &Value) -> bool {
    let answer = peer.list_with(token).await;
    assert!(matches!(answer.status, 200 | 401), "{answer:?}");
    let refused = answer.header("www-authenticate").contains("error=\"invalid_token\"");
    assert_eq!(answer.status == 401, refused, "{answer:?}");
    !refused
}

#[tokio::test]
async fn a_token_that_was_good_a_moment_ago_is_expired() {
    let peer = Peer::new("clock: [{ after: { requests: 2 }, jump: { forward: 1h } }]").await;
    let client = peer.public_client().await;
    let issued = peer.tokens(&client, &[]).await;
    let token = &issued["access_token"];
    assert_eq!(claims(token)["exp"], START + 3600);
    assert!(passes(&peer, token).await && passes(&peer, token).await);
    assert!(!passes(&peer, token).await);
    assert_eq!(reason(&peer), "expired");
    // A new one is good, and stays so: the clock jumps once.
    let refresh = issued["refresh_token"].as_str().unwrap();
    let form = [("grant_type", "refresh_token"), ("refresh_token", refresh), ("client_id", client.as_str())];
    let renewed = peer.form("/token", &form).await.json();
    let token = &renewed["access_token"];
    assert_eq!(claims(token)["iat"], START + 3600);
    for _ in 0..3 {
        assert!(passes(&peer, token).await);
    }
}

#[tokio::test]
async fn a_token_is_of_a_time_to_come_where_the_clock_is_set_back() {
    let peer = Peer::new("clock: [{ after: { tokens: 1 }, jump: { back: 10m } }]").await;
    let client = peer.public_client().await;
    let first = peer.tokens(&client, &[]).await;
    let told = claims(&first["access_token"]);
    assert_eq!((told["iat"].as_u64(), told["nbf"].as_u64()), (Some(START), Some(START)));
    assert!(!passes(&peer, &first["access_token"]).await);
    assert_eq!(reason(&peer), "not-yet-valid");
    // The next one is of the time that the clock has now.
    let second = peer.tokens(&client, &[]).await;
    assert_eq!(claims(&second["access_token"])["nbf"], START - 600);
    assert!(passes(&peer, &second["access_token"]).await);
}

#[tokio::test]
async fn without_a_jump_both_go_on() {
    let peer = Peer::new("clock: [{ after: { tokens: 9 }, jump: { forward: 1h } }]").await;
    let client = peer.public_client().await;
    let issued = peer.tokens(&client, &[]).await;
    for _ in 0..3 {
        assert!(passes(&peer, &issued["access_token"]).await);
    }
}

#[tokio::test]
async fn several_jumps_follow_each_other() {
    let peer = Peer::new(
        "clock: [{ after: { requests: 1 }, jump: { forward: 2h } }, { after: { tokens: 2 }, jump: { back: 2h } }]",
    )
    .await;
    let client = peer.public_client().await;
    let first = peer.tokens(&client, &[]).await;
    assert!(passes(&peer, &first["access_token"]).await);
    assert!(!passes(&peer, &first["access_token"]).await, "two hours later");
    let second = peer.tokens(&client, &[]).await;
    assert!(passes(&peer, &first["access_token"]).await, "the clock is right again");
    assert!(!passes(&peer, &second["access_token"]).await, "issued while it was wrong");
}

#[test]
fn a_jump_of_no_known_kind_is_refused() {
    for text in [
        "clock: [{ after: { tokens: 1 }, jump: { sideways: 1h } }]",
        "clock: [{ after: { tokens: 1 }, jump: { forward: 3600 } }]",
        "clock: [{ after: { days: 1 }, jump: { forward: 1h } }]",
        "clock: [{ jump: { forward: 1h } }]",
    ] {
        assert!(mcp_workbench_mock_servers::oauth::script::parse(text, "clock.yaml").is_err(), "{text}");
    }
}
