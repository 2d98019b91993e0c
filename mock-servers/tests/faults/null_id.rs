use serde_json::{Value, json};

use super::wire::{SEED, answer, fault, plain, repeats, standing, talk};

#[tokio::test]
async fn the_id_is_null() {
    let mut answered = answer(fault("null-id")).await.json();
    assert_eq!(answered["id"].take(), Value::Null);
    answered["id"] = 1.into();
    assert_eq!(answered, plain().await.json());
    repeats(fault("null-id")).await;
}

#[tokio::test]
async fn the_server_sees_no_id_in_the_message() {
    let script = standing(json!({"fault": "null-id", "direction": "to-server"}));
    assert_eq!(talk(&script, SEED).await.json()["error"]["code"], -32600);
}
