use serde_json::json;

use super::{
    process::Process,
    wire::{MODERN, SEED, Server, answer, fault, on_call, plain, repeats, standing},
};

#[tokio::test]
async fn the_same_answer_comes_twice() {
    let events = answer(fault("duplicate")).await.events();
    let plain = plain().await.json();
    assert_eq!(events, [plain.clone(), plain]);
    repeats(fault("duplicate")).await;
}

#[test]
fn a_reply_of_the_script_is_doubled_too() {
    let script = on_call(json!([fault("duplicate"), {"reply": {"text": "x"}}]));
    let mut process = Process::initialized(&script, 1);
    process.call(1);
    let (first, second) = (process.line(), process.line());
    assert_eq!(first, second);
    assert!(first.contains("\"x\""));
}

#[tokio::test]
async fn a_message_arrives_twice() {
    let rule = json!({"fault": "duplicate", "direction": "to-server", "when": {"method": "tools/call", "nth": 1}});
    let server = Server::start(&standing(rule), MODERN, SEED).await;
    let nth = async || server.call().await.json()["result"]["content"][0]["text"].clone();
    assert_eq!([nth().await, nth().await], ["1", "3"]);
}
