use std::time::Duration;

use mcp_workbench_mock_servers::Recorder;
use serde_json::json;

use super::{
    process::Process,
    wire::{MODERN, SEED, Server, answer, fault, plain},
};

fn first_waits(within: &str) -> serde_json::Value {
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
    assert_eq!(first.hear().await.json()["id"], 1);
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
