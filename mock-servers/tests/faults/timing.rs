//! Faults of time and order.

use std::{thread, time::Duration};

use mcp_workbench_mock_servers::Recorder;
use serde_json::{Value, json};

use super::{
    process::Process,
    wire::{MODERN, SEED, Server, answer, fault, on_call, persistent, plain, talk},
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
        heard = one.receive() => (2, heard),
        heard = other.receive() => (1, heard),
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
    let mut process = Process::initialized(&persistent(rule), 1);
    process.call(1);
    process.ping(2);
    assert_eq!(process.message()["id"], 2);
}

#[tokio::test]
async fn the_answer_comes_later_and_is_the_same() {
    let delayed = answer(fault(json!({"delay": "20ms"}))).await;
    assert!(delayed.took >= Duration::from_millis(20));
    assert_eq!(delayed.without_date(), plain().await.without_date());
}

#[tokio::test]
async fn the_message_arrives_later() {
    let script = persistent(json!({"fault": {"delay": "20ms"}, "direction": "to-server"}));
    let heard = talk(&script, SEED).await;
    assert!(heard.took >= Duration::from_millis(20));
    assert_eq!(heard.json()["result"]["content"][0]["text"], "1");
}

#[tokio::test]
async fn the_answer_takes_some_time_between_the_two() {
    let latency = json!({"latency": {"from": "8ms", "to": "16ms"}});
    let heard = answer(fault(latency.clone())).await;
    assert!(heard.took >= Duration::from_millis(8));
    assert_eq!(heard.without_date(), plain().await.without_date());
}

#[tokio::test]
async fn it_is_drawn_anew_for_every_message() {
    let rule = json!({"fault": {"latency": {"from": "1ms", "to": "9ms"}}});
    let server = Server::start(&persistent(rule), MODERN, SEED).await;
    for nth in ["1", "2", "3"] {
        let heard = server.call().await;
        assert!(heard.took >= Duration::from_millis(1));
        assert_eq!(heard.json()["result"]["content"][0]["text"], nth);
    }
}

/// In which order as many calls at once are answered, each after a time of its own.
fn order(seed: u64) -> Vec<u64> {
    let rule = json!({"fault": {"latency": {"from": "0s", "to": "1s"}}, "when": {"method": "tools/call"}});
    let mut process = Process::initialized(&persistent(rule), seed);
    for id in 1..4 {
        process.call(id);
    }
    (1..4).map(|_| process.message()["id"].as_u64().unwrap()).collect()
}

#[test]
fn what_is_drawn_follows_from_the_seed() {
    // Seeds that draw times a quarter of a second apart, so that a slow machine does not change their order.
    let orders = [25, 36, 36].map(|seed| thread::spawn(move || order(seed))).map(|order| order.join().unwrap());
    assert_eq!(orders, [[1, 2, 3], [3, 2, 1], [3, 2, 1]]);
}

fn cancelled(kind: &str) -> Process {
    let mut process = Process::initialized(&on_call(fault(json!({kind: "200ms"}))), 1);
    process.call(1);
    process.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    process.ping(2);
    process
}

#[test]
fn an_answer_comes_in_spite_of_the_cancellation() {
    let mut late = cancelled("late-reply");
    // By the answer to the ping the cancellation has arrived, and the answer to the call is still to come.
    assert_eq!([late.message()["id"].clone(), late.message()["id"].clone()], [2, 1]);
    let mut obedient = cancelled("delay");
    assert_eq!(obedient.message()["id"], 2);
    // What would have come before another answer, had it not been cancelled, does not.
    obedient.call(3);
    assert_eq!(obedient.message()["id"], 3);
}

fn first_waits(within: &str) -> Value {
    let reorder = json!({"reorder": {"behind": 1, "within": within}});
    json!({"tools": [{"name": "echo"}], "on": [{"when": {"method": "tools/call", "nth": 1}, "do": fault(reorder)}]})
}

#[test]
fn the_second_answer_comes_first() {
    let mut process = Process::initialized(&first_waits("10s"), 1);
    process.call(1);
    process.call(2);
    assert_eq!([process.message()["id"].clone(), process.message()["id"].clone()], [2, 1]);
}

#[tokio::test]
async fn over_http_the_first_waits_for_the_second() {
    let recorder = Recorder::in_memory("mock");
    let server = Server::recorded(&first_waits("10s"), MODERN, SEED, recorder.clone()).await;
    let mut first = server.connect().await;
    first.send(&server.calling(1)).await;
    let arrived = recorder.wait_until(|frames| frames.iter().any(|frame| frame.id() == Some(&json!(1))));
    tokio::time::timeout(Duration::from_secs(10), arrived).await.unwrap();
    let second = server.connect().await.exchange(&server.calling(2)).await;
    assert_eq!(first.receive().await.json()["id"], 1);
    assert_eq!(second.json()["id"], 2);
    let answers: Vec<_> = recorder.frames().into_iter().filter(|frame| frame.is_response()).collect();
    assert_eq!(answers.iter().map(|frame| frame.id().unwrap()).collect::<Vec<_>>(), [2, 1]);
}

#[tokio::test]
async fn it_does_not_wait_for_ever() {
    let heard = answer(fault(json!({"reorder": {"within": "5ms"}}))).await;
    assert!(heard.took >= Duration::from_millis(5));
    assert_eq!(heard.without_date(), plain().await.without_date());
}
