//! Correct servers that work differently, and what SDKs do to their servers.

use super::*;

/// The observation of a check that passes.
fn passes(id: &str, talk: &Talk) -> String {
    match outcome_of(id, talk) {
        CheckOutcome::Passed { observed, .. } => observed,
        other => panic!("{id}: {other:?}"),
    }
}

fn error(code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": code, "message": message } })
}

const ISSUES: &str = r#"[{ "code": "invalid_type", "path": ["params", "name"], "message": "required" }]"#;

#[test]
fn codes_that_an_sdk_chose_are_named_instead_of_warned() {
    let malformed = |answer: Value| {
        stdio()
            .knows(&[], json!({ "tools": {} }))
            .ask(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call" }))
            .says(answer)
    };
    assert!(passes("malformed-params-code", &malformed(error(-32603, ISSUES))).contains("TypeScript"));
    assert!(passes("malformed-params-code", &malformed(error(0, "no"))).contains("Python"));
    assert!(fails("malformed-params-code", &malformed(error(-32603, "[]"))));
    let prompt = json!({ "jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": { "name": UNKNOWN.prompt } });
    assert!(
        passes("unknown-prompt-code", &stdio().ask(prompt.clone()).says(error(0, "no"))).contains("rejected with 0")
    );
    assert!(fails("unknown-prompt-code", &stdio().ask(prompt).says(error(-32603, "no"))));
    let method = || stdio().ask(call(UNKNOWN.method.as_deref().unwrap_or_default()));
    let observed = passes("unknown-method-code", &method().says(error(-32602, "Invalid request parameters")));
    assert!(observed.contains("Python"), "{observed}");
    let prompts = json!({ "prompts": [{ "name": "a", "arguments": [{ "name": "b", "required": true }] }] });
    let without = json!({ "jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": { "name": "a" } });
    let talk = stdio().result("prompts/list", json!({}), prompts).ask(without);
    let observed = passes("missing-prompt-argument-code", &talk.says(error(-32603, "Error rendering prompt 'a': no")));
    assert!(observed.contains("FastMCP"), "{observed}");
    let tools = json!([{ "name": "a", "inputSchema": { "type": "object", "required": ["b"] } }]);
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "a", "arguments": {} } });
    let refused = |message: &str| super::tools(tools.clone()).ask(call.clone()).says(error(-32602, message));
    let id = "invalid-arguments-are-tool-errors";
    assert!(passes(id, &refused("failed to deserialize parameters: missing field `b`")).contains("rmcp"));
    assert!(fails(id, &refused("missing field `b`")));
    // An array is no object, so the request is malformed.
    let mut malformed = call.clone();
    malformed["params"]["arguments"] = json!([1]);
    assert!(!fails(id, &super::tools(tools.clone()).ask(malformed).says(error(-32602, "no"))));
}

#[test]
fn a_must_has_no_exception_for_sdks() {
    let resource = json!({ "uri": UNKNOWN.resource });
    let read = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": resource });
    assert!(fails("unknown-resource-is-refused", &modern().ask(read).says(error(0, "no"))));
}

#[test]
fn the_placeholder_id_of_the_python_sdk_is_named() {
    let refused = || {
        let error = json!({ "jsonrpc": "2.0", "id": "server-error", "error": { "code": -32600, "message": "no" } });
        http().ask(call("ping")).says_with(400, error)
    };
    assert!(passes("response-has-the-id-of-a-request", &refused()).contains("Python SDK"));
    let twice =
        refused().ask(call("ping")).says_with(400, json!({ "jsonrpc": "2.0", "id": "server-error", "error": {} }));
    assert!(!fails("request-answered-once", &twice));
    let result = json!({ "jsonrpc": "2.0", "id": "server-error", "result": {} });
    assert!(fails("response-has-the-id-of-a-request", &http().ask(call("ping")).says_with(200, result)));
}

