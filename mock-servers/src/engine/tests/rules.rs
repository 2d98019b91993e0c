//! Which rule decides, and what replies say.

use super::*;

#[test]
fn the_first_matching_rule_decides() {
    let reply = |text: &str| json!({"reply": {"text": text}});
    let mut bench = Bench::legacy(json!({"tools": [{"name": "a"}, {"name": "b"}, {"name": "c"}], "on": [
        {"when": {"tool": "a", "arguments": {"n": 4}}, "do": reply("never")},
        {"when": {"tool": "a", "nth": 2}, "do": reply("second")},
        {"when": {"tool": "a", "from_nth": 4}, "do": reply("from the fourth, now {{nth}}")},
        {"when": {"tool": "b", "arguments": {"n": 3}}, "do": reply("three")},
        {"when": {"method": "tools/call", "run": 2}, "do": reply("never")},
        {"when": {"method": "tools/call", "nth": 5}, "do": reply("fifth of all")},
    ]}));
    let echo = |tool: &str| format!("{tool}: {{\"text\":\"hi\",\"n\":3}}");
    let answers: Vec<_> = ["a", "a", "a", "a", "b", "c", "a"].into_iter().map(|tool| bench.call(tool)).collect();
    let expected =
        [&echo("a"), "second", &echo("a"), "from the fourth, now 4", "three", &echo("c"), "from the fourth, now 5"];
    assert_eq!(answers, expected);
}

#[test]
fn a_rule_can_be_for_one_run_or_one_cursor() {
    let script = json!({"on": [
        {"when": {"method": "tools/list", "cursor": "x", "run": 2}, "do": {"error": {"code": 7, "message": "{{params.cursor}}"}}},
    ]});
    let mut bench = Bench::legacy(script.clone());
    assert_eq!(bench.error("tools/list", json!({"cursor": "x"})), -32602);
    let mut bench = Bench::legacy(script);
    bench.engine = bench.engine.with_run(2);
    assert_eq!(bench.error("tools/list", json!({"cursor": "x"})), 7);
    assert_eq!(bench.error("tools/list", json!({"cursor": "y"})), -32602);
}

#[test]
fn replies_are_filled_from_the_request() {
    for (reply, expected) in [
        (json!({"text": "{{arguments.text}}/{{nth}}"}), json!({"content": [{"type": "text", "text": "hi/1"}]})),
        (
            json!({"text": "no", "is_error": true}),
            json!({"content": [{"type": "text", "text": "no"}], "isError": true}),
        ),
        (
            json!({"structured": {"n": "{{arguments.n}}"}}),
            json!({"content": [{"type": "text", "text": "{\"n\":3}"}], "structuredContent": {"n": 3}}),
        ),
        (json!({"result": {"odd": "{{method}}"}}), json!({"odd": "tools/call"})),
        (json!({"text": "x", "patch": {"content": null, "more": 1}}), json!({"more": 1})),
    ] {
        let rule = on_call(json!({"reply": reply}));
        let params = json!({"name": "echo", "arguments": {"text": "hi", "n": 3}});
        assert_eq!(Bench::legacy(rule).result("tools/call", params.clone()), expected);
        let tool = json!({"tools": [{"name": "echo", "reply": reply}]});
        assert_eq!(Bench::legacy(tool).result("tools/call", params), expected);
    }
}

#[test]
fn a_patch_changes_the_default_result() {
    let mut bench = Bench::legacy(json!({"generate": {"tools": 3}, "page_size": 2, "on": [
        {"when": {"method": "tools/list"}, "do": {"reply": {"patch": {"nextCursor": "same"}}}},
        {"when": {"method": "tools/call"}, "do": {"reply": {"patch": {"isError": true}}}},
    ]}));
    let listed = bench.result("tools/list", json!({}));
    assert_eq!((listed["tools"].as_array().unwrap().len(), &listed["nextCursor"]), (2, &json!("same")));
    let tool_result = bench.result("tools/call", json!({"name": "tool-00000"}));
    assert_eq!((&tool_result["isError"], &tool_result["content"][0]["text"]), (&json!(true), &json!("tool-00000: {}")));
}

#[test]
fn a_whole_result_goes_out_word_for_word_in_the_modern_era_too() {
    let mut bench = Bench::modern(on_call(json!({"reply": {"result": {"content": []}}})));
    assert_eq!(bench.result("tools/call", json!({"name": "echo"})), json!({"content": []}));
    let mut bench = Bench::modern(on_call(json!({"reply": {"text": "x"}})));
    assert_eq!(bench.result("tools/call", json!({"name": "echo"}))["resultType"], "complete");
}

