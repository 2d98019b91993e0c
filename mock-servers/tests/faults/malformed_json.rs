use serde_json::{Value, json};

use super::{
    process,
    wire::{SEED, answer, fault, is_drawn, plain, standing, talk},
};

#[tokio::test]
async fn no_variety_of_it_can_be_read() {
    let plain = plain().await.body();
    for with in
        ["missing-brace", "extra-brace", "trailing-comma", "single-quotes", "unquoted-name", "not-a-number", "comment"]
    {
        let body = answer(fault(json!({"malformed-json": {"with": with}}))).await.body();
        assert!(serde_json::from_slice::<Value>(&body).is_err(), "{with}");
        assert_ne!(body, plain);
    }
    is_drawn(fault(json!({"malformed-json": {}}))).await;
}

#[test]
fn over_stdio_too() {
    let line = process::answer(fault(json!({"malformed-json": {}})));
    assert!(serde_json::from_slice::<Value>(&line).is_err());
}

#[tokio::test]
async fn the_server_cannot_read_the_message() {
    let script = standing(json!({"fault": {"malformed-json": {}}, "direction": "to-server"}));
    let heard = talk(&script, SEED).await;
    assert_eq!((heard.status(), &heard.json()["error"]["code"]), (400, &json!(-32700)));
}