#[test]
fn batches_that_an_sdk_removed_are_not_judged() {
    let newer = || Talk::new(Transport::Stdio, Revision::V2025_03_26).knows(&[Revision::V2025_11_25], json!({}));
    let asked = || newer().ask(json!([{ "jsonrpc": "2.0", "id": 1, "method": "ping" }, call("ping")]));
    let refused =
        |message: &str| asked().says(json!({ "jsonrpc": "2.0", "error": { "code": -32600, "message": message } }));
    assert!(passes("batch-is-answered", &asked()).contains("SDKs"));
    assert!(passes("batch-is-answered", &refused("Invalid request")).contains("SDKs"), "rmcp");
    assert!(passes("batch-is-answered", &refused("Validation error: 4 validation errors")).contains("SDKs"), "Python");
    assert!(fails("batch-is-answered", &refused("no batches")));
    let result = |id: u8| json!({ "jsonrpc": "2.0", "id": id, "result": {} });
    let two = || newer().ask(json!([call("ping"), { "jsonrpc": "2.0", "id": 2, "method": "ping" }])).says(result(1));
    assert!(fails("batch-is-answered", &two()), "one response is missing");
    assert!(!fails("batch-is-answered", &two().says(result(2))));
    assert!(fails("batch-is-answered", &two().says(result(2)).says(json!([]))));
    let posted = |transport: Transport, code: u16| {
        let newer = Talk::new(transport, Revision::V2025_03_26).knows(&[Revision::V2025_11_25], json!({}));
        newer.post(&[], json!([call("ping")])).replies(code, "application/json")
    };
    assert!(fails("batch-is-answered", &posted(Transport::StreamableHttp, 202)));
    assert!(!fails("batch-is-answered", &posted(Transport::StreamableHttp, 400)));
    assert!(!fails("batch-is-answered", &posted(Transport::HttpSse, 202)));
}

#[test]
fn json_of_many_levels_is_not_broken() {
    let post = |text: String, code: u16| {
        let http = http().frame(Direction::ClientToServer, Body::Text(text), Some(envelope("POST", &[])));
        http.says_with(code, json!({ "jsonrpc": "2.0", "id": 1, "result": {} }))
    };
    let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
    assert!(!fails("http-broken-json-is-4xx", &post(deep, 200)));
    assert!(fails("http-broken-json-is-4xx", &post("[".to_owned(), 200)));
}

#[test]
fn a_post_over_sse_may_be_rejected() {
    let ask = |code: u16| {
        let talk = Talk::new(Transport::HttpSse, Revision::V2024_11_05);
        let mut talk = talk.post(&[], call("ping")).replies(code, "text/html");
        talk.0.elapsed_us = 20_000_000;
        talk
    };
    assert!(!fails("requests-are-answered", &ask(413)));
    assert!(fails("requests-are-answered", &ask(202)));
}

#[test]
fn a_malformed_request_may_be_taken_for_a_notification() {
    let odd = json!({ "jsonrpc": "2.0", "id": null, "method": "ping" });
    assert!(!fails("http-json-body-is-one-object", &http().ask(odd).replies(202, "application/json")));
    assert!(fails("http-json-body-is-one-object", &http().ask(call("ping")).replies(200, "application/json")));
}

#[test]
fn a_request_without_a_method_may_count_as_unknown_but_not_as_a_failure_of_the_server() {
    let refused = |code: i64| {
        let refused = json!({ "jsonrpc": "2.0", "id": "odd", "error": { "code": code, "message": "no" } });
        stdio().ask(json!({ "jsonrpc": "2.0", "id": "odd" })).says(refused)
    };
    for (code, is_broken) in [(-32600, false), (-32601, false), (-32603, true), (-32000, true)] {
        assert_eq!(fails("invalid-request-code", &refused(code)), is_broken, "{code}");
    }
}

#[test]
fn the_code_for_an_unexpected_response_is_free() {
    let refused = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32000, "message": "no" } });
    let response = json!({ "jsonrpc": "2.0", "id": "never-asked", "result": {} });
    let talk = || http().ask(json!({})).says_with(400, json!({}));
    assert!(!fails("invalid-request-code", &talk().ask(response).says_with(400, refused.clone())));
    assert!(fails("invalid-request-code", &talk().ask(json!({ "jsonrpc": "2.0" })).says_with(400, refused)));
}

