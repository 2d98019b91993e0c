//! Default behaviour of both eras, and where they meet.

use super::*;

#[test]
fn negotiates_the_revision() {
    for (supported, asked, agreed) in [
        (vec!["2025-06-18"], "2025-06-18", "2025-06-18"),
        (vec!["2024-11-05", "2025-11-25"], "2024-11-05", "2024-11-05"),
        (vec!["2024-11-05", "2025-06-18"], "2025-11-25", "2025-06-18"),
        (vec!["2025-06-18"], "1.0.0", "2025-06-18"),
        (vec!["2025-06-18", "2026-07-28"], "2026-07-28", "2025-06-18"),
    ] {
        let mut bench = Bench::new(json!({"revisions": supported}), LEGACY);
        let (_, steps) = bench.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": asked,
        }}));
        let answer = final_answer(&steps).unwrap();
        assert_eq!(answer["result"]["protocolVersion"], agreed, "{supported:?} asked for {asked}");
        assert_eq!(bench.engine.negotiated_revision(bench.session), Some(agreed));
    }
}

#[test]
fn answers_the_handshake_with_what_the_script_offers() {
    let mut bench = Bench::new(json!({"name": "mine", "instructions": "read me", "tools": [{"name": "a"}]}), LEGACY);
    let result = bench.result("initialize", json!({"protocolVersion": LEGACY}));
    assert_eq!(result["serverInfo"]["name"], "mine");
    assert_eq!(result["instructions"], "read me");
    assert_eq!(result["capabilities"], json!({"tools": {}}));
    assert_eq!(bench.result("ping", json!({})), json!({}));
}

#[test]
fn declares_what_the_script_implies() {
    let mut bench = Bench::legacy(json!({"on": [
        {"when": {"method": "tools/call"}, "do": {"change": {"announce": true}}},
        {"when": {"method": "prompts/get"}, "do": {"notify": {"method": "notifications/message"}}},
        {"when": {"method": "resources/read"}, "do": {"notify": {"method": "notifications/resources/updated"}}},
    ]}));
    let declared = bench.result("initialize", json!({"protocolVersion": LEGACY}))["capabilities"].clone();
    let expected = json!({
        "tools": {"listChanged": true}, "resources": {"subscribe": true}, "prompts": {}, "logging": {},
    });
    assert_eq!(declared, expected);
    assert_eq!(bench.result("prompts/list", json!({})), json!({"prompts": []}));
    assert_eq!(bench.result("resources/list", json!({})), json!({"resources": []}));
    assert_eq!(bench.result("logging/setLevel", json!({"level": "info"})), json!({}));
    assert_eq!(bench.error("logging/setLevel", json!({"level": "loud"})), -32602);
}

#[test]
fn refuses_what_it_does_not_offer() {
    let mut bench = Bench::legacy(json!({}));
    for method in ["resources/list", "prompts/list", "logging/setLevel", "completion/complete", "no/such", ""] {
        assert_eq!(bench.error(method, json!({})), -32601, "{method}");
    }
    // A legacy server knows neither of the modern methods.
    assert_eq!(bench.error("server/discover", json!({})), -32601);
    assert_eq!(bench.error("subscriptions/listen", json!({})), -32601);
    assert_eq!(bench.error("tools/call", json!({"name": "absent"})), -32602);
    assert_eq!(bench.error("tools/call", json!({})), -32602);
}

#[test]
fn answers_only_pings_and_probes_before_the_handshake() {
    let mut bench = Bench::new(json!({}), LEGACY);
    assert_eq!(bench.error("tools/list", json!({})), -32600);
    assert_eq!(bench.error("server/discover", json!({})), -32601);
    assert_eq!(bench.result("ping", json!({})), json!({}));
}

#[test]
fn refuses_what_is_no_json_rpc() {
    for (revision, message, expected) in [
        (LEGACY, json!({"jsonrpc": "1.0", "id": 1, "method": "ping"}), json!(1)),
        (LEGACY, json!({"jsonrpc": "2.0", "id": null, "method": "ping"}), json!(null)),
        (LEGACY, json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]), json!(null)),
        (LEGACY, json!("ping"), json!(null)),
    ] {
        let (_, steps) = Bench::new(json!({}), revision).send(&message);
        let answer = final_answer(&steps).unwrap();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32600), &expected), "{message}");
    }
    // An id that could not be read is null in JSON-RPC 2.0, and absent from 2025-11-25 on.
    for (revision, present) in [("2025-06-18", true), (LEGACY, false), (MODERN, false)] {
        let outputs = Bench::new(json!({}), revision).engine.on_garbage().outputs;
        let steps: Vec<_> = outputs.into_iter().map(|output| output.step).collect();
        let answer = final_answer(&steps).unwrap();
        assert_eq!(answer["error"]["code"], -32700);
        assert_eq!(answer.get("id").is_some(), present, "{revision}");
    }
}

#[test]
fn swallows_notifications_and_stray_responses() {
    let mut bench = Bench::legacy(json!({}));
    for message in [
        notification("notifications/initialized", json!({})),
        notification("notifications/roots/list_changed", json!({})),
        notification("no/such", json!({})),
        json!({"jsonrpc": "2.0", "id": 99, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 99, "error": {"code": 1, "message": ""}}),
    ] {
        assert_eq!(bench.send(&message).1, [Step::End], "{message}");
    }
}

