use serde_json::json;

use super::{
    process,
    wire::{answer, fault, plain, repeats},
};

#[tokio::test]
async fn many_notifications_come_before_the_answer() {
    let flood = fault(json!({"notification-flood": {"count": 500}}));
    let events = answer(flood.clone()).await.events();
    assert_eq!(events.len(), 501);
    let entry = json!({"level": "info", "logger": "flood", "data": 500});
    assert_eq!(events[499], json!({"jsonrpc": "2.0", "method": "notifications/message", "params": entry}));
    assert_eq!(events[500], plain().await.json());
    repeats(flood).await;
}

#[test]
fn over_stdio_too_and_of_any_method() {
    let flood = json!({"notification-flood": {"count": 3, "method": "a/b", "params": {"x": 1}}});
    let text = String::from_utf8(process::answer(fault(flood))).unwrap();
    let flood = json!({"jsonrpc": "2.0", "method": "a/b", "params": {"x": 1}}).to_string();
    assert_eq!(text.lines().filter(|line| *line == flood).count(), 3);
}
