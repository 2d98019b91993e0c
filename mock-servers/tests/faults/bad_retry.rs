use super::wire::{repeats, streamed, streamed_plain};

#[tokio::test]
async fn events_carry_a_retry_that_is_no_number() {
    let heard = streamed(serde_json::json!({"bad-retry": "soon"})).await;
    let chunks = heard.chunks();
    assert!(chunks.iter().all(|chunk| chunk.starts_with(b"retry: soon\nevent: message\n")), "{heard:?}");
    let plain = streamed_plain().await;
    assert!(!plain.text().contains("retry: soon"));
    assert_eq!(heard.text().replace("retry: soon\n", ""), plain.text());
    repeats(serde_json::json!([{"fault": {"bad-retry": "soon"}}, {"notify": {"method": "a/b"}}])).await;
}
