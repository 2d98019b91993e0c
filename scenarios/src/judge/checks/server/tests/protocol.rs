//! Checks of the order of messages, of negotiation, of robustness and of security.

use super::*;

const LONG_US: u64 = 20_000_000;

fn lasting(mut talk: Talk) -> Talk {
    talk.0.elapsed_us = LONG_US;
    talk
}

fn first_lines() -> Talk {
    let mut talk = Talk::new(Transport::Stdio, Revision::V2025_03_26);
    talk.0.steps.clear();
    talk
}

fn batch(revisions: &[Revision], answered: bool) -> Talk {
    let batch = json!([call("ping"), { "jsonrpc": "2.0", "id": 2, "method": "ping" }]);
    let talk = first_lines().knows(revisions, json!({})).ask(batch);
    let talk = talk.says(json!([{ "jsonrpc": "2.0", "id": 1, "result": {} }]));
    if answered { talk.says(json!({ "jsonrpc": "2.0", "id": 2, "result": {} })) } else { talk }
}

fn declaring(capabilities: Value) -> Talk {
    stdio().knows(&[Revision::V2025_11_25], capabilities)
}

fn hello(talk: Talk, revision: &str) -> Talk {
    talk.result("initialize", json!({ "protocolVersion": revision }), greeting())
}

fn note(method: &str) -> Value {
    json!({ "jsonrpc": "2.0", "method": method })
}

fn described(text: &str) -> Talk {
    tools(json!([{ "name": "a", "description": text }]))
}

fn passwd(contents: &str) -> Talk {
    let contents = json!({ "contents": [{ "uri": "file:///x", "text": contents }] });
    stdio().result("resources/read", json!({ "uri": "file:///../../etc/passwd" }), contents)
}

pub(super) fn table() -> Vec<Row> {
    let roots = |id: Value| json!({ "jsonrpc": "2.0", "id": id, "method": "roots/list" });
    let old = [Revision::V2025_03_26];
    let initialized = || note("notifications/initialized");
    let unknown = UNKNOWN.revision.as_deref().unwrap_or_default();
    let error = |message: &str| {
        let error = json!({ "code": -32603, "message": message });
        stdio().ask(call("ping")).says(json!({ "jsonrpc": "2.0", "id": 1, "error": error }))
    };
    vec![
        (
            "requests-are-answered",
            lasting(stdio().ask(call("ping")).says(note("x"))),
            stdio().result("ping", json!({}), json!({})),
        ),
        (
            "server-request-ids",
            stdio().says(roots(json!(1))).says(roots(json!(1))),
            stdio().says(roots(json!(1))).says(roots(json!("1"))),
        ),
        (
            "notification-has-no-id",
            stdio().says(json!({ "jsonrpc": "2.0", "id": 1, "method": "notifications/message" })),
            stdio().says(note("notifications/message")),
        ),
        (
            "messages-are-single",
            stdio().says(json!([note("notifications/message")])),
            stdio().says(note("notifications/message")),
        ),
        ("batch-is-answered", batch(&old, false), batch(&old, true)),
        (
            "malformed-params-are-refused",
            declaring(json!({ "tools": {} })).result("tools/call", json!({}), json!({ "content": [] })),
            declaring(json!({ "tools": {} })).result(
                "tools/call",
                json!({ "name": 5 }),
                json!({ "content": [], "isError": true }),
            ),
        ),
        (
            "malformed-params-code",
            declaring(json!({ "resources": {} })).error("resources/read", json!({ "uri": 5 }), -32603),
            declaring(json!({ "resources": {} })).error("resources/read", json!({}), -32602),
        ),
        (
            "unknown-revision-gets-another",
            stdio().error("initialize", json!({ "protocolVersion": unknown }), -32602),
            hello(stdio(), unknown),
        ),
        (
            "ping-during-initialization",
            stdio().ask(call("ping")).ask(initialized()),
            stdio().result("ping", json!({}), json!({})).ask(initialized()),
        ),
        (
            "initialization-comes-first",
            hello(stdio().says(note("notifications/tools/list_changed")), "2025-11-25"),
            hello(stdio().says(note("notifications/message")), "2025-11-25"),
        ),
        (
            "survives-second-initialize",
            hello(hello(stdio(), "2025-11-25"), "2025-11-25").ask(call("ping")),
            hello(hello(stdio(), "2025-11-25"), "2025-11-25").result("ping", json!({}), json!({})),
        ),
        (
            "declared-lists-exist",
            declaring(json!({ "prompts": {} })).error("prompts/list", json!({}), -32601),
            declaring(json!({ "prompts": {} })).result("prompts/list", json!({}), json!({ "prompts": [] })),
        ),
        (
            "declared-methods-exist",
            declaring(json!({ "logging": {} })).error("logging/setLevel", json!({ "level": "info" }), -32601),
            declaring(json!({ "logging": {} })).result("logging/setLevel", json!({ "level": "info" }), json!({})),
        ),
        (
            "http-listens-at-loopback-only",
            stdio().step(json!({ "address": "127.0.0.2:80", "connected": true })),
            stdio().step(json!({ "address": "127.0.0.2:80", "connected": false })),
        ),
        (
            "latency-does-not-grow",
            stdio().step(json!({ "count": 500, "first_us": 2_000, "last_us": 200_000 })),
            stdio().step(json!({ "count": 500, "first_us": 2_000, "last_us": 9_000 })),
        ),
        (
            "memory-does-not-grow",
            stdio().step(json!({ "count": 500, "first_kb": 50_000, "last_kb": 150_000 })),
            stdio().step(json!({ "count": 500, "first_kb": 50_000, "last_kb": 90_000 })),
        ),
        (
            "unknown-methods-are-refused",
            stdio().result("TOOLS/LIST", json!({}), json!({ "tools": [] })),
            stdio().error("TOOLS/LIST", json!({}), -32601),
        ),
        (
            "invalid-request-code",
            stdio()
                .ask(json!({}))
                .says(json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32603, "message": "no" } })),
            stdio().ask(json!({})).says(json!({ "jsonrpc": "2.0", "error": { "code": -32600, "message": "no" } })),
        ),
        (
            "survives-odd-messages",
            stdio().ask(json!({})).ask(call("ping")),
            stdio().ask(json!({})).result("ping", json!({}), json!({})),
        ),
        ("errors-have-no-stack-trace", error("no\n    at f (server.js:1:2)"), error("no such file /a/b")),
        (
            "descriptions-have-no-hidden-characters",
            described("add\u{e0041}\u{e0042}"),
            described("flag \u{1f3f4}\u{e0067}\u{e007f}"),
        ),
        ("resources-stay-in-their-directory", passwd("root:x:0:0:root"), passwd("no")),
        (
            "exits-on-sigterm",
            stdio()
                .frame(Direction::ClientToServer, Body::Event(ConnectionEvent::Sigterm), None)
                .step(json!({ "exited": false, "elapsed_ms": 4000 })),
            stdio()
                .frame(Direction::ClientToServer, Body::Event(ConnectionEvent::Sigterm), None)
                .step(json!({ "exited": true, "elapsed_ms": 4 })),
        ),
    ]
}

