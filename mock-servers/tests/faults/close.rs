use serde_json::json;

use super::{
    process::Process,
    wire::{End, MODERN, SEED, Server, answer, fault, on_call, plain, standing, talk},
};

#[tokio::test]
async fn the_connection_ends_without_an_answer() {
    let heard = answer(fault("close")).await;
    assert_eq!((heard.end, heard.bytes.len()), (End::Closed, 0));
    assert_eq!(plain().await.end, End::Complete);
}

#[tokio::test]
async fn a_stream_breaks_off() {
    let notify = json!({"notify": {"method": "notifications/message"}});
    let heard = answer(json!([notify, fault("close")])).await;
    assert_eq!((heard.end, heard.events().len()), (End::Closed, 1));
}

#[test]
fn standard_output_closes_early_and_the_process_lives_on() {
    let mut process = Process::initialized(&on_call(fault("close")), 1);
    process.call(1);
    assert_eq!(process.rest(), b"");
    assert!(process.child.try_wait().unwrap().is_none());
    process.close_input();
    assert_eq!(process.wait().code(), Some(0));
}

#[tokio::test]
async fn the_connection_ends_on_receipt() {
    let script =
        standing(json!({"fault": "close", "direction": "to-server", "when": {"method": "tools/call", "nth": 1}}));
    assert_eq!(talk(&script, SEED).await.end, End::Closed);
    let server = Server::start(&script, MODERN, SEED).await;
    server.call().await;
    // The message was never seen, so the tool counts the next one as its first.
    assert_eq!(server.call().await.json()["result"]["content"][0]["text"], "1");
}
