use super::wire::{streamed, streamed_plain};

#[tokio::test]
async fn events_have_no_id() {
    let (heard, plain) = (streamed("no-event-id").await.text(), streamed_plain().await.text());
    assert!(!heard.lines().any(|line| line.starts_with("id:")));
    let kept: String = plain.split_inclusive('\n').filter(|line| !line.starts_with("id:")).collect();
    assert_eq!(heard, kept);
}