#[test]
fn an_error_without_an_id_is_no_response_to_a_readable_request() {
    let nameless = json!({ "jsonrpc": "2.0", "error": { "code": -32700, "message": "Parse error" } });
    let id = "requests-are-answered";
    let talk = || stdio().ask(call("ping"));
    assert!(fails(id, &talk().says(nameless.clone())));
    // It is for a later message, or for one that is too large.
    assert!(!fails(id, &talk().ask(json!({})).says(nameless.clone())));
    let mut large = call("ping");
    large["params"] = json!({ "text": "x".repeat(5_000) });
    assert!(!fails(id, &stdio().ask(large).says(nameless)));
}

#[test]
fn a_ping_is_not_rejected_for_the_number_that_is_its_id() {
    let id = "requests-are-answered";
    let ping = |id: i64| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
    let result = |id: i64| json!({ "jsonrpc": "2.0", "id": id, "result": {} });
    let refused = |id: i64| json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32600, "message": "no" } });
    let talk = |first: Value| stdio().ask(ping(5)).says(first).ask(ping(-7)).says(refused(-7));
    assert!(fails(id, &talk(result(5))));
    assert!(!fails(id, &talk(refused(5))), "no ping has a result");
    assert!(
        !fails(id, &stdio().ask(ping(-7)).says(refused(-7)).ask(ping(5)).says(result(5))),
        "the session had not begun"
    );
}

