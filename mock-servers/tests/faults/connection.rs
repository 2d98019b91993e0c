//! Faults that close the connection or the stream.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    process::Process,
    wire::{End, MODERN, SEED, Server, answer, fault, on_call, persistent, plain, talk},
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
        persistent(json!({"fault": "close", "direction": "to-server", "when": {"method": "tools/call", "nth": 1}}));
    assert_eq!(talk(&script, SEED).await.end, End::Closed);
    let server = Server::start(&script, MODERN, SEED).await;
    server.call().await;
    // The message was never seen, so the tool counts the next one as its first.
    assert_eq!(server.call().await.json()["result"]["content"][0]["text"], "1");
}

fn disconnect(moment: &str, by: &str) -> Value {
    fault(json!({"disconnect": {"moment": moment, "by": by}}))
}

#[tokio::test]
async fn a_reset_before_the_answer_is_a_reset() {
    let heard = answer(disconnect("before", "reset")).await;
    assert_eq!((heard.end, heard.bytes.len()), (End::Reset, 0));
    let heard = answer(disconnect("before", "close")).await;
    assert_eq!((heard.end, heard.bytes.len()), (End::Closed, 0));
}

#[tokio::test]
async fn amid_the_answer_half_of_it_comes() {
    let whole = plain().await;
    for (by, end) in [("close", End::Closed), ("reset", End::Reset)] {
        let heard = answer(disconnect("inside", by)).await;
        assert_eq!(heard.end, end);
        assert_eq!(heard.header("content-length"), whole.header("content-length"));
        assert_eq!(heard.body(), whole.body()[..whole.body().len() / 2]);
    }
    let three = answer(fault(json!({"disconnect": {"moment": "inside", "at": 3}}))).await;
    assert_eq!(three.body().len(), 3);
}

#[tokio::test]
async fn after_the_answer_the_connection_ends_in_spite_of_keep_alive() {
    for (by, end) in [("close", End::Closed), ("reset", End::Reset)] {
        for notify in [json!([]), json!([{"notify": {"method": "a/b"}}])] {
            let mut actions = notify.as_array().unwrap().clone();
            actions.push(disconnect("after", by));
            let server = Server::start(&on_call(actions), MODERN, SEED).await;
            let mut wire = server.connect().await;
            let heard = wire.exchange(&server.calling(1)).await;
            assert_eq!((heard.end, heard.header("connection")), (End::Complete, None));
            assert_eq!(wire.ends().await, end);
        }
    }
    // Without the fault the connection takes another request.
    let server = Server::start(&on_call("default"), MODERN, SEED).await;
    let mut wire = server.connect().await;
    for id in 1..3 {
        assert_eq!(wire.exchange(&server.calling(id)).await.json()["id"], id);
    }
}

#[test]
fn over_stdio_standard_output_ends_with_the_answer() {
    let mut process = Process::initialized(&on_call(disconnect("after", "reset")), 1);
    process.call(1);
    let rest = process.rest();
    assert_eq!(serde_json::from_slice::<Value>(&rest).unwrap()["id"], 1);
}

fn script(error: Value) -> Value {
    json!({"tools": [{"name": "echo"}], "faults": [{"fault": {"stream-error": error}, "when": {"method": "GET"}}]})
}

#[tokio::test]
async fn the_stream_opens_and_breaks_every_time() {
    for (by, end) in [("close", End::Closed), ("reset", End::Reset)] {
        let server = Server::initialized(&script(json!({"by": by}))).await;
        for _ in 0..3 {
            let heard = server.connect().await.exchange(&server.get()).await;
            assert_eq!((heard.status(), heard.end), (200, end));
            assert_eq!(heard.header("content-type").as_deref(), Some("text/event-stream"));
        }
        assert_eq!(server.call().await.json()["id"], 1, "calls are answered all the same");
    }
}

#[tokio::test]
async fn it_may_last_for_a_while() {
    let server = Server::initialized(&script(json!({"after": "10ms"}))).await;
    let heard = server.connect().await.exchange(&server.get()).await;
    assert!(heard.took >= Duration::from_millis(10));
    assert_eq!((heard.status(), heard.end), (200, End::Closed));
}

#[tokio::test]
async fn only_the_first_bytes_come() {
    let (heard, plain) = (answer(fault(json!({"truncate": 9}))).await, plain().await);
    assert_eq!((heard.end, heard.body()), (End::Closed, plain.body()[..9].to_vec()));
    assert_eq!(heard.header("content-length"), plain.header("content-length"));
}

#[tokio::test]
async fn an_event_breaks_off() {
    let heard = answer(json!([fault(json!({"truncate": 9})), {"notify": {"method": "a/b"}}])).await;
    assert_eq!(heard.end, End::Closed);
    let chunks = heard.chunks();
    assert_eq!(chunks.last().unwrap(), b"event: message\ndata: {\"jsonrpc");
}

#[test]
fn a_line_breaks_off_and_standard_output_ends() {
    let mut process = Process::initialized(&on_call(fault(json!({"truncate": 9}))), 1);
    process.call(1);
    assert_eq!(process.rest(), b"{\"jsonrpc");
}

#[tokio::test]
async fn a_message_is_cut_and_read_as_garbage() {
    let script = persistent(json!({"fault": {"truncate": 20}, "direction": "to-server"}));
    assert_eq!(talk(&script, SEED).await.json()["error"]["code"], -32700);
}
