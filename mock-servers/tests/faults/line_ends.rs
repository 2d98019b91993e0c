use super::{
    process,
    wire::{fault, streamed, streamed_plain},
};

#[tokio::test]
async fn lines_of_events_end_as_asked() {
    let plain = streamed_plain().await.text();
    for (kind, end) in [("crlf", "\r\n"), ("cr", "\r"), ("lf", "\n")] {
        let heard = streamed(serde_json::json!({"line-ends": kind})).await;
        assert_eq!(heard.text(), plain.replace('\n', end));
    }
}

#[test]
fn lines_of_messages_end_as_asked() {
    let heard = process::crlf_answer(fault(serde_json::json!({"line-ends": "crlf"})));
    assert!(heard.ends_with(b"}\r\n"));
}