#[test]
fn a_response_after_a_cancellation_needs_a_session_and_a_stream() {
    let cancelled = |headers: &[(&str, &str)], kind: &str| {
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
        let talk =
            http().post(headers, json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call" })).post(headers, cancel);
        let mut talk = talk.post(headers, json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" }));
        talk = talk.says(json!({ "jsonrpc": "2.0", "id": 2, "result": {} }));
        talk = talk.says(json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
        if let Some(last) = talk.0.frames.last_mut() {
            last.at_us += 2_000_000;
            last.http = Some(status(200, kind).into());
        }
        talk
    };
    let (id, session) = ("no-response-after-cancellation", &[("mcp-session-id", "a")]);
    assert!(matches!(outcome_of(id, &cancelled(&[], "text/event-stream")), CheckOutcome::NotApplicable(_)));
    assert!(fails(id, &cancelled(session, "text/event-stream")));
    assert!(!fails(id, &cancelled(session, "application/json")), "a POST without a stream must have a response");
}

#[test]
fn a_server_without_changes_may_reject_subscriptions() {
    let refused = json!({ "jsonrpc": "2.0", "id": 5, "error": { "code": -32603, "message": "limit reached" } });
    let rejecting = |changes: bool| {
        let declared = json!({ "tools": { "listChanged": changes } });
        listen(modern().knows(&[Revision::V2026_07_28], declared)).says(refused.clone())
    };
    assert!(!fails("subscription-is-acknowledged", &rejecting(false)));
    assert!(fails("subscription-is-acknowledged", &rejecting(true)));
}

#[test]
fn no_header_can_mirror_a_malformed_name() {
    let headers = [("mcp-method", "tools/call"), ("mcp-protocol-version", "2026-07-28")];
    let mut params = meta();
    params["name"] = json!(5);
    let malformed = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let talk = modern_http().post(&headers, malformed).says_with(400, refusal(-32020, json!({})));
    assert!(!fails("http-matching-headers-are-accepted", &talk));
}

#[test]
fn a_tool_may_fail_for_another_reason_than_its_arguments() {
    let failing = |params: Value, talk: Talk| talk.error("tools/call", params, -32603);
    let listed = || tools(json!([{ "name": "a", "inputSchema": { "type": "object" } }]));
    let without = failing(json!({ "name": "a" }), listed());
    assert!(fails("calls-need-no-arguments", &without));
    assert!(!fails("calls-need-no-arguments", &failing(json!({ "name": "a", "arguments": {} }), without)));
    let typed = json!([{ "name": "a", "inputSchema": { "type": "object", "required": ["b"] } }]);
    let open = tools(typed)
        .ask(json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": "a", "arguments": {} } }));
    assert!(!fails("invalid-arguments-are-rejected", &open), "another check judges missing responses");
}

#[test]
fn a_stream_may_end_late_on_a_busy_machine_or_by_the_client() {
    let events = |end: ConnectionEvent, after_us: u64| {
        let mut talk = http().ask(call("ping"));
        let message = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
        talk = talk.frame(Direction::ServerToClient, Body::json(message), Some(status(200, "text/event-stream")));
        let direction = match end {
            ConnectionEvent::ClosedByPeer => Direction::ClientToServer,
            _ => Direction::ServerToClient,
        };
        talk = talk.frame(direction, Body::Event(end), None);
        if let Some(last) = talk.0.frames.last_mut() {
            last.at_us += after_us;
        }
        talk.0.elapsed_us = 20_000_000;
        talk
    };
    let id = "response-ends-the-stream";
    assert!(!fails(id, &events(ConnectionEvent::ClosedByPeer, 10)));
    assert!(!fails(id, &events(ConnectionEvent::ClosedByServer, 1_500_000)));
    assert!(fails(id, &events(ConnectionEvent::ClosedByPeer, 1_500_000)));
}

#[test]
fn a_text_that_only_reports_a_failure_needs_is_error() {
    let answered = |result: Value| {
        let call =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "a", "arguments": {} } });
        let talk = super::tools(json!([{ "name": "a", "inputSchema": { "type": "object" } }]));
        talk.ask(call).says(json!({ "jsonrpc": "2.0", "id": 1, "result": result }))
    };
    let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
    let id = "tool-failures-are-results";
    for failure in ["Error: no such order", "❌ Failed to open the file", "Traceback (most recent call last):\n…"] {
        assert!(fails(id, &answered(text(failure))), "{failure}");
        let marked = json!({ "content": [{ "type": "text", "text": failure }], "isError": true });
        passes(id, &answered(marked));
    }
    let document = format!("Error: {}", "a chapter about errors. ".repeat(40));
    for result in ["Error boundaries in React", "errors: 0", document.as_str()] {
        passes(id, &answered(text(result)));
    }
}