#[test]
fn the_request_after_which_the_server_is_silent_is_named() {
    let large = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": "x".repeat(5_000) } });
    let named = |talk: Talk| {
        let CheckOutcome::Failed { observed, .. } = outcome_of("requests-are-answered", &talk) else {
            panic!("passes")
        };
        let bytes = format!("({} bytes)", large.to_string().len());
        observed.starts_with(r#"the server sent nothing after {"jsonrpc":"2.0","id":7"#) && observed.contains(&bytes)
    };
    let silent = || {
        let mut talk = stdio().ask(large.clone()).ask(call("ping"));
        talk.0.elapsed_us = 10_000_000;
        talk
    };
    assert!(named(silent()));
    assert!(!named(silent().says(json!({ "jsonrpc": "2.0", "method": "notifications/message" }))));
    assert!(!named(lasting(silent())), "the call itself is reported");
}

#[test]
fn a_missing_response_has_excuses() {
    let id = "requests-are-answered";
    let open = || stdio().ask(call("ping"));
    assert!(fails(id, &lasting(open())));
    assert!(!fails(id, &open()), "the case ended at once");
    assert!(!fails(id, &lasting(open().close())), "the workbench closed the input at once");
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    assert!(!fails(id, &lasting(open().ask(cancel.clone()))), "it was cancelled");
    assert!(!fails(id, &lasting(stdio().ask(json!({})).ask(call("ping")))), "a malformed message precedes it");
    let ended = open().frame(Direction::ServerToClient, Body::Event(ConnectionEvent::ClosedByServer), None);
    assert!(fails(id, &ended), "the server closed the connection");
    let mut slow = stdio().ask(call("tools/call"));
    slow.0.elapsed_us = 10_000_000;
    assert!(!fails(id, &slow), "a tool can be slow");
    assert!(fails(id, &lasting(stdio().ask(call("tools/call")))));
    let named = |name: &str| json!({ "name": name });
    let after_a_slow_call = |earlier: Option<serde_json::Value>, elapsed_us: u64| {
        let mut talk = stdio().result("tools/call", named("slow"), json!({ "content": [] }));
        talk.0.frames.last_mut().expect("a response").at_us += 3_000_000;
        if let Some(earlier) = earlier {
            talk = talk.result("tools/call", named("other"), earlier);
        }
        let asked = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": named("other") });
        let mut talk = talk.ask(asked);
        talk.0.elapsed_us = elapsed_us;
        talk
    };
    assert!(!fails(id, &after_a_slow_call(None, 50_000_000)), "the tools of the server are slow");
    assert!(fails(id, &after_a_slow_call(None, 70_000_000)));
    let rejected = json!({ "content": [], "isError": true });
    assert!(
        !fails(id, &after_a_slow_call(Some(rejected), 50_000_000)),
        "rejecting arguments is faster than using them"
    );
    assert!(fails(id, &after_a_slow_call(Some(json!({ "content": [] })), 16_000_000)), "this tool is fast");
    let closed_by_server =
        |talk: Talk| talk.frame(Direction::ServerToClient, Body::Event(ConnectionEvent::ClosedByServer), None);
    let response = |id: u64| json!({ "jsonrpc": "2.0", "id": id, "result": {} });
    let ping = |id: u64| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
    let cancelled = |talk: Talk| talk.ask(call("tools/call")).ask(cancel.clone());
    let crossed = cancelled(stdio()).says(response(1)).ask(ping(2));
    assert!(
        !fails(id, &closed_by_server(crossed)),
        "the response crossed its cancellation, which some servers do not survive"
    );
    assert!(fails(id, &closed_by_server(cancelled(stdio()).ask(ping(2)))), "no response crossed it");
    let survived = cancelled(stdio()).says(response(1)).ask(ping(2)).says(response(2));
    assert!(fails(id, &closed_by_server(survived.ask(ping(3)))), "the server survived it");
    assert!(!fails(id, &lasting(http().ask(call("ping")).replies(400, ""))), "HTTP has an error of its own");
    assert!(fails(id, &lasting(http().ask(call("ping")).replies(500, ""))));
}

#[test]
fn what_a_server_refused_at_once_it_also_refuses_soon_with_other_values() {
    let id = "requests-are-answered";
    let open = |talk: Talk, method: &str, params: serde_json::Value| {
        let mut talk = talk.ask(json!({ "jsonrpc": "2.0", "id": 70, "method": method, "params": params }));
        talk.0.elapsed_us += 4_000_000;
        talk
    };
    let uri = |uri: &str| json!({ "uri": uri });
    let refused = || stdio().error("resources/read", uri("workbench-test://a"), -32002);
    assert!(fails(id, &open(refused(), "resources/read", uri("workbench-test://a%20b"))));
    assert!(!fails(id, &open(refused(), "resources/read", uri("https://example.com"))), "it may be far away");
    let completed = || stdio().result("completion/complete", json!({}), json!({ "completion": { "values": [] } }));
    assert!(fails(id, &open(completed(), "completion/complete", json!({ "ref": {} }))));
    assert!(!fails(id, &open(stdio(), "completion/complete", json!({ "ref": {} }))), "a completion can be slow");
}

#[test]
fn declared_capabilities_of_the_client_permit_requests() {
    let id = "server-asks-only-what-was-declared";
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": { "roots": {} } });
    let talk = || stdio().result("initialize", params.clone(), greeting());
    assert!(!fails(id, &talk().says(json!({ "jsonrpc": "2.0", "id": 9, "method": "roots/list" }))));
    assert!(fails(id, &talk().says(json!({ "jsonrpc": "2.0", "id": 9, "method": "sampling/createMessage" }))));
}

#[test]
fn the_client_of_another_session_declares_its_own_capabilities() {
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {} });
    let in_session = |session: &str| {
        let asked =
            http().result("initialize", params.clone(), greeting()).bodiless("GET", &[("mcp-session-id", session)]);
        asked.says_with(200, json!({ "jsonrpc": "2.0", "id": 9, "method": "roots/list" }))
    };
    assert!(fails("server-asks-only-what-was-declared", &in_session("[session]")));
    assert!(!fails("server-asks-only-what-was-declared", &in_session("[session 2]")));
}

