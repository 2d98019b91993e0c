use serde_json::json;

use super::{
    process,
    wire::{answer, fault, plain, repeats},
};

#[test]
fn lines_of_a_log_come_before_the_message() {
    let heard = process::answer(fault(json!({"log-lines": {"count": 2, "text": "WARN x"}})));
    assert_eq!(heard, [b"WARN x 1\nWARN x 2\n", process::answer("default").as_slice()].concat());
}

#[test]
fn a_line_of_a_log_comes_amid_the_message() {
    let heard = process::answer(fault(json!({"log-lines": {"text": "WARN x", "where": "amid"}})));
    let text = String::from_utf8(heard).unwrap();
    let (before, after) = text.split_once("WARN x 1\n").unwrap();
    assert_eq!(format!("{before}{after}").as_bytes(), process::answer("default"));
    assert!(before.starts_with('{') && after.ends_with("}\n"));
}

#[tokio::test]
async fn over_http_they_are_events() {
    let lines = fault(json!({"log-lines": {"text": "WARN x"}}));
    let expected = format!("event: message\ndata: WARN x 1\n\nevent: message\ndata: {}\n\n", plain().await.text());
    assert_eq!(answer(lines.clone()).await.text(), expected);
    repeats(lines).await;
}
