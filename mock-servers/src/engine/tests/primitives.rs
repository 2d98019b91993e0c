//! Resources, prompts, completion, logging, validation: one promise each.

use super::*;

#[test]
fn resources_are_read_as_the_script_has_them() {
    let mut bench = Bench::legacy(json!({
        "resources": [
            {"uri": "x:/1", "name": "one", "mime_type": "text/plain", "contents": {"text": "for {{params.uri}}"}},
            {"uri": "x:/2", "hidden": true, "contents": [{"blob": "AA=="}, {"uri": "x:/2b", "text": "b"}]},
            {"uri": "x:/3"},
        ],
        "resource_templates": [{"uri_template": "x:/t/{id}", "contents": {"text": "<{{variables.id}}>"}}],
    }));
    let listed = bench.result("resources/list", json!({}));
    let expected = json!({"resources": [{"uri": "x:/1", "name": "one", "mimeType": "text/plain"}, {"uri": "x:/3", "name": "x:/3"}]});
    assert_eq!(listed, expected);
    for (uri, contents) in [
        ("x:/1", json!([{"uri": "x:/1", "mimeType": "text/plain", "text": "for x:/1"}])),
        ("x:/2", json!([{"uri": "x:/2", "blob": "AA=="}, {"uri": "x:/2b", "text": "b"}])),
        ("x:/3", json!([{"uri": "x:/3", "text": "x:/3"}])),
        ("x:/t/a%20b", json!([{"uri": "x:/t/a%20b", "text": "<a b>"}])),
    ] {
        assert_eq!(bench.result("resources/read", json!({"uri": uri}))["contents"], contents);
    }
    let missing = bench.respond("resources/read", json!({"uri": "x:/4"}));
    assert_eq!(missing["error"], json!({"code": -32002, "message": "Resource not found", "data": {"uri": "x:/4"}}));
    let mut modern = Bench::modern(json!({"resources": [{"uri": "x:/1"}]}));
    assert_eq!(modern.error("resources/read", json!({"uri": "x:/4"})), -32602);
}

#[test]
fn only_subscribers_get_an_update() {
    let script = on_call(
        json!([{"update": {"uri": "x:/1"}}, {"notify": {"method": "notifications/resources/updated", "params": {"uri": "x:/2"}}}]),
    );
    let mut bench = Bench::legacy(script);
    let told = |bench: &mut Bench| {
        let sent = sent(&bench.call_steps("echo").1);
        sent.into_iter().map(|message| message["params"]["uri"].clone()).collect::<Vec<_>>()
    };
    assert!(told(&mut bench).is_empty());
    bench.result("resources/subscribe", json!({"uri": "x:/1"}));
    assert_eq!(told(&mut bench), ["x:/1"]);
    bench.result("resources/subscribe", json!({"uri": "x:/2"}));
    bench.result("resources/unsubscribe", json!({"uri": "x:/1"}));
    assert_eq!(told(&mut bench), ["x:/2"]);
    let other = bench.engine.open_session();
    let request = bench.request("tools/call", json!({"name": "echo"}));
    let outputs = bench.outputs(&request);
    assert!(outputs.iter().all(|output| output.to != Target::Session(other)));
    assert_eq!(bench.error("resources/subscribe", json!({})), -32602);
}

#[test]
fn an_unasked_update_goes_out_when_the_script_insists() {
    let notify = json!({"method": "notifications/resources/updated", "params": {"uri": "x:/1"}, "anyway": true});
    let mut bench = Bench::legacy(on_call(json!({"notify": notify})));
    assert_eq!(sent(&bench.call_steps("echo").1).len(), 1);
}

