//! What cancellation stops, and what it does not.

use super::*;

fn cancel(id: u64) -> Value {
    notification("notifications/cancelled", json!({"requestId": id}))
}

#[test]
fn a_cancelled_request_is_not_answered() {
    for fault in [json!({"delay": "1s"}), json!("silence")] {
        let mut bench = Bench::legacy(on_call(json!({"fault": fault})));
        let (dispatch, _) = bench.call_steps("echo");
        let outputs = bench.outputs(&cancel(2));
        assert_eq!(outputs[0], Output::new(Target::Dispatch(dispatch), Step::End));
        assert!(bench.wake(dispatch).is_empty(), "{fault}");
    }
}

#[test]
fn unknown_cancellations_are_ignored() {
    let mut bench = Bench::legacy(on_call(json!({"fault": {"delay": "1s"}})));
    let (dispatch, _) = bench.call_steps("echo");
    for message in [
        cancel(7),
        notification("notifications/cancelled", json!({})),
        notification("notifications/cancelled", json!(3)),
    ] {
        assert_eq!(bench.send(&message).1, [Step::End]);
    }
    assert!(final_answer(&bench.wake(dispatch)).is_some());
}

#[test]
fn a_late_reply_survives_its_cancellation() {
    let mut bench = Bench::legacy(on_call(json!([{"fault": {"late-reply": "1s"}}, {"reply": {"text": "too late"}}])));
    let (dispatch, _) = bench.call_steps("echo");
    assert_eq!(bench.send(&cancel(2)).1, [Step::End]);
    let answer = final_answer(&bench.wake(dispatch)).unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "too late");
}

#[test]
fn a_rule_can_ignore_cancellations() {
    let script = json!({"tools": [{"name": "echo"}], "on": [
        {"when": {"method": "tools/call"}, "do": {"fault": {"delay": "1s"}}},
        {"when": {"method": "notifications/cancelled"}, "do": {"fault": "silence"}},
    ]});
    let mut bench = Bench::legacy(script);
    let (dispatch, _) = bench.call_steps("echo");
    bench.send(&cancel(2));
    assert!(final_answer(&bench.wake(dispatch)).is_some());
}

#[test]
fn a_cancellation_of_one_session_does_not_reach_another() {
    let mut bench = Bench::legacy(on_call(json!({"fault": {"delay": "1s"}})));
    let (dispatch, _) = bench.call_steps("echo");
    let other = bench.engine.open_session();
    bench.engine.on_message(&Origin::session(other), &cancel(2));
    assert!(final_answer(&bench.wake(dispatch)).is_some());
}

#[test]
fn closing_the_stream_cancels_in_the_modern_era_only_unless_the_script_says_so() {
    let mut cancelling = on_call(json!({"fault": {"delay": "1s"}}));
    cancelling["http"] = json!({"cancel_on_disconnect": true});
    for (mut bench, add_response) in [
        (Bench::legacy(on_call(json!({"fault": {"delay": "1s"}}))), true),
        (Bench::legacy(cancelling), false),
        (Bench::modern(on_call(json!({"fault": {"delay": "1s"}}))), false),
        (Bench::modern(on_call(json!({"fault": {"late-reply": "1s"}}))), true),
    ] {
        let (dispatch, _) = bench.call_steps("echo");
        bench.engine.on_closed(dispatch);
        assert_eq!(final_answer(&bench.wake(dispatch)).is_some(), add_response);
    }
}

#[test]
fn cancelling_ends_a_modern_stream_of_changes() {
    let mut bench = Bench::modern(on_call(json!({"change": {"announce": true}})));
    bench.ask("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    assert_eq!(sent(&bench.call_steps("echo").1).len(), 1);
    bench.send(&cancel(1));
    assert_eq!(sent(&bench.call_steps("echo").1).len(), 0);
}

#[test]
fn the_end_of_a_session_forgets_what_it_had_open() {
    let mut bench = Bench::legacy(on_call(json!({"fault": {"delay": "1s"}})));
    let (dispatch, _) = bench.call_steps("echo");
    bench.engine.close_session(bench.session);
    assert!(bench.wake(dispatch).is_empty());
}
