//! Each fault, as the fronts get it.

use super::*;
use crate::{
    engine::DispatchOutput,
    script::{Exit, HttpStatus},
};

#[test]
fn each_fault_is_what_it_says() {
    let status = HttpStatus { status: 503, headers: std::collections::BTreeMap::new(), body: "busy".into() };
    for (fault, expected) in [
        (json!("silence"), vec![]),
        (json!("close"), vec![Step::Close, Step::End]),
        (json!({"exit": {"code": 3}}), vec![Step::Exit(Exit { code: 3, ..Exit::default() }), Step::End]),
        (json!({"exit": {"kill": true}}), vec![Step::Exit(Exit { kill: true, ..Exit::default() }), Step::End]),
        (json!({"http-status": {"status": 503, "body": "busy"}}), vec![Step::Status(status), Step::End]),
        (json!({"delay": "2s"}), vec![Step::Wake(Duration::from_secs(2))]),
        (json!({"late-reply": "2s"}), vec![Step::Wake(Duration::from_secs(2))]),
    ] {
        let (_, steps) = Bench::legacy(on_call(json!({"fault": fault}))).call_steps("echo");
        assert_eq!(steps, expected, "{fault}");
    }
}

#[test]
fn garbage_comes_before_the_answer() {
    let (_, steps) = Bench::legacy(on_call(json!({"fault": {"garbage": "<{{id}}>"}}))).call_steps("echo");
    assert_eq!(steps[0], Step::Raw("<2>".into()));
    assert!(final_answer(&steps).is_some());
}

#[test]
fn a_wrong_id_is_of_the_same_kind_and_never_the_right_one() {
    let mut bench = Bench::legacy(on_call(json!({"fault": "wrong-id"})));
    let (_, steps) = bench.call_steps("echo");
    let answer = final_answer(&steps).unwrap();
    assert!(answer["id"].is_u64() && answer["id"] != bench.next_id);
    let call = json!({"jsonrpc": "2.0", "id": "mine", "method": "tools/call", "params": {"name": "echo"}});
    let answer = final_answer(&bench.send(&call).1).unwrap();
    assert!(answer["id"].is_string() && answer["id"] != "mine");
}

#[test]
fn a_duplicate_is_the_same_answer_twice() {
    let (_, steps) = Bench::legacy(on_call(json!({"fault": "duplicate"}))).call_steps("echo");
    assert_eq!(sent(&steps), [final_answer(&steps).unwrap()]);
}

#[test]
fn a_truncated_answer_ends_the_matter() {
    let mut bench = Bench::legacy(on_call(json!({"fault": {"truncate": 9}})));
    let request = bench.request("tools/call", json!({"name": "echo"}));
    let outputs = bench.outputs(&request);
    assert!(outputs[0].shape.is_some());
    let steps: Vec<_> = outputs.into_iter().map(|output| output.step).collect();
    assert!(matches!(&steps[..], [Step::Response { message, .. }, Step::End] if message["id"] == 2));
}

#[test]
fn nothing_follows_the_end_of_the_server() {
    let actions = json!([{"fault": {"exit": {}}}, {"notify": {"method": "a/b"}}]);
    let (_, steps) = Bench::legacy(on_call(actions)).call_steps("echo");
    assert_eq!(steps.len(), 2);
}

#[test]
fn a_delayed_response_shows_the_later_state() {
    let script = json!({"tools": [{"name": "echo"}], "on": [
        {"when": {"method": "tools/list"}, "do": {"fault": {"delay": "1s"}}},
        {"when": {"method": "tools/call"}, "do": {"change": {"put": [{"name": "late"}]}}},
    ]});
    let mut bench = Bench::legacy(script);
    let (dispatch, steps) = bench.ask("tools/list", json!({}));
    assert!(final_answer(&steps).is_none());
    bench.call("echo");
    let answer = final_answer(&bench.wake(dispatch)).unwrap();
    assert_eq!(answer["result"]["tools"].as_array().unwrap().len(), 2);
}

#[test]
fn faults_on_notifications_need_no_answer() {
    let script = json!({"on": [
        {"when": {"method": "notifications/initialized"}, "do": [
            {"reply": {"text": "never"}}, {"notify": {"method": "a/b"}}, {"fault": {"exit": {}}},
        ]},
    ]});
    let mut bench = Bench::legacy(script);
    let outputs = bench.outputs(&notification("notifications/initialized", json!({})));
    assert_eq!(outputs[0].to, Target::Session(bench.session));
    assert!(matches!(outputs[1].step, Step::Exit(_)));
    assert!(outputs.iter().all(|output| !matches!(output.step, Step::Response { .. })));
}

#[test]
fn invalid_input_has_faults_and_rules_of_its_own() {
    let script = json!({
        "faults": [{"fault": {"rewrite": {"set": {"/error/code": -1}}}, "when": {"method": "invalid-json"}}],
        "on": [{"when": {"method": "invalid-message"}, "do": {"fault": "close"}}],
    });
    let mut bench = Bench::legacy(script);
    let steps = |output: DispatchOutput| output.outputs.into_iter().map(|output| output.step).collect::<Vec<_>>();
    let garbage = steps(bench.engine.on_garbage());
    assert_eq!(final_answer(&garbage).map(|answer| answer["error"]["code"].clone()), Some(json!(-1)));
    let origin = Origin::session(bench.session);
    let invalid = steps(bench.engine.on_message(&origin, &json!({"jsonrpc": "1.0", "id": 5, "method": "ping"})));
    assert_eq!(invalid, [Step::Close, Step::End]);
    assert!(final_answer(&bench.send(&json!({"jsonrpc": "2.0", "id": 6, "method": "ping"})).1).is_some());
}

#[test]
fn a_rule_sees_only_arguments_that_the_tool_accepts() {
    let schema = json!({"type": "object", "required": ["a"]});
    let mut bench = Bench::legacy(json!({
        "tools": [{"name": "echo", "input_schema": schema, "validate": true}],
        "on": [{"when": {"tool": "echo"}, "do": {"reply": {"text": "done"}}}],
    }));
    for (arguments, is_error) in [(json!({}), json!(true)), (json!({"a": 1}), Value::Null)] {
        let request = bench.request("tools/call", json!({"name": "echo", "arguments": arguments}));
        assert_eq!(final_answer(&bench.send(&request).1).unwrap()["result"]["isError"], is_error, "{arguments}");
    }
}
