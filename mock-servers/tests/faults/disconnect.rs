use serde_json::{Value, json};

use super::{
    process::Process,
    wire::{End, MODERN, SEED, Server, answer, fault, on_call, plain, repeats},
};

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
        let heard = answer(disconnect("amid", by)).await;
        assert_eq!(heard.end, end);
        assert_eq!(heard.header("content-length"), whole.header("content-length"));
        assert_eq!(heard.body(), whole.body()[..whole.body().len() / 2]);
    }
    let three = answer(fault(json!({"disconnect": {"moment": "amid", "at": 3}}))).await;
    assert_eq!(three.body().len(), 3);
    repeats(disconnect("amid", "close")).await;
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
