use serde_json::{Value, json};

use super::wire::{Server, fault, on_call};

/// What a session's call hears that is answered behind a notification.
async fn heard(actions: &[Value]) -> String {
    let notify = json!({"notify": {"method": "notifications/message", "params": {"level": "info", "data": "é"}}});
    let actions: Vec<Value> = actions.iter().cloned().chain([notify]).collect();
    Server::initialized(&on_call(actions)).await.call().await.text()
}

fn ids(heard: &str) -> usize {
    heard.lines().filter(|line| line.starts_with("id:")).count()
}

#[tokio::test]
async fn a_stream_that_could_be_resumed_has_no_ids() {
    let (faulty, plain) = (heard(&[fault("no-event-id")]).await, heard(&[]).await);
    assert_eq!(ids(&plain), 3, "one to begin with, and one for each message: {plain}");
    assert_eq!(ids(&faulty), 0, "{faulty}");
    let messages = |heard: &str| heard.lines().filter(|line| line.starts_with("data: {")).count();
    assert_eq!((messages(&faulty), messages(&plain)), (2, 2));
}