#[test]
fn actions_run_in_order_and_the_default_follows_unless_the_matter_is_ended() {
    let mut bench = Bench::legacy(on_call(json!([
        {"notify": {"method": "a/b", "params": {"id": "{{id}}"}}},
        {"progress": {"progress": 0.5, "total": 2, "message": "{{nth}}", "times": 2}},
    ])));
    let (_, steps) = bench.call_steps("echo");
    assert_eq!(
        sent(&steps),
        [
            json!({"jsonrpc": "2.0", "method": "a/b", "params": {"id": 2}}),
            json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
                "progressToken": "p", "progress": 0.5, "total": 2, "message": "1",
            }}),
            json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
                "progressToken": "p", "progress": 1.5, "total": 2, "message": "1",
            }}),
        ]
    );
    assert_eq!(final_answer(&steps).unwrap()["result"]["content"][0]["text"], "echo: {\"text\":\"hi\"}");
    // Without a token there is no progress to report.
    let (_, steps) = bench.ask("tools/call", json!({"name": "echo"}));
    assert_eq!(sent(&steps).len(), 1);
}

#[test]
fn what_follows_the_answer_goes_out_on_the_session() {
    let mut bench = Bench::legacy(on_call(json!(["default", {"notify": {"method": "a/b"}}])));
    let request = bench.request("tools/call", json!({"name": "echo"}));
    let outputs = bench.outputs(&request);
    assert!(matches!(outputs[0].step, Step::Response { .. }));
    assert_eq!(outputs[1].to, Target::Session(bench.session));
    assert_eq!(outputs.len(), 3);
}

#[test]
fn reports_of_progress_wait_for_each_other() {
    let mut bench = Bench::legacy(on_call(json!({"progress": {"progress": 1, "times": 2, "every": "5s"}})));
    let (dispatch, steps) = bench.call_steps("echo");
    assert_eq!(steps, [Step::Wake(Duration::from_secs(5))]);
    let steps = bench.wake(dispatch);
    assert_eq!((sent(&steps)[0]["params"]["progress"].clone(), wake_of(&steps).is_some()), (json!(1), true));
    let steps = bench.wake(dispatch);
    assert_eq!(sent(&steps)[0]["params"]["progress"], 2);
    assert!(final_answer(&steps).is_some());
    assert!(bench.wake(dispatch).is_empty());
}

#[test]
fn a_legacy_request_waits_for_its_response() {
    let mut bench = Bench::legacy(on_call(json!([
        {"request": {"method": "sampling/createMessage", "params": {"maxTokens": 1}}},
        {"reply": {"text": "{{response.content.text}}"}},
    ])));
    let (_, steps) = bench.call_steps("echo");
    let [Step::Send(request)] = steps.as_slice() else { panic!("one request: {steps:?}") };
    assert_eq!(bench.send(&json!({"jsonrpc": "2.0", "id": "other", "result": {}})).1, [Step::End]);
    let result = json!({"content": {"type": "text", "text": "42"}});
    let (_, steps) = bench.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    assert_eq!(final_answer(&steps).unwrap()["result"]["content"][0]["text"], "42");
}

#[test]
fn a_modern_request_takes_another_round_trip() {
    let mut bench = Bench::modern(on_call(json!([
        {"request": {"method": "elicitation/create", "params": {"message": "name?"}}},
        {"reply": {"text": "{{response.content.name}} {{nth}}"}},
    ])));
    let asked = bench.result("tools/call", json!({"name": "echo"}));
    assert_eq!(asked["resultType"], "input_required");
    assert_eq!(asked["inputRequests"]["input"]["method"], "elicitation/create");
    let retry = |state: &Value, name: &str, responses: Value| json!({"name": name, "requestState": state, "inputResponses": responses});
    let again = bench.result("tools/call", retry(&asked["requestState"], "echo", json!({})));
    assert_eq!(again["resultType"], "input_required", "what is missing is asked for again");
    let input = json!({"input": {"action": "accept", "content": {"name": "Ada"}}});
    let done = bench.result("tools/call", retry(&again["requestState"], "echo", input.clone()));
    assert_eq!(done["content"][0]["text"], "Ada 1");
    assert_eq!(
        bench.error("tools/call", retry(&again["requestState"], "echo", input)),
        -32602,
        "states are for one use"
    );
}

#[test]
fn a_capability_that_the_client_lacks_is_an_error() {
    let mut bench = Bench::modern(on_call(json!({"request": {"method": "sampling/createMessage"}})));
    let answer = bench.respond("tools/call", json!({"name": "echo"}));
    assert_eq!(answer["error"]["code"], -32021);
    assert_eq!(answer["error"]["data"], json!({"requiredCapabilities": {"sampling": {}}}));
}

#[test]
fn rules_for_the_handshake_come_before_the_protocol() {
    let mut bench = Bench::new(
        json!({"on": [
            {"when": {"method": "server/discover"}, "do": {"error": {"code": -32602, "message": "what?"}}},
            {"when": {"method": "tools/list"}, "do": {"reply": {"result": {}}}},
        ]}),
        LEGACY,
    );
    assert_eq!(bench.error("server/discover", json!({})), -32602);
    assert_eq!(bench.error("tools/list", json!({})), -32600, "other rules come after it");
}