#[test]
fn prompts_are_filled_and_their_arguments_checked() {
    let mut bench = Bench::legacy(json!({"prompts": [
        {"name": "p", "description": "D", "arguments": [{"name": "a", "required": true}, {"name": "b"}], "messages": [
            {"content": {"text": "<{{arguments.a}}>"}},
            {"role": "assistant", "content": {"image": {"data": "AA==", "mime_type": "image/png"}}},
        ]},
        {"name": "bare"},
    ]}));
    let listed = bench.result("prompts/list", json!({}))["prompts"][0].clone();
    assert_eq!(
        listed,
        json!({"name": "p", "description": "D", "arguments": [{"name": "a", "required": true}, {"name": "b"}]})
    );
    let got = bench.result("prompts/get", json!({"name": "p", "arguments": {"a": "x"}}));
    assert_eq!(
        got,
        json!({"description": "D", "messages": [
            {"role": "user", "content": {"type": "text", "text": "<x>"}},
            {"role": "assistant", "content": {"type": "image", "data": "AA==", "mimeType": "image/png"}},
        ]})
    );
    assert_eq!(bench.result("prompts/get", json!({"name": "bare"}))["messages"][0]["content"]["text"], "bare");
    for params in [
        json!({"name": "p"}),
        json!({"name": "p", "arguments": {"b": "x"}}),
        json!({"name": "p", "arguments": {"a": 1}}),
        json!({"name": "p", "arguments": []}),
        json!({"name": "q"}),
        json!({}),
    ] {
        assert_eq!(bench.error("prompts/get", params.clone()), -32602, "{params}");
    }
}

