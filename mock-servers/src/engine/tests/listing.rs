//! Lists of tools: pages, cursors, changes and notifications.

use super::*;

fn names(result: &Value) -> Vec<&str> {
    result["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn pages_lead_through_the_whole_catalogue() {
    let mut bench = Bench::legacy(json!({"tools": [{"name": "own"}], "generate": {"tools": 4}, "page_size": 2}));
    let (mut seen, mut cursor, mut pages) = (Vec::new(), None, 0);
    loop {
        let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        let page = bench.result("tools/list", params);
        seen.extend(names(&page).into_iter().map(str::to_owned));
        pages += 1;
        match page.get("nextCursor") {
            Some(next) => cursor = Some(next.clone()),
            None => break,
        }
    }
    assert_eq!(pages, 3);
    assert_eq!(seen, ["own", "tool-00000", "tool-00001", "tool-00002", "tool-00003"]);
}

#[test]
fn refuses_cursors_that_it_did_not_make() {
    let mut bench = Bench::legacy(json!({"generate": {"tools": 4}, "page_size": 2, "on": [
        {"when": {"method": "resources/list", "nth": 9}, "do": "default"},
    ]}));
    let own = bench.result("tools/list", json!({}))["nextCursor"].clone();
    for cursor in [json!("2"), json!(""), json!(2), json!(null), json!("MjA=")] {
        assert_eq!(bench.error("tools/list", json!({"cursor": cursor})), -32602, "{cursor}");
        assert_eq!(bench.error("resources/list", json!({"cursor": cursor})), -32602, "{cursor}");
    }
    let other =
        Bench::legacy(json!({"generate": {"tools": 4}, "page_size": 2})).result("tools/list", json!({}))["nextCursor"]
            .clone();
    assert_eq!(own, other, "the same seed makes the same cursor");
}

#[test]
fn lists_the_definition_of_a_tool() {
    let tool = json!({
        "name": "so-called", "title": "T", "description": "D", "input_schema": {"type": "object"},
        "output_schema": {"type": "object"}, "annotations": {"readOnlyHint": true},
    });
    let mut bench = Bench::legacy(json!({"tools": [tool, {"name": "bare"}]}));
    let expected = json!({"tools": [
        {"name": "so-called", "title": "T", "description": "D", "inputSchema": {"type": "object"},
         "outputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}},
        {"name": "bare", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}},
    ]});
    assert_eq!(bench.result("tools/list", json!({})), expected);
}

#[test]
fn changes_the_lists_and_notifies_every_legacy_session() {
    let change = json!({"change": {
        "put": [{"name": "a", "description": "new"}, {"name": "c"}], "remove": ["b"], "announce": true,
    }});
    let script = json!({"tools": [{"name": "a"}, {"name": "b"}], "on": [
        {"when": {"tool": "a"}, "do": change},
    ]});
    let mut bench = Bench::legacy(script);
    let silent = bench.engine.open_session();
    let request = bench.request("tools/call", json!({"name": "a"}));
    let outputs = bench.outputs(&request);
    let told: Vec<_> = outputs.iter().filter(|output| matches!(output.step, Step::Send(_))).collect();
    assert_eq!(told.len(), 1, "a session without a handshake is told nothing: {silent:?}");
    assert_eq!(told[0].to, Target::Session(bench.session));
    let listed = bench.result("tools/list", json!({}));
    assert_eq!(names(&listed), ["a", "c"]);
    assert_eq!(listed["tools"][0]["description"], "new");
    assert_eq!(bench.error("tools/call", json!({"name": "b"})), -32602);
}

#[test]
fn sends_modern_streams_the_requested_notifications() {
    let script = json!({"tools": [{"name": "echo"}], "on": [
        {"when": {"tool": "echo"}, "do": [
            {"change": {"announce": true}},
            {"notify": {"method": "notifications/resources/updated", "params": {"uri": "x:/1"}}},
        ]},
    ]});
    let mut bench = Bench::modern(script);
    let wish = |filter: Value| json!({"notifications": filter});
    let (tools, steps) =
        bench.ask("subscriptions/listen", wish(json!({"toolsListChanged": true, "promptsListChanged": true})));
    let acknowledged = &sent(&steps)[0];
    assert_eq!(acknowledged["params"]["notifications"], json!({"toolsListChanged": true}));
    let (resources, _) = bench.ask("subscriptions/listen", wish(json!({"resourceSubscriptions": ["x:/1"]})));
    bench.ask("subscriptions/listen", wish(json!({"resourceSubscriptions": ["x:/2"], "toolsListChanged": false})));
    let request = bench.request("tools/call", json!({"name": "echo"}));
    let outputs = bench.outputs(&request);
    let told: Vec<_> = outputs
        .iter()
        .filter_map(|output| match &output.step {
            Step::Send(message) => {
                let id = &message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
                Some((output.to, message["method"].as_str().unwrap(), id.as_u64().unwrap()))
            }
            _ => None,
        })
        .collect();
    let expected = [
        (Target::Dispatch(tools), "notifications/tools/list_changed", 1),
        (Target::Dispatch(resources), "notifications/resources/updated", 2),
    ];
    assert_eq!(told, expected);
    bench.engine.on_closed(tools);
    assert_eq!(sent(&bench.call_steps("echo").1).len(), 1);
}

#[test]
fn a_stream_of_changes_can_be_ended_in_good_order() {
    let mut bench = Bench::modern(json!({
        "capabilities": {"tools": {"listChanged": true}},
        "on": [{"when": {"method": "subscriptions/listen"}, "do": ["default", {"fault": {"delay": "1s"}}, {"reply": {}}]}],
    }));
    let (stream, steps) = bench.ask("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    assert_eq!(sent(&steps)[0]["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(final_answer(&steps), None);
    let answer = final_answer(&bench.wake(stream)).unwrap();
    let meta = &answer["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!((&answer["result"]["resultType"], meta), (&json!("complete"), &json!(bench.next_id)));
    let mut out = Vec::new();
    bench.engine.announce("notifications/tools/list_changed", None, &mut out);
    assert_eq!(out, [], "nobody listens any more");
    assert_eq!(bench.error("subscriptions/listen", json!({})), -32602, "a wish is needed");
}

#[test]
fn a_server_that_shuts_down_ends_every_stream_of_changes() {
    let mut bench = Bench::modern(json!({"capabilities": {"tools": {"listChanged": true}}}));
    let wish = json!({"notifications": {"toolsListChanged": true}});
    let streams = [bench.ask("subscriptions/listen", wish.clone()).0, bench.ask("subscriptions/listen", wish).0];
    let ended = bench.engine.end_subscriptions();
    for (stream, id) in streams.into_iter().zip(1..) {
        let steps: Vec<_> =
            ended.iter().filter(|one| one.to == Target::Dispatch(stream)).map(|one| one.step.clone()).collect();
        let answer = final_answer(&steps).unwrap();
        assert_eq!((&answer["id"], &answer["result"]["resultType"]), (&json!(id), &json!("complete")));
        assert_eq!(steps.last(), Some(&Step::End));
    }
    assert_eq!(bench.engine.end_subscriptions(), []);
}
