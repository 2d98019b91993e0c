use super::{
    process,
    wire::{SEED, answer, fault, is_drawn, plain, standing, talk},
};

#[tokio::test]
async fn the_id_is_of_the_same_kind_and_another() {
    let mut answered = answer(fault("wrong-id")).await.json();
    assert!(answered["id"].as_u64().is_some_and(|id| id > 1_000));
    answered["id"] = 1.into();
    assert_eq!(answered, plain().await.json());
    is_drawn(fault("wrong-id")).await;
}

#[test]
fn over_stdio_too() {
    let line = process::answer(fault("wrong-id"));
    assert_ne!(serde_json::from_slice::<serde_json::Value>(&line).unwrap()["id"], 1);
}

#[tokio::test]
async fn the_server_sees_another_id_and_answers_under_it() {
    let script = standing(serde_json::json!({"fault": "wrong-id", "direction": "to-server"}));
    let answered = talk(&script, SEED).await.json();
    assert!(answered["id"].as_u64().is_some_and(|id| id > 1_000) && answered["result"].is_object());
}
