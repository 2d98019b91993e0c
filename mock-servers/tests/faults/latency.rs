use std::{thread, time::Duration};

use serde_json::json;

use super::{
    process::Process,
    wire::{MODERN, SEED, Server, answer, fault, plain, repeats, standing},
};

#[tokio::test]
async fn the_answer_takes_some_time_between_the_two() {
    let latency = json!({"latency": {"from": "8ms", "to": "16ms"}});
    let heard = answer(fault(latency.clone())).await;
    assert!(heard.took >= Duration::from_millis(8));
    assert_eq!(heard.without_date(), plain().await.without_date());
    repeats(fault(latency)).await;
}

#[tokio::test]
async fn it_is_drawn_anew_for_every_message() {
    let rule = json!({"fault": {"latency": {"from": "1ms", "to": "9ms"}}});
    let server = Server::start(&standing(rule), MODERN, SEED).await;
    for nth in ["1", "2", "3"] {
        let heard = server.call().await;
        assert!(heard.took >= Duration::from_millis(1));
        assert_eq!(heard.json()["result"]["content"][0]["text"], nth);
    }
}

/// In which order as many calls at once are answered, each after a time of its own.
fn order(seed: u64) -> Vec<u64> {
    let rule = json!({"fault": {"latency": {"from": "0s", "to": "1s"}}, "when": {"method": "tools/call"}});
    let mut process = Process::initialized(&standing(rule), seed);
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