#[test]
fn a_rule_words_prompts_and_resources_in_their_own_shapes() {
    let mut bench = Bench::legacy(json!({"on": [{"when": {"method": "prompts/get"}, "do": {"reply": {"text": "hi"}}},
        {"when": {"uri": "x:/1"}, "do": {"reply": {"text": "hi"}}}, {"when": {"method": "resources/read"}, "do": "default"}]}));
    let prompt = bench.result("prompts/get", json!({"name": "any"}));
    assert_eq!(prompt, json!({"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}]}));
    let resource = bench.result("resources/read", json!({"uri": "x:/1"}));
    assert_eq!(resource, json!({"contents": [{"uri": "x:/1", "text": "hi"}]}));
}

#[test]
fn completion_offers_what_begins_so() {
    let many: Vec<_> = (0..150).map(|number| format!("v{number:03}")).collect();
    let mut bench = Bench::legacy(json!({
        "prompts": [{"name": "p", "arguments": [{"name": "a", "complete": ["paris", "park", "oslo"]}, {"name": "many", "complete": many}]}],
        "resource_templates": [{"uri_template": "x:/{id}", "complete": {"id": ["1", "12"]}}],
    }));
    assert_eq!(
        bench.result("initialize", json!({"protocolVersion": LEGACY}))["capabilities"]["completions"],
        json!({})
    );
    let prompt = json!({"type": "ref/prompt", "name": "p"});
    let mut complete = |reference: &Value, name: &str, value: &str| {
        let params = json!({"ref": reference, "argument": {"name": name, "value": value}});
        bench.result("completion/complete", params)["completion"].clone()
    };
    assert_eq!(complete(&prompt, "a", "par"), json!({"values": ["paris", "park"], "total": 2, "hasMore": false}));
    assert_eq!(complete(&prompt, "b", ""), json!({"values": [], "total": 0, "hasMore": false}));
    let all = complete(&prompt, "many", "v");
    assert_eq!(
        (all["values"].as_array().unwrap().len(), &all["total"], &all["hasMore"]),
        (100, &json!(150), &json!(true))
    );
    let template = json!({"type": "ref/resource", "uri": "x:/{id}"});
    assert_eq!(complete(&template, "id", "1")["values"], json!(["1", "12"]));
    for params in [
        json!({"ref": {"type": "ref/prompt", "name": "q"}, "argument": {"name": "a", "value": ""}}),
        json!({"ref": {"type": "ref/tool", "name": "p"}, "argument": {"name": "a", "value": ""}}),
        json!({"ref": prompt, "argument": {"name": "a"}}),
        json!({"argument": {"name": "a", "value": ""}}),
    ] {
        assert_eq!(bench.error("completion/complete", params.clone()), -32602, "{params}");
    }
}

#[test]
fn logs_reach_whom_they_concern() {
    let log = |level: &str| json!({"log": {"level": level, "logger": "l", "data": {"n": "{{nth}}"}}});
    let script = on_call(json!([log("debug"), log("warning"), log("emergency")]));
    let mut bench = Bench::legacy(script.clone());
    let levels =
        |steps: &[Step]| sent(steps).iter().map(|message| message["params"]["level"].clone()).collect::<Vec<_>>();
    let (_, steps) = bench.call_steps("echo");
    assert_eq!(sent(&steps)[0]["params"], json!({"level": "debug", "logger": "l", "data": {"n": 1}}));
    assert_eq!(levels(&steps), ["debug", "warning", "emergency"], "before a level is set, the server decides");
    bench.result("logging/setLevel", json!({"level": "warning"}));
    assert_eq!(levels(&bench.call_steps("echo").1), ["warning", "emergency"]);
    bench.result("logging/setLevel", json!({"level": "emergency"}));
    assert_eq!(levels(&bench.call_steps("echo").1), ["emergency"]);
    // In 2026-07-28 only the request itself can ask for messages.
    let mut bench = Bench::modern(script);
    assert!(levels(&bench.call_steps("echo").1).is_empty());
    let meta = json!({"io.modelcontextprotocol/logLevel": "warning"});
    let (_, steps) = bench.ask("tools/call", json!({"name": "echo", "_meta": meta}));
    assert_eq!(levels(&steps), ["warning", "emergency"]);
}

#[test]
fn arguments_that_do_not_fit_are_refused_as_the_revision_has_it() {
    let tool = json!({"name": "t", "validate": true, "input_schema": {
        "type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"],
    }});
    for (revision, by_result) in [("2024-11-05", false), ("2025-06-18", false), ("2025-11-25", true), (MODERN, true)] {
        let script = json!({"tools": [tool]});
        let mut bench =
            if revision == MODERN { Bench::modern(script) } else { Bench::with_revision(script, revision, &json!({})) };
        for arguments in [json!({}), json!({"n": 0}), json!({"n": "1"})] {
            let (_, steps) = bench.plain(revision, "tools/call", json!({"name": "t", "arguments": arguments}));
            let answer = final_answer(&steps).unwrap();
            if by_result {
                assert_eq!(answer["result"]["isError"], true, "{answer}");
                assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("do not fit"));
            } else {
                assert_eq!(answer["error"]["code"], -32602, "{answer}");
            }
        }
        let (_, steps) = bench.plain(revision, "tools/call", json!({"name": "t", "arguments": {"n": 1}}));
        assert!(final_answer(&steps).unwrap()["result"].get("isError").is_none());
    }
}

#[test]
fn every_list_is_paged_by_cursors_of_its_own() {
    let mut bench = Bench::legacy(
        json!({"page_size": 2, "generate": {"tools": 3, "resources": 3, "resource_templates": 3, "prompts": 3}}),
    );
    let lists = [
        ("tools/list", "tools"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ];
    let mut cursors = Vec::new();
    for (method, member) in lists {
        let first = bench.result(method, json!({}));
        assert_eq!(first[member].as_array().unwrap().len(), 2, "{method}");
        let next = first["nextCursor"].clone();
        let last = bench.result(method, json!({"cursor": next}));
        assert_eq!((last[member].as_array().unwrap().len(), last.get("nextCursor")), (1, None), "{method}");
        cursors.push((method, next));
    }
    for (method, _) in lists {
        for (_, cursor) in cursors.iter().filter(|(of, _)| *of != method) {
            assert_eq!(bench.error(method, json!({"cursor": cursor})), -32602, "{method}");
        }
    }
}

#[test]
fn hidden_resources_leave_no_gap_in_the_pages() {
    let resource = |number: usize| json!({"uri": format!("x:/{number}"), "hidden": number % 2 == 1});
    let mut bench = Bench::legacy(json!({"page_size": 2, "resources": (0..6).map(resource).collect::<Vec<_>>()}));
    let first = bench.result("resources/list", json!({}));
    assert_eq!(first["resources"].as_array().unwrap().len(), 2);
    let last = bench.result("resources/list", json!({"cursor": first["nextCursor"]}));
    assert_eq!((last["resources"].as_array().unwrap().len(), last.get("nextCursor")), (1, None));
}

#[test]
fn changes_reach_every_kind_of_list() {
    let mut bench = Bench::legacy(json!({
        "tools": [{"name": "go"}], "prompts": [{"name": "old"}], "resources": [{"uri": "x:/old"}],
        "resource_templates": [{"uri_template": "y:/{old}"}],
        "on": [{"when": {"tool": "go"}, "do": {"change": {
            "prompts": {"put": [{"name": "new"}], "remove": ["old"]},
            "resources": {"put": [{"uri": "x:/new"}]},
            "resource_templates": {"put": [{"uri_template": "z:/{id}", "contents": {"text": "{{variables.id}}"}}], "remove": ["y:/{old}"]},
            "announce": true,
        }}}],
    }));
    let (_, steps) = bench.call_steps("go");
    let told: Vec<_> = sent(&steps).iter().map(|message| message["method"].clone()).collect();
    assert_eq!(told, ["notifications/resources/list_changed", "notifications/prompts/list_changed"]);
    assert_eq!(bench.result("prompts/list", json!({}))["prompts"], json!([{"name": "new"}]));
    assert_eq!(bench.result("resources/list", json!({}))["resources"].as_array().unwrap().len(), 2);
    assert_eq!(bench.result("resources/read", json!({"uri": "z:/7"}))["contents"][0]["text"], "7");
    assert_eq!(bench.error("resources/read", json!({"uri": "y:/7"})), -32002);
}

#[test]
fn server_info_has_the_members_of_the_revision() {
    let script = json!({"name": "n", "info": {"version": "7", "title": "T", "description": "D", "website_url": "https://x", "icons": []}});
    for (revision, members) in [
        ("2024-11-05", vec!["name", "version"]),
        ("2025-06-18", vec!["name", "title", "version"]),
        ("2025-11-25", vec!["name", "title", "version", "description", "icons", "websiteUrl"]),
    ] {
        let mut bench = Bench::new(script.clone(), revision);
        let info = bench.result("initialize", json!({"protocolVersion": revision}))["serverInfo"].clone();
        assert_eq!(info.as_object().unwrap().keys().collect::<Vec<_>>(), members, "{revision}");
        assert_eq!(info["version"], "7");
    }
}

#[test]
fn anachronisms_are_sent_on_request() {
    let tool =
        json!({"name": "t", "title": "T", "reply": {"content": {"audio": {"data": "", "mime_type": "audio/wav"}}}});
    for (anachronisms, title, kind) in [(false, None, "text"), (true, Some(json!("T")), "audio")] {
        let script = json!({"tools": [tool], "anachronisms": anachronisms});
        let mut bench = Bench::with_revision(script, "2024-11-05", &json!({}));
        assert_eq!(bench.result("tools/list", json!({}))["tools"][0].get("title"), title.as_ref());
        assert_eq!(bench.result("tools/call", json!({"name": "t"}))["content"][0]["type"], kind);
    }
}

#[test]
fn rules_can_be_for_revisions_prompts_and_resources() {
    let script = json!({"tools": [{"name": "t"}], "prompts": [{"name": "a"}, {"name": "b"}], "revisions": ["2025-06-18", "2025-11-25"], "on": [
        {"when": {"tool": "t", "revisions": ["2025-06-18"]}, "do": {"reply": {"text": "old"}}},
        {"when": {"prompt": "a"}, "do": {"error": {"code": 7, "message": "x"}}},
    ]});
    for (revision, text) in [("2025-06-18", "old"), ("2025-11-25", "t: {}")] {
        let mut bench = Bench::with_revision(script.clone(), revision, &json!({}));
        let (_, steps) = bench.plain(revision, "tools/call", json!({"name": "t"}));
        assert_eq!(final_answer(&steps).unwrap()["result"]["content"][0]["text"], text);
        assert_eq!(bench.error("prompts/get", json!({"name": "a"})), 7);
        assert!(bench.result("prompts/get", json!({"name": "b"})).is_object());
    }
}

#[test]
fn progress_has_words_since_2025_03_26() {
    let script = on_call(json!({"progress": {"progress": 1, "message": "half"}}));
    for (revision, words) in [("2024-11-05", None), ("2025-03-26", Some(json!("half")))] {
        let mut bench = Bench::with_revision(script.clone(), revision, &json!({}));
        let (_, steps) = bench.call_steps("echo");
        assert_eq!(sent(&steps)[0]["params"].get("message"), words.as_ref(), "{revision}");
    }
}
