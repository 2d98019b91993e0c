use serde_json::json;

use super::{
    process,
    wire::{answer, fault, plain, repeats},
};

#[tokio::test]
async fn a_message_is_as_long_as_asked_and_still_one() {
    let heard = answer(fault(json!({"oversize": 300_000}))).await;
    assert_eq!(heard.body().len(), 300_000);
    let answered = heard.json();
    assert!(answered["result"]["_meta"]["padding"].is_string());
    assert_eq!(answered["result"]["content"], plain().await.json()["result"]["content"]);
    repeats(fault(json!({"oversize": 1000}))).await;
}

#[test]
fn over_stdio_too() {
    assert_eq!(process::answer(fault(json!({"oversize": 100_000}))).len(), 100_001);
}
