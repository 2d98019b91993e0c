//! Batches of 2025-03-26.

use proptest::prelude::*;

use super::*;

const BATCHES: &str = "2025-03-26";

fn bench(script: Value) -> Bench {
    let mut bench = Bench::new(script, BATCHES);
    bench.respond("initialize", json!({"protocolVersion": BATCHES}));
    bench
}

fn request(id: u64, method: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"name": "echo"}})
}

fn answers(steps: &[Step]) -> Vec<Value> {
    let answer = final_answer(steps).unwrap_or_else(|| panic!("no answer: {steps:?}"));
    answer.as_array().unwrap_or_else(|| panic!("no batch: {answer}")).clone()
}

#[test]
fn a_batch_is_answered_with_a_batch() {
    let mut bench = bench(json!({"tools": [{"name": "echo"}]}));
    let (dispatch, steps) = bench.send(&json!([
        request(1, "ping"),
        notification("notifications/initialized", json!({})),
        request(2, "no/such"),
        7,
        request(3, "initialize"),
    ]));
    assert_eq!(steps.len(), 2, "one answer and the end: {steps:?}");
    let said: Vec<_> = answers(&steps).iter().map(|one| (one["id"].clone(), one["error"]["code"].clone())).collect();
    let expected =
        [(json!(1), json!(null)), (json!(2), json!(-32601)), (json!(null), json!(-32600)), (json!(3), json!(-32600))];
    assert_eq!(said, expected);
    let outputs = bench.outputs(&json!([request(4, "ping")]));
    assert!(outputs.iter().all(|output| matches!(output.to, Target::Dispatch(id) if id > dispatch)), "{outputs:?}");
}

#[test]
fn a_batch_of_nothing_to_answer_is_not_answered() {
    let mut bench = bench(json!({}));
    let response = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
    for batch in [json!([notification("no/such", json!({}))]), json!([response.clone(), response])] {
        assert_eq!(bench.send(&batch).1, [Step::End], "{batch}");
    }
    let (_, steps) = bench.send(&json!([]));
    assert_eq!(final_answer(&steps).unwrap()["error"]["code"], -32600, "an empty batch is none");
}

#[test]
fn a_batch_waits_for_its_slowest_member_and_sends_other_messages() {
    let mut bench = bench(on_call(json!([
        {"notify": {"method": "notifications/message", "params": {}}}, {"fault": {"delay": "1s"}},
    ])));
    let outputs = bench.outputs(&json!([request(1, "tools/call"), request(2, "ping")]));
    let [
        Output { to: Target::Dispatch(batch), step: Step::Send(_), .. },
        Output { to: Target::Dispatch(member), step: Step::Wake(_), .. },
    ] = outputs.as_slice()
    else {
        panic!("a message and a wait: {outputs:?}")
    };
    assert_ne!(batch, member);
    let late = bench.engine.on_wake(*member);
    assert!(late.iter().all(|output| output.to == Target::Dispatch(*batch)), "{late:?}");
    let steps: Vec<_> = late.into_iter().map(|output| output.step).collect();
    let ids: Vec<_> = answers(&steps).iter().map(|one| one["id"].clone()).collect();
    assert_eq!(ids, [json!(2), json!(1)]);
    assert_eq!(steps.last(), Some(&Step::End));
}

#[test]
fn a_cancelled_member_is_left_out() {
    let mut bench = bench(on_call(json!({"fault": "silence"})));
    let (_, steps) = bench.send(&json!([request(1, "tools/call"), request(2, "ping")]));
    assert_eq!(steps, []);
    let (_, steps) = bench.send(&notification("notifications/cancelled", json!({"requestId": 1})));
    assert_eq!(answers(&steps).len(), 1);
}

#[test]
fn no_other_revision_has_batches() {
    for revision in ["2024-11-05", "2025-06-18", LEGACY] {
        let mut bench = Bench::new(json!({}), revision);
        bench.respond("initialize", json!({"protocolVersion": revision}));
        let (_, steps) = bench.send(&json!([request(1, "ping")]));
        assert_eq!(final_answer(&steps).unwrap()["error"]["code"], -32600, "{revision}");
    }
    let (_, steps) = Bench::modern(json!({})).send(&json!([request(1, "server/discover")]));
    assert_eq!(final_answer(&steps).unwrap()["error"]["code"], -32600);
    let (_, steps) = Bench::new(json!({}), BATCHES).send(&json!([request(1, "ping")]));
    assert_eq!(final_answer(&steps).unwrap()["error"]["code"], -32600, "not before the handshake");
}

#[test]
fn a_script_can_send_batches_of_its_own() {
    let notify = json!([{"method": "notifications/message", "params": {"data": "{{id}}"}}, {"method": "x"}]);
    let mut bench =
        bench(on_call(json!([{"batch": {"notify": notify}}, {"batch": {"notify": notify, "answer": true}}])));
    let (_, steps) = bench.call_steps("echo");
    assert!(matches!(steps.as_slice(), [Step::Send(_), Step::Response { .. }, ..]), "{steps:?}");
    assert_eq!(sent(&steps)[0].as_array().unwrap().len(), 2);
    assert_eq!(sent(&steps)[0][0]["params"]["data"], 2);
    let last = answers(&steps);
    assert_eq!((last.len(), &last[2]["id"]), (3, &json!(2)));
}

/// One message of a batch, and what it is to be answered with: the id, or nothing.
fn member() -> impl Strategy<Value = (Value, Option<Value>)> {
    prop_oneof![
        3 => (0..1000_u64, prop::sample::select(vec!["ping", "tools/list", "tools/call", "no/such", "initialize"]))
            .prop_map(|(id, method)| (request(id, method), Some(json!(id)))),
        1 => Just((notification("notifications/initialized", json!({})), None)),
        1 => Just((json!({"jsonrpc": "2.0", "id": 5, "result": {}}), None)),
        1 => prop::sample::select(vec![json!(1), json!("x"), json!({}), json!([]), json!([1])])
            .prop_map(|stray| (stray, Some(Value::Null))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn every_member_is_answered_once(members in prop::collection::vec(member(), 1..12)) {
        let mut bench = bench(json!({"tools": [{"name": "echo"}]}));
        let (messages, expected): (Vec<_>, Vec<_>) = members.into_iter().unzip();
        let expected: Vec<_> = expected.into_iter().flatten().collect();
        let (_, steps) = bench.send(&messages.into());
        let ids: Vec<_> = match final_answer(&steps) {
            Some(answer) => answer.as_array().unwrap().iter().map(|one| one["id"].clone()).collect(),
            None => Vec::new(),
        };
        prop_assert_eq!(ids, expected);
        prop_assert_eq!(steps.last(), Some(&Step::End));
    }
}
