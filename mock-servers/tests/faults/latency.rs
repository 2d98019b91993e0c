use std::time::Duration;

use serde_json::json;

use super::wire::{MODERN, SEED, Server, answer, fault, plain, repeats, standing};

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
