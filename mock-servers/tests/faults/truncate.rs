use serde_json::json;

use super::{
    process::Process,
    wire::{End, SEED, answer, fault, on_call, plain, repeats, standing, talk},
};

#[tokio::test]
async fn only_the_first_bytes_come() {
    let (heard, plain) = (answer(fault(json!({"truncate": 9}))).await, plain().await);
    assert_eq!((heard.end, heard.body()), (End::Closed, plain.body()[..9].to_vec()));
    assert_eq!(heard.header("content-length"), plain.header("content-length"));
    repeats(fault(json!({"truncate": 9}))).await;
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
    let script = standing(json!({"fault": {"truncate": 20}, "direction": "to-server"}));
    assert_eq!(talk(&script, SEED).await.json()["error"]["code"], -32700);
}
