//! Faults of the JSON of messages. `seed.rs` tests which of them depend on the seed.

use serde_json::{Value, json};

use super::{
    process::{self, Process},
    wire::{MODERN, SEED, Server, answer, fault, on_call, persistent, plain, talk},
};

/// Checks the effect of a fault, and reverts it.
type Revert = fn(&mut Value);

#[tokio::test]
async fn only_the_faulty_member_differs() {
    let plain = plain().await.json();
    assert_eq!(plain["id"], 1);
    let table: [(&str, Revert); 6] = [
        ("wrong-id", |faulty| assert!(faulty["id"].as_u64().is_some_and(|id| id > 1_000))),
        ("null-id", |faulty| assert_eq!(faulty["id"], Value::Null)),
        ("float-id", |faulty| assert_eq!(faulty["id"], json!(1.5))),
        ("string-id", |faulty| assert_eq!(faulty["id"], "1")),
        ("both-result-and-error", |faulty| {
            let error = faulty.as_object_mut().unwrap().remove("error").unwrap();
            assert!(error["code"].is_i64());
        }),
        ("unknown-fields", |faulty| {
            for pointer in ["", "/result"] {
                let members = faulty.pointer_mut(pointer).and_then(Value::as_object_mut).unwrap();
                let before = members.len();
                members.retain(|name, _| !name.starts_with("x-unknown-"));
                assert_eq!(before - members.len(), 1, "{pointer}");
            }
        }),
    ];
    for (name, revert) in table {
        let mut faulty = answer(fault(name)).await.json();
        assert_ne!(faulty, plain, "{name}");
        revert(&mut faulty);
        faulty["id"] = 1.into();
        assert_eq!(faulty, plain, "{name}");
    }
}

#[tokio::test]
async fn a_string_id_becomes_a_fraction() {
    let server = Server::start(&on_call(fault("float-id")), MODERN, SEED).await;
    let heard = server.connect().await.exchange(&server.calling("text")).await;
    assert_eq!(heard.json()["id"], json!(0.5));
}

#[tokio::test]
async fn the_server_receives_another_id() {
    let to_server =
        async |name: &str| talk(&persistent(json!({"fault": name, "direction": "to-server"})), SEED).await.json();
    assert_eq!(to_server("null-id").await["error"]["code"], -32600);
    let response = to_server("wrong-id").await;
    assert!(response["id"].as_u64().is_some_and(|id| id > 1_000) && response["result"].is_object());
}

#[tokio::test]
async fn an_error_gets_a_result() {
    let error = json!({"error": {"code": 1, "message": "no"}});
    let answered = answer(json!([fault("both-result-and-error"), error])).await.json();
    assert_eq!((answered["error"]["code"].as_i64(), answered["result"].is_object()), (Some(1), true));
}

#[tokio::test]
async fn a_response_has_neither_a_result_nor_an_error() {
    let answered = answer(fault("neither-result-nor-error")).await.json();
    assert_eq!(answered, json!({"jsonrpc": "2.0", "id": 1}));
    assert!(plain().await.json()["result"].is_object());
}

#[tokio::test]
async fn the_same_response_is_sent_twice() {
    let events = answer(fault("duplicate")).await.events();
    let plain = plain().await.json();
    assert_eq!(events, [plain.clone(), plain]);
}

#[test]
fn a_reply_of_the_script_is_sent_twice_too() {
    let script = on_call(json!([fault("duplicate"), {"reply": {"text": "x"}}]));
    let mut process = Process::initialized(&script, 1);
    process.call(1);
    let (first, second) = (process.line(), process.line());
    assert_eq!(first, second);
    assert!(first.contains("\"x\""));
}

#[tokio::test]
async fn a_message_arrives_twice() {
    let rule = json!({"fault": "duplicate", "direction": "to-server", "when": {"method": "tools/call", "nth": 1}});
    let server = Server::start(&persistent(rule), MODERN, SEED).await;
    let nth = async || server.call().await.json()["result"]["content"][0]["text"].clone();
    assert_eq!([nth().await, nth().await], ["1", "3"]);
}

#[tokio::test]
async fn a_message_has_the_requested_length_and_is_still_one() {
    let heard = answer(fault(json!({"oversize": 300_000}))).await;
    assert_eq!(heard.body().len(), 300_000);
    let answered = heard.json();
    assert!(answered["result"]["_meta"]["padding"].is_string());
    assert_eq!(answered["result"]["content"], plain().await.json()["result"]["content"]);
}

#[test]
fn messages_change_over_stdio_too() {
    assert_eq!(process::answer(fault(json!({"oversize": 100_000}))).len(), 100_001);
    let line = process::answer(fault("wrong-id"));
    assert_ne!(serde_json::from_slice::<Value>(&line).unwrap()["id"], 1);
}

#[tokio::test]
async fn values_change_at_their_pointers() {
    let rewrite = json!({"rewrite": {"set": {"/result/content/0/text": 5}, "remove": "/result/_meta"}});
    let (faulty, plain) = (answer(fault(rewrite)).await.json(), plain().await.json());
    assert_eq!((&faulty["result"]["content"][0]["text"], faulty["result"].get("_meta")), (&json!(5), None));
    assert_eq!(faulty["id"], plain["id"]);
}

#[tokio::test]
async fn the_server_receives_other_values() {
    let rewrite = json!({"rewrite": {"on": "any", "set": {"/params/name": "other"}}});
    let response = talk(&persistent(json!({"fault": rewrite, "direction": "to-server"})), SEED).await.json();
    assert_eq!(response["error"]["code"], -32602);
}