#[test]
fn completes_modern_results() {
    let mut bench = Bench::modern(json!({"tools": [{"name": "echo"}], "ttl": "3s"}));
    let info = json!({"io.modelcontextprotocol/serverInfo": {
        "name": "mcp-workbench-mock", "version": env!("CARGO_PKG_VERSION"),
    }});
    let discovered = bench.result("server/discover", json!({}));
    assert_eq!(discovered["supportedVersions"], json!([MODERN]));
    assert_eq!(discovered["ttlMs"], 3000);
    assert_eq!(discovered["cacheScope"], "public");
    let listed = bench.result("tools/list", json!({}));
    let tool_result = bench.result("tools/call", json!({"name": "echo"}));
    assert_eq!(listed["ttlMs"], 3000);
    assert!(tool_result.get("ttlMs").is_none(), "calls are not cacheable");
    for result in [discovered, listed, tool_result] {
        assert_eq!((&result["resultType"], &result["_meta"]), (&json!("complete"), &info));
    }
}

#[test]
fn checks_the_metadata_of_modern_requests() {
    let good = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    for (name, value, code, status) in [
        ("io.modelcontextprotocol/protocolVersion", json!(null), -32602, 400),
        ("io.modelcontextprotocol/protocolVersion", json!("1900-01-01"), -32022, 400),
        ("io.modelcontextprotocol/protocolVersion", json!("2027-01-01"), -32022, 400),
        ("io.modelcontextprotocol/clientCapabilities", json!(null), -32602, 400),
        ("io.modelcontextprotocol/clientCapabilities", json!([]), -32602, 400),
        ("io.modelcontextprotocol/logLevel", json!("loud"), -32602, 400),
    ] {
        let mut meta = good.clone();
        meta[name] = value;
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}});
        let (_, steps) = Bench::modern(json!({})).send(&message);
        let Step::Response { message, status: given } = &steps[0] else { panic!("an answer") };
        assert_eq!((message["error"]["code"].as_i64(), *given), (Some(code), status), "{name}");
    }
}

#[test]
fn a_modern_server_names_its_revisions_to_a_legacy_client() {
    let (_, steps) = Bench::modern(json!({})).send(&json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": LEGACY},
    }));
    let error = final_answer(&steps).unwrap()["error"].clone();
    assert_eq!(error["data"], json!({"supported": [MODERN], "requested": LEGACY}));
    assert!(error["message"].as_str().unwrap().contains(MODERN));
}

#[test]
fn modern_servers_have_no_ping() {
    let mut bench = Bench::modern(json!({}));
    let (_, steps) = bench.ask("ping", json!({}));
    assert!(matches!(&steps[0], Step::Response { status: 404, message } if message["error"]["code"] == -32601));
}

#[test]
fn a_dual_era_server_follows_how_the_client_opens() {
    let mut bench = Bench::new(json!({"revisions": [LEGACY, MODERN], "tools": [{"name": "echo"}]}), MODERN);
    let modern = bench.result("tools/call", json!({"name": "echo"}));
    assert_eq!(modern["resultType"], "complete");
    let discovered = bench.result("server/discover", json!({}));
    assert_eq!(discovered["supportedVersions"], json!([MODERN, LEGACY]));
    bench.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": LEGACY}}));
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "echo"}});
    let legacy = final_answer(&bench.send(&call).1).unwrap();
    assert!(legacy["result"].get("resultType").is_none());
}

#[test]
fn a_modern_client_finds_none_of_the_methods_that_were_removed() {
    let mut bench =
        Bench::new(json!({"revisions": [LEGACY, MODERN], "capabilities": {"logging": {}, "resources": {}}}), MODERN);
    for method in ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "no/such"]
    {
        let (_, steps) = bench.ask(method, json!({"level": "info", "uri": "x", "protocolVersion": LEGACY}));
        assert!(
            matches!(&steps[0], Step::Response { status: 404, message } if message["error"]["code"] == -32601),
            "{method}"
        );
    }
}

#[test]
fn a_modern_envelope_selects_the_era_of_a_message_without_metadata() {
    let mut bench = Bench::new(json!({"revisions": [LEGACY, MODERN]}), MODERN);
    let origin = Origin { era: Some(crate::engine::Era::Modern), ..Origin::default() };
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let outputs = bench.engine.on_message(&origin, &message).outputs;
    let Step::Response { message, status } = &outputs[0].step else { panic!("an answer") };
    assert_eq!((message["error"]["code"].as_i64(), *status), (Some(-32602), 400));
}

#[test]
fn caching_hints_are_those_of_the_method_before_those_for_all() {
    let cache =
        json!({"all": {"ttl": "5m", "scope": "private"}, "methods": {"tools/list": {"ttl": "0s", "scope": "public"}}});
    let mut bench = Bench::modern(json!({"ttl": "1s", "cache": cache, "capabilities": {"tools": {}, "prompts": {}}}));
    for (method, ttl, scope) in [("prompts/list", 300_000, "private"), ("tools/list", 0, "public")] {
        let result = bench.result(method, json!({}));
        assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(ttl), &json!(scope)), "{method}");
    }
}
