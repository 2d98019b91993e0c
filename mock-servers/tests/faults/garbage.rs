use serde_json::json;

use super::{
    process,
    wire::{answer, fault, plain},
};

#[tokio::test]
async fn an_event_holds_the_text() {
    let heard = answer(fault(json!({"garbage": "<{{id}}>"}))).await;
    let expected = format!("event: message\ndata: <1>\n\nevent: message\ndata: {}\n\n", plain().await.text());
    assert_eq!(heard.text(), expected);
}

#[test]
fn a_line_holds_the_text() {
    let heard = process::answer(fault(json!({"garbage": "Traceback:"})));
    assert_eq!(heard, [b"Traceback:\n", process::answer("default").as_slice()].concat());
}
