//! Persistent faults: probability, scope, direction, the switch, and several at once.

use serde_json::{Value, json};

use super::{
    process::Process,
    wire::{End, MODERN, SEED, Server, fault, on_call, persistent},
};

/// Which of so many calls are answered under the wrong id.
async fn hit(script: &Value, seed: u64, calls: usize) -> Vec<bool> {
    let server = Server::start(script, MODERN, seed).await;
    let mut hit = Vec::new();
    for _ in 0..calls {
        hit.push(server.call().await.json()["id"] != 1);
    }
    hit
}

#[tokio::test]
async fn a_probability_is_drawn_from_the_seed() {
    let script = persistent(json!({"fault": "wrong-id", "probability": 0.3}));
    let first = hit(&script, SEED, 40).await;
    let hits = first.iter().filter(|hit| **hit).count();
    assert!((3..25).contains(&hits), "{first:?}");
    assert_eq!(hit(&script, SEED, 40).await, first);
    assert_ne!(hit(&script, SEED + 1, 40).await, first);
    assert_eq!(hit(&persistent(json!({"fault": "wrong-id", "probability": 0})), SEED, 5).await, [false; 5]);
}

#[tokio::test]
async fn other_traffic_does_not_change_what_is_drawn() {
    let rule = json!({"fault": "wrong-id", "probability": 0.5, "when": {"method": "tools/call"}});
    let script = persistent(rule);
    let alone = hit(&script, SEED, 12).await;
    let server = Server::start(&script, MODERN, SEED).await;
    let mut among_others = Vec::new();
    for id in 0..12 {
        let list = server.calling(id).replace("tools/call", "tools/list");
        server.connect().await.exchange(&list).await;
        among_others.push(server.call().await.json()["id"] != 1);
    }
    assert_eq!(among_others, alone);
}

#[tokio::test]
async fn a_fault_is_for_a_method_a_tool_or_the_nth_message() {
    for (when, expected) in [
        (json!({"method": "tools/call", "nth": 2}), [false, true, false]),
        (json!({"tool": "echo", "from_nth": 2}), [false, true, true]),
        (json!({"tool": "other"}), [false; 3]),
        (json!({"method": "tools/list"}), [false; 3]),
        (json!({}), [true; 3]),
    ] {
        assert_eq!(hit(&persistent(json!({"fault": "wrong-id", "when": when})), SEED, 3).await, expected, "{when}");
    }
}

#[tokio::test]
async fn a_fault_is_for_one_session() {
    let when = json!({"session": 2, "method": "tools/call"});
    let mut server = Server::initialized(&persistent(json!({"fault": "wrong-id", "when": when}))).await;
    assert_eq!(server.call().await.json()["id"], 1);
    server.initialize().await;
    assert_ne!(server.call().await.json()["id"], 1);
    server.initialize().await;
    assert_eq!(server.call().await.json()["id"], 1);
}

#[tokio::test]
async fn faults_are_switched_while_the_server_runs() {
    let script = persistent(json!({"name": "ids", "fault": "wrong-id", "enabled": false}));
    let server = Server::start(&script, MODERN, SEED).await;
    let faults = server.mock.faults();
    let is_struck = async || server.call().await.json()["id"] != 1;
    assert!(!is_struck().await);
    assert!(faults.enable("ids"));
    assert!(is_struck().await);
    assert!(faults.disable("ids"));
    assert!(!is_struck().await);
    assert!(!faults.enable("others"));
    let states = faults.list();
    let [state] = states.as_slice() else { panic!("one fault: {states:?}") };
    assert_eq!((state.name.as_deref(), state.enabled, state.matched, state.acted), (Some("ids"), false, 3, 1));
}

#[test]
fn a_script_switches_faults_too() {
    let mut process = Process::initialized(
        &json!({
            "tools": [{"name": "echo"}],
            "on": [{"when": {"tool": "echo", "nth": 1}, "do": {"switch": {"fault": "ids", "enabled": true}}}],
            "faults": [{"name": "ids", "fault": "wrong-id", "enabled": false}],
        }),
        1,
    );
    process.call(1);
    assert_eq!(process.message()["id"], 1);
    process.call(2);
    assert_ne!(process.message()["id"], 2);
}

#[tokio::test]
async fn faults_act_together_in_their_order() {
    let script = json!({"tools": [{"name": "echo"}], "faults": [
        {"fault": "string-id"}, {"fault": "byte-order-mark"}, {"fault": {"truncate": 20}}, {"fault": {"delay": "3ms"}},
    ]});
    let heard = Server::start(&script, MODERN, SEED).await.call().await;
    assert_eq!((heard.end, heard.took.as_millis() >= 3), (End::Closed, true));
    assert_eq!(heard.body(), "\u{feff}{\"jsonrpc\":\"2.0\",".as_bytes());
    let rule = json!([fault("null-id"), fault("duplicate"), {"error": {"code": 5, "message": "no"}}]);
    let events = Server::start(&on_call(rule), MODERN, SEED).await.call().await.events();
    assert_eq!(events.len(), 2);
    assert!(events.iter().all(|event| event["id"].is_null() && event["error"]["code"] == 5));
}
