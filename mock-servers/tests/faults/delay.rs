use std::time::Duration;

use serde_json::json;

use super::wire::{SEED, answer, fault, plain, repeats, standing, talk};

#[tokio::test]
async fn the_answer_comes_later_and_is_the_same() {
    let delayed = answer(fault(json!({"delay": "20ms"}))).await;
    assert!(delayed.took >= Duration::from_millis(20));
    assert_eq!(delayed.without_date(), plain().await.without_date());
    repeats(fault(json!({"delay": "1ms"}))).await;
}

#[tokio::test]
async fn the_message_arrives_later() {
    let script = standing(json!({"fault": {"delay": "20ms"}, "direction": "to-server"}));
    let heard = talk(&script, SEED).await;
    assert!(heard.took >= Duration::from_millis(20));
    assert_eq!(heard.json()["result"]["content"][0]["text"], "1");
}