#[test]
fn a_cursor_of_another_type_may_have_any_error() {
    let with = |cursor: Value| json!({ "cursor": cursor });
    let pages = || stdio().result("tools/list", json!({}), json!({ "tools": [], "nextCursor": "2" }));
    let id = "invalid-cursor-is-refused";
    assert!(fails(id, &pages().result("tools/list", with(json!(5)), json!({ "tools": [] }))));
    assert!(!fails(id, &pages().error("tools/list", with(json!(5)), -32603)));
    assert!(!fails(id, &pages().result("tools/list", with(json!("2")), json!({ "tools": [] }))));
}

#[test]
fn every_cursor_that_no_page_returned_is_refused() {
    let id = "invalid-cursor-is-refused";
    let asked = |next: &str, cursor: &str| {
        let page = json!({ "tools": [], "nextCursor": next });
        stdio().result("tools/list", json!({}), page).result(
            "tools/list",
            json!({ "cursor": cursor }),
            json!({ "tools": [] }),
        )
    };
    assert!(fails(id, &asked("2", "")));
    assert!(fails(id, &asked("2", "2-workbench")));
    assert!(!fails(id, &asked("", "")));
}

#[test]
fn a_missing_file_beside_others_is_an_unknown_resource() {
    let missing = |code| modern().error("resources/read", json!({ "uri": "file:///a/workbench-no-such-file" }), code);
    assert!(fails("unknown-resource-is-refused", &missing(-32603)));
    let read = |talk: Talk| talk.error("resources/read", json!({ "uri": UNKNOWN.resource }), -32602);
    assert!(!fails("unknown-resource-is-refused", &read(missing(-32602))));
    // A template may generate contents for any name.
    let generated = json!({ "contents": [{ "uri": "file:///a/workbench-no-such-file", "text": "x" }] });
    let talk = modern().result("resources/read", json!({ "uri": "file:///a/workbench-no-such-file" }), generated);
    assert!(!fails("unknown-resource-is-refused", &read(talk)));
}

#[test]
fn a_resource_is_not_found_by_the_beginning_of_its_uri_or_the_second_time() {
    let read = |talk: Talk, uri: &str, text: &str| {
        let contents = json!({ "contents": [{ "uri": uri, "text": text }] });
        talk.result("resources/read", json!({ "uri": uri }), contents)
    };
    let longer = |text: &str| {
        let talk = modern().error("resources/read", json!({ "uri": UNKNOWN.resource }), -32602);
        read(read(talk, "a://b", "known"), "a://b-workbench-no-such-end", text)
    };
    assert!(fails("unknown-resource-is-refused", &longer("known")));
    assert!(!fails("unknown-resource-is-refused", &longer("of another")));
    let templates = json!({ "resourceTemplates": [{ "name": "t", "uriTemplate": "a://{name}" }] });
    let generated = longer("known").result("resources/templates/list", json!({}), templates);
    assert!(!fails("unknown-resource-is-refused", &generated));
    let unknown = || modern().error("resources/read", json!({ "uri": UNKNOWN.resource }), -32602);
    let again = unknown().result("resources/read", json!({ "uri": UNKNOWN.resource }), json!({ "contents": [] }));
    assert!(fails("unknown-resource-is-refused", &again));
}

#[test]
fn responses_to_malformed_messages_answer_no_notification() {
    let refusal = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32600, "message": "no" } });
    let talk = stdio().ask(note("notifications/initialized")).ask(json!({})).says(refusal);
    assert!(!fails("no-response-to-notification", &talk));
}

