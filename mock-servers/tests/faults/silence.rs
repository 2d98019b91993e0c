use serde_json::json;

use super::{
    process::Process,
    wire::{MODERN, SEED, Server, fault, on_call, standing},
};

#[tokio::test]
async fn nothing_is_answered_while_others_are() {
    let script = json!({"tools": [{"name": "echo"}], "on": [
        {"when": {"method": "tools/call", "nth": 1}, "do": fault("silence")},
    ]});
    let server = Server::start(&script, MODERN, SEED).await;
    let (mut one, mut other) = (server.connect().await, server.connect().await);
    one.send(&server.calling(1)).await;
    other.send(&server.calling(2)).await;
    // The first to arrive is never answered, and the system decides which one that is.
    let (stuck, heard) = tokio::select! {
        heard = one.hear() => (2, heard),
        heard = other.hear() => (1, heard),
    };
    assert_ne!(heard.json()["id"], stuck);
    let stuck = if stuck == 1 { one } else { other };
    assert!(stuck.is_silent());
}

#[test]
fn over_stdio_too() {
    let mut process = Process::initialized(&on_call(fault("silence")), 1);
    process.call(1);
    process.ping(2);
    assert_eq!(process.message()["id"], 2);
}

#[test]
fn a_message_is_lost() {
    let rule = json!({"fault": "silence", "direction": "to-server", "when": {"method": "tools/call"}});
    let mut process = Process::initialized(&standing(rule), 1);
    process.call(1);
    process.ping(2);
    assert_eq!(process.message()["id"], 2);
}
