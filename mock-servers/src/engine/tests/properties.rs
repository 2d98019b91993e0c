//! Properties of every input.

use proptest::prelude::*;

use super::*;

/// Any JSON at all.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z/{}.]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z_]{0,8}", inner), 0..4).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

/// Something that looks like a message.
fn message() -> impl Strategy<Value = Value> {
    let method = prop::sample::select(vec![
        "initialize",
        "ping",
        "tools/list",
        "tools/call",
        "server/discover",
        "subscriptions/listen",
        "resources/read",
        "notifications/cancelled",
        "notifications/initialized",
        "prompts/list",
        "completion/complete",
        "GET",
        "x",
    ]);
    let id = prop_oneof![Just(None), (0..4_u64).prop_map(|id| Some(json!(id))), anything().prop_map(Some)];
    let params = prop_oneof![
        anything(),
        anything().prop_map(|meta| json!({"_meta": meta, "name": "echo", "requestId": 1, "requestState": "x"})),
        anything().prop_map(|arguments| json!({
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
                "progressToken": 1,
            },
            "name": "echo", "arguments": arguments, "protocolVersion": LEGACY, "notifications": {"toolsListChanged": true},
        })),
    ];
    let response =
        (0..4_u64, anything()).prop_map(|(id, result)| json!({"jsonrpc": "2.0", "id": id, "result": result}));
    let call = (method, id, params).prop_map(|(method, id, params)| {
        let mut message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        if let Some(id) = id {
            message["id"] = id;
        }
        message
    });
    prop_oneof![4 => call, 1 => response, 1 => anything()]
}

fn script() -> Value {
    json!({
        "revisions": [LEGACY, MODERN], "tools": [{"name": "echo"}], "generate": {"tools": 3}, "page_size": 2,
        "capabilities": {"tools": {"listChanged": true}, "resources": {}, "prompts": {}, "completions": {}},
        "on": [
            {"when": {"nth": 2}, "do": [{"progress": {"progress": 1, "times": 2, "every": "1s"}}]},
            {"when": {"tool": "echo", "nth": 2}, "do": [
                {"request": {"method": "elicitation/create"}}, {"reply": {"text": "{{response.a}}{{arguments}}"}},
            ]},
            {"when": {"nth": 5}, "do": [{"fault": {"late-reply": "1s"}}, {"fault": "duplicate"}]},
            {"when": {"nth": 7}, "do": [{"change": {"remove": ["echo"], "announce": true}}, {"fault": "wrong-id"}]},
            {"when": {"nth": 9}, "do": [{"fault": {"garbage": "{{params}}"}}, {"fault": {"truncate": 3}}]},
            {"when": {"nth": 11}, "do": [{"reply": {"patch": {"a": 1}}}, {"reply": {}}]},
        ],
    })
}

/// Everything that an engine says to these messages, with every wake played at once.
fn talk(messages: &[Value]) -> Vec<Output> {
    let mut bench = Bench::new(script(), MODERN);
    let mut said = Vec::new();
    for message in messages {
        let mut outputs = bench.outputs(message);
        while let Some(output) = (!outputs.is_empty()).then(|| outputs.remove(0)) {
            if let (Target::Dispatch(dispatch), Step::Wake(_)) = (output.to, &output.step) {
                outputs.extend(bench.engine.on_wake(dispatch));
            }
            said.push(output);
        }
    }
    said
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn never_panics_and_repeats_its_bytes_for_the_same_seed(messages in prop::collection::vec(message(), 1..24)) {
        prop_assert_eq!(talk(&messages), talk(&messages));
    }

    #[test]
    fn every_answer_to_a_request_carries_its_id(messages in prop::collection::vec(message(), 1..24)) {
        let mut bench = Bench::legacy(json!({"tools": [{"name": "echo"}]}));
        for message in messages {
            let (_, steps) = bench.send(&message);
            let answers = steps.iter().filter(|step| matches!(step, Step::Response { .. })).count();
            let id = message.get("id").filter(|id| id.is_string() || id.is_number());
            if message.get("method").is_some_and(Value::is_string) && message["jsonrpc"] == "2.0" {
                match id {
                    Some(id) => prop_assert_eq!(&final_answer(&steps).unwrap()["id"], id),
                    None if message.get("id").is_none() => prop_assert_eq!(answers, 0, "{}", message),
                    None => prop_assert_eq!(answers, 1),
                }
            }
        }
    }
}