#[test]
fn the_responses_to_a_batch_have_its_ids() {
    let talk = batch(&[Revision::V2025_03_26], true);
    assert!(!fails("response-has-the-id-of-a-request", &talk));
    assert!(!fails("request-answered-once", &talk));
}

#[test]
fn logs_after_malformed_input_need_no_capability() {
    let talk = declaring(json!({})).text(Direction::ClientToServer, "{").says(note("notifications/message"));
    assert!(!fails("logging-is-declared", &talk));
}

#[test]
fn a_launcher_that_gets_the_signal_leaves_its_server() {
    let left = ObservedProcess { pid: 2, parent: 1, command: "node".to_owned(), server: true, first_us: 0, last_us: 9 };
    let process = || ProcessEvidence { left: vec![left.clone()], ..ProcessEvidence::default() };
    let sigterm = Body::Event(ConnectionEvent::Sigterm);
    let talk = stdio().frame(Direction::ClientToServer, sigterm, None).process(process());
    assert!(!fails("server-leaves-no-process", &talk));
    assert!(fails("server-leaves-no-process", &stdio().process(process())));
}

#[test]
fn the_text_after_which_no_response_comes_is_named() {
    let talk = stdio()
        .text(Direction::ClientToServer, "{")
        .result("ping", json!({}), json!({}))
        .text(Direction::ClientToServer, "fatal")
        .ask(call("ping"));
    let CheckOutcome::Failed { observed, .. } = outcome_of("survives-broken-json", &talk) else { panic!("it fails") };
    assert!(observed.contains("fatal"), "{observed}");
}

#[test]
fn a_text_of_other_bytes_than_utf8_is_named_too() {
    let bytes =
        json!({ "jsonrpc": "2.0", "id": "utf8", "method": "ping", "params": { "_meta": { "text": "\u{fffd}(" } } });
    let talk = stdio().ask(bytes).ask(call("ping")).text(Direction::ClientToServer, "later").ask(call("ping"));
    let CheckOutcome::Failed { observed, .. } = outcome_of("survives-broken-json", &talk) else { panic!("it fails") };
    assert!(observed.contains("utf8"), "{observed}");
}

#[test]
fn a_method_that_had_a_result_exists_whatever_the_error_to_a_malformed_request_is() {
    let listed = || declaring(json!({ "tools": {} })).result("tools/list", json!({}), json!({ "tools": [] }));
    assert!(!fails("declared-lists-exist", &listed().error("tools/list", json!({ "cursor": "x" }), -32601)));
}

#[test]
fn parameters_of_undeclared_features_and_log_levels_are_no_must() {
    let accepted = |capabilities: Value, method: &str| declaring(capabilities).result(method, json!({}), json!({}));
    assert!(fails("malformed-params-are-refused", &accepted(json!({ "completions": {} }), "completion/complete")));
    assert!(!fails("malformed-params-are-refused", &accepted(json!({}), "completion/complete")));
    // A value to complete is a text.
    let completed = |value: Value| {
        let params =
            json!({ "ref": { "type": "ref/prompt", "name": "a" }, "argument": { "name": "b", "value": value } });
        declaring(json!({ "completions": {} })).result("completion/complete", params, json!({}))
    };
    assert!(fails("malformed-params-are-refused", &completed(json!(5))));
    assert!(!fails("malformed-params-are-refused", &completed(json!(""))));
    let of_kind = |kind: &str| {
        let params = json!({ "ref": { "type": kind, "name": "a" }, "argument": { "name": "b", "value": "" } });
        declaring(json!({ "completions": {} })).result("completion/complete", params, json!({}))
    };
    assert!(fails("malformed-params-are-refused", &of_kind("ref/other")));
    assert!(!fails("malformed-params-are-refused", &of_kind("ref/resource")));
    let got = |value: Value| {
        let params = json!({ "name": "a", "arguments": { "b": value } });
        declaring(json!({ "prompts": {} })).result("prompts/get", params, json!({ "messages": [] }))
    };
    assert!(fails("malformed-params-are-refused", &got(json!({ "c": 1 }))));
    assert!(!fails("malformed-params-are-refused", &got(json!("c"))));
    // `null` is an absent member in many languages.
    let called = |arguments: Value| {
        let params = json!({ "name": "a", "arguments": arguments });
        declaring(json!({ "tools": {} })).result("tools/call", params, json!({ "content": [] }))
    };
    assert!(fails("malformed-params-are-refused", &called(json!("text"))));
    assert!(!fails("malformed-params-are-refused", &called(Value::Null)));
    let leveled = accepted(json!({ "logging": {} }), "logging/setLevel");
    assert!(!fails("malformed-params-are-refused", &leveled));
    assert!(fails("malformed-params-code", &leveled));
}
