//! Checks of the handshake and the capabilities.

use super::*;

pub(super) fn table() -> Vec<Row> {
    let old = |version: &str| {
        stdio().result("initialize", json!({ "protocolVersion": "1999-01-01" }), json!({ "protocolVersion": version }))
    };
    let offers = |declared: Value| {
        stdio()
            .result("tools/list", json!({}), json!({ "tools": [{ "name": "a" }] }))
            .knows(&[Revision::V2025_11_25], declared)
    };
    let others = json!({ "protocolVersion": "2025-11-25", "capabilities": { "experimental": { "a": {} } } });
    let strange =
        json!({ "protocolVersion": "3.0", "capabilities": {}, "serverInfo": { "name": "s", "version": "1" } });
    let silent = stdio().no_handshake("timed-out").text(Direction::ServerToClient, "Server ready");
    vec![
        ("handshake-completes", silent, stdio()),
        (
            "other-capabilities-are-accepted",
            stdio().error("initialize", others.clone(), -32602),
            stdio().result("initialize", others, greeting()),
        ),
        ("negotiated-revision-exists", initialized(stdio(), strange), initialized(stdio(), greeting())),
        ("unknown-revision-is-negotiated", old("1999-01-01"), old("2025-06-18")),
        (
            "ping-is-answered-empty",
            stdio().result("ping", json!({}), json!({ "pong": true })),
            stdio().result("ping", json!({}), json!({})),
        ),
        (
            "ping-does-not-wait-for-calls",
            ping_during_a_call([(answered(50), 900_000), (answered(51), 0)]),
            ping_during_a_call([(answered(51), 900_000), (answered(50), 0)]),
        ),
        ("offers-only-what-is-declared", offers(json!({})), offers(json!({ "tools": {} }))),
    ]
}

fn answered(id: i64) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": {} })
}

/// A call 50 and a ping 51, and the responses with the time before each of them in microseconds.
fn ping_during_a_call<const COUNT: usize>(responses: [(Value, u64); COUNT]) -> Talk {
    let mut talk = stdio()
        .ask(json!({ "jsonrpc": "2.0", "id": 50, "method": "tools/call", "params": { "name": "a" } }))
        .ask(json!({ "jsonrpc": "2.0", "id": 51, "method": "ping" }));
    let mut delay = 0;
    for (response, before) in responses {
        delay += before;
        talk = talk.says(response);
        talk.0.frames.last_mut().expect("a frame").at_us += delay;
    }
    talk
}

#[test]
fn a_ping_is_answered_while_a_call_waits_for_the_user() {
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 50 } });
    let talk = |answered_first: bool| {
        let talk = ping_during_a_call([]);
        let mut talk = if answered_first { talk.says(answered(51)) } else { talk }.ask(cancel.clone());
        talk.0.frames.last_mut().expect("a frame").at_us += 900_000;
        if answered_first { talk } else { talk.says(answered(51)) }
    };
    assert!(fails("ping-does-not-wait-for-calls", &talk(false)));
    assert!(!fails("ping-does-not-wait-for-calls", &talk(true)));
    let mut silent = ping_during_a_call([]).ask(cancel.clone());
    silent.0.frames.last_mut().expect("a frame").at_us += 900_000;
    assert!(fails("ping-does-not-wait-for-calls", &silent));
}

#[test]
fn a_short_call_may_delay_a_ping() {
    let id = "ping-does-not-wait-for-calls";
    let check = all().find(|check| check.id == id).expect("a check");
    let talk = ping_during_a_call([(answered(50), 300_000), (answered(51), 0)]);
    assert!(matches!(run(check, &talk.0), CheckOutcome::NotApplicable(_)));
}

#[test]
fn several_short_calls_may_delay_a_ping() {
    let id = "ping-does-not-wait-for-calls";
    let check = all().find(|check| check.id == id).expect("a check");
    let call = |id: i64| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "a" } });
    let talk = |first: u64, second: u64| {
        let mut talk = stdio().ask(call(50)).ask(call(52)).ask(json!({ "jsonrpc": "2.0", "id": 51, "method": "ping" }));
        for (id, at_us) in [(50, first), (52, second), (51, second)] {
            talk = talk.says(answered(id));
            talk.0.frames.last_mut().expect("a frame").at_us += at_us;
        }
        talk
    };
    assert!(matches!(run(check, &talk(400_000, 700_000).0), CheckOutcome::NotApplicable(_)));
    assert!(fails(id, &talk(100_000, 700_000)));
}
