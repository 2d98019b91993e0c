//! The fixtures of 2026-07-28 that the official suite asks for.

use super::*;

fn bench() -> Bench {
    let script: Script = serde_saphyr::from_str(include_str!("../../../profiles/modern.yaml")).unwrap();
    let mut bench = Bench::modern(json!({}));
    bench.engine = Engine::new(script, MODERN, 42);
    bench.session = bench.engine.open_session();
    bench
}

fn call(bench: &mut Bench, tool: &str, capabilities: &Value, more: &Value) -> Value {
    let mut params = json!({"name": tool, "arguments": {"seconds": 0, "filename": "f", "label": "l"}});
    params.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    let mut request = bench.request("tools/call", params);
    request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities.clone();
    final_answer(&bench.send(&request).1).unwrap_or_default()
}

/// An answer to each question, as the suite gives it.
fn responses(asked: &Value) -> Value {
    let answer = |input_request: &Value| match input_request["method"].as_str().unwrap() {
        "sampling/createMessage" => {
            json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "Hello there!"}})
        }
        "roots/list" => json!({"roots": [{"uri": "file:///r", "name": "r"}]}),
        _ => json!({"action": "accept", "content": {"name": "Alice", "ok": true, "color": "blue", "confirm": true}}),
    };
    asked.as_object().unwrap().iter().map(|(key, input_request)| (key.clone(), answer(input_request))).collect()
}

#[test]
fn every_question_is_answered_in_its_rounds() {
    let capabilities = json!({"sampling": {}, "elicitation": {}, "roots": {}});
    for (tool, rounds, text) in [
        ("test_input_required_result_elicitation", 1, "Hello, Alice!"),
        ("test_input_required_result_sampling", 1, "Sampling result: Hello there!"),
        ("test_input_required_result_list_roots", 1, "Found 1 root(s)"),
        ("test_input_required_result_request_state", 1, "state-ok: requestState validated"),
        ("test_input_required_result_tampered_state", 1, "integrity-ok: state verified"),
        ("test_input_required_result_multiple_inputs", 1, "Name: Alice; Greeting: Hello there!; Roots: 1"),
        ("test_input_required_result_multi_round", 2, "Multi-round complete for Alice who likes blue"),
        ("confirm_delete", 1, "Deleted f"),
        ("multi_input", 1, "Confirmed by Alice"),
        ("greet", 0, "Hello, !"),
        ("slow_compute", 0, "Computed l in 0s"),
        ("test_missing_capability", 0, "Success"),
    ] {
        let (mut bench, mut more) = (bench(), json!({}));
        for _ in 0..rounds {
            let asked = call(&mut bench, tool, &capabilities, &more)["result"].take();
            assert_eq!(asked["resultType"], "input_required", "{tool}: {asked}");
            more = json!({"inputResponses": responses(&asked["inputRequests"])});
            if let Some(state) = asked.get("requestState") {
                more["requestState"] = state.clone();
            }
        }
        let done = call(&mut bench, tool, &capabilities, &more);
        assert_eq!(done["result"]["content"][0]["text"], text, "{tool}: {done}");
    }
}

#[test]
fn the_jobs_are_tasks_for_those_who_know_them() {
    let capabilities = json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
    for tool in ["slow_compute", "failing_job", "protocol_error_job", "confirm_delete", "multi_input"] {
        let task = call(&mut bench(), tool, &capabilities, &json!({}));
        assert_eq!(task["result"]["resultType"], "task", "{tool}: {task}");
    }
    for tool in ["failing_job", "test_tool_with_task", "protocol_error_job"] {
        let refused = call(&mut bench(), tool, &json!({"elicitation": {}}), &json!({}));
        assert_eq!(refused["error"]["code"], -32021, "{tool}: {refused}");
    }
    let mut bench = bench();
    let asked = call(&mut bench, "test_tool_with_task", &capabilities, &json!({}))["result"].take();
    let more = json!({"inputResponses": responses(&asked["inputRequests"]), "requestState": asked["requestState"]});
    let task = call(&mut bench, "test_tool_with_task", &capabilities, &more);
    assert_eq!(task["result"]["resultType"], "task", "{task}");
}
