//! Checks of 2026-07-28 on behavior: metadata, headers, streams, subscriptions, input requests and log messages.

use super::*;

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

pub(super) fn table() -> Vec<Row> {
    [results(), metadata(), removed(), headers(), parameters(), streams(), subscriptions(), logging(), input(), lists()]
        .into_iter()
        .flatten()
        .collect()
}

fn ask(id: Value, method: &str, params: Value) -> Value {
    let mut message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    let given = message["params"]["_meta"].take();
    let mut all = meta()["_meta"].clone();
    all["io.modelcontextprotocol/clientCapabilities"] = json!({});
    for (key, value) in given.as_object().into_iter().flatten() {
        all[key] = value.clone();
    }
    message["params"]["_meta"] = all;
    message
}

fn reply(id: Value, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": good(result) })
}

fn error(id: Value, code: i64, data: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": "no", "data": data } })
}

fn note(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

fn discovered(fields: Value) -> Talk {
    let mut result = json!({ "supportedVersions": ["2026-07-28"], "capabilities": {} });
    for (key, value) in fields.as_object().into_iter().flatten() {
        result[key] = value.clone();
    }
    modern().ask(ask(json!(1), "server/discover", json!({}))).says(reply(json!(1), result))
}

fn results() -> Vec<Row> {
    let typed = |kind: &str| discovered(json!({ "resultType": kind }));
    let interim = |hints: Value| {
        let mut result = json!({ "resultType": "input_required", "requestState": "s", "_meta": {} });
        for (key, value) in hints.as_object().into_iter().flatten() {
            result[key] = value.clone();
        }
        let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": result });
        modern().ask(ask(json!(1), "tools/call", json!({ "name": "a" }))).says(answer)
    };
    let keyed = |key: &str| discovered(json!({ "_meta": { key: {} } }));
    let extended = |name: &str| discovered(json!({ "capabilities": { "extensions": { name: {} } } }));
    let again = |capabilities: Value| {
        let second = json!({ "supportedVersions": ["2026-07-28"], "capabilities": capabilities });
        discovered(json!({})).ask(ask(json!(2), "server/discover", json!({}))).says(reply(json!(2), second))
    };
    vec![
        ("result-type-is-known", typed("task"), typed("complete")),
        ("caching-hints-only-on-complete-results", interim(json!({ "ttlMs": 1 })), interim(json!({}))),
        ("metadata-keys-are-valid", keyed("a/b/c"), keyed("com.example/a_b.c")),
        ("extension-identifiers-are-valid", extended("tasks"), extended("io.modelcontextprotocol/tasks")),
        ("discovery-is-repeatable", again(json!({ "tools": {} })), again(json!({}))),
    ]
}

fn metadata() -> Vec<Row> {
    let bare = |meta: Value, code: i64| modern().error("server/discover", json!({ "_meta": meta }), code);
    let version = "io.modelcontextprotocol/protocolVersion";
    let capabilities = "io.modelcontextprotocol/clientCapabilities";
    let no_version = || json!({ capabilities: {} });
    let no_capabilities = || json!({ version: "2026-07-28" });
    let number = || json!({ version: 1, capabilities: {} });
    let text = || json!({ version: "2026-07-28", capabilities: "all" });
    let complete = || json!({ version: "2026-07-28", capabilities: {} });
    let unknown = || json!({ version: "2026-07-28", capabilities: {}, "com.example/workbench-unknown": 1 });
    let served = |meta: Value| modern().result("server/discover", json!({ "_meta": meta }), good(json!({})));
    let older = |data: Value| {
        let request = ask(json!(1), "server/discover", json!({ "_meta": { version: "2025-11-25" } }));
        modern().ask(request).says(error(json!(1), -32022, data))
    };
    let listed = |answer: Value| {
        let other = ask(json!(2), "server/discover", json!({ "_meta": { version: "2099-01-01" } }));
        discovered(json!({ "supportedVersions": ["2026-07-28", "2099-01-01"] })).ask(other).says(answer)
    };
    let negotiated = |asked: &str| {
        let mut talk = listed(reply(json!(2), json!({})));
        let value = json!({ "capabilities": {}, "answered_otherwise": { asked: "2025-11-25" } });
        talk.0.steps = vec![outcome(None, value)];
        talk
    };
    let agree = |supported: Value| {
        let other = ask(json!(2), "server/discover", json!({ "_meta": { version: "1999-01-01" } }));
        discovered(json!({})).ask(other).says(error(json!(2), -32022, json!({ "supported": supported })))
    };
    vec![
        ("missing-revision-is-refused", bare(no_version(), -32600), bare(no_version(), -32602)),
        ("missing-client-capabilities-are-refused", bare(no_capabilities(), -32600), bare(no_capabilities(), -32602)),
        ("malformed-revision-is-refused", served(number()), bare(number(), -32602)),
        ("malformed-client-capabilities-are-refused", served(text()), bare(text(), -32602)),
        ("client-identity-is-optional", bare(complete(), -32602), served(complete())),
        ("unknown-metadata-is-ignored", bare(unknown(), -32602), served(unknown())),
        (
            "older-revision-in-metadata-is-refused",
            older(json!({ "supported": ["2025-11-25"], "requested": "2025-11-25" })),
            older(json!({ "supported": ["2026-07-28"], "requested": "2025-11-25" })),
        ),
        (
            "every-listed-revision-is-accepted",
            listed(error(json!(2), -32022, json!({}))),
            listed(reply(json!(2), json!({}))),
        ),
        ("every-listed-revision-is-accepted", negotiated("2099-01-01"), negotiated("2024-11-05")),
        ("listed-revisions-agree", agree(json!(["2026-07-28", "2099-01-01"])), agree(json!(["2026-07-28"]))),
    ]
}

fn removed() -> Vec<Row> {
    let ping = |code: u16, answer: Value| modern_http().ask(ask(json!(1), "ping", json!({}))).says_with(code, answer);
    let session = |code: u16, answer: Value| {
        let request = ask(json!(1), "server/discover", json!({}));
        modern_http().post(&[("mcp-session-id", "x")], request).says_with(code, answer)
    };
    let discover = || modern_http().ask(ask(json!(1), "server/discover", json!({})));
    let mut assigned = discover().says(reply(json!(1), json!({})));
    assigned.http().headers_mut().insert("mcp-session-id".to_owned(), "[session]".to_owned());
    let refused = |code: i64, data: Value| {
        modern().ask(ask(json!(1), "tools/call", json!({ "name": "a" }))).says(error(json!(1), code, data))
    };
    // An empty capability means forms.
    let needs_forms = |declared: Value| {
        let meta = json!({ "io.modelcontextprotocol/clientCapabilities": { "elicitation": declared } });
        let request = ask(json!(1), "tools/call", json!({ "name": "a", "_meta": meta }));
        modern().ask(request).says(error(json!(1), -32021, json!({ "requiredCapabilities": { "elicitation": {} } })))
    };
    vec![
        (
            "defined-error-codes-keep-their-meaning",
            needs_forms(json!({ "form": {}, "url": {} })),
            needs_forms(json!({ "url": {} })),
        ),
        (
            "removed-methods-are-unknown",
            ping(200, reply(json!(1), json!({}))),
            ping(404, error(json!(1), -32601, json!(0))),
        ),
        (
            "http-session-and-resumption-are-ignored",
            session(404, error(json!(1), -32600, json!(0))),
            session(200, reply(json!(1), json!({}))),
        ),
        ("http-no-session-is-assigned", assigned, discover().says(reply(json!(1), json!({})))),
        (
            "defined-error-codes-keep-their-meaning",
            refused(-32021, json!({ "requiredCapabilities": ["sampling"] })),
            refused(-32021, json!({ "requiredCapabilities": { "sampling": {} } })),
        ),
        ("legacy-error-codes-are-not-used", refused(-32003, json!({})), refused(-32603, json!({}))),
    ]
}

const RIGHT: [(&str, &str); 2] = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "prompts/get")];

fn headers() -> Vec<Row> {
    let named = |name: &str, answer: Value| {
        let headers = [&RIGHT[..], &[("mcp-name", name)]].concat();
        modern_http().post(&headers, ask(json!(1), "prompts/get", json!({ "name": "ä" }))).says_with(400, answer)
    };
    let (right, rejection) = ("=?base64?w6Q=?=", |id: Value| error(id, -32020, json!(0)));
    vec![
        (
            "http-matching-headers-are-accepted",
            named(right, rejection(json!(1))),
            named(right, error(json!(1), -32602, json!(0))),
        ),
        ("http-error-has-the-id-of-its-request", named("b", rejection(json!(null))), named("b", rejection(json!(1)))),
    ]
}

/// The list of a tool with one annotated parameter of a type.
fn listed(kind: &str) -> Talk {
    listed_with("a", kind)
}

/// The same, with a name of the parameter.
fn listed_with(name: &str, kind: &str) -> Talk {
    let schema = json!({ "type": "object", "properties": { name: { "type": kind, "x-mcp-header": "A" } } });
    let tools = json!({ "tools": [{ "name": "t", "inputSchema": schema }] });
    modern_http().ask(ask(json!(1), "tools/list", json!({}))).says(reply(json!(1), tools))
}

/// A call of this tool with a header and an argument.
fn call(kind: &str, header: &str, argument: Value, code: u16, answer: Value) -> Talk {
    let fits = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "t")];
    let headers = [&fits[..], &[("mcp-param-a", header)]].concat();
    let request = ask(json!(2), "tools/call", json!({ "name": "t", "arguments": { "a": argument } }));
    listed(kind).post(&headers, request).says_with(code, answer)
}

#[test]
fn parameter_headers_are_judged_by_the_type_of_the_parameter() {
    let check = all().find(|check| check.id == "http-parameter-headers-are-compared").expect("a check");
    let rejection = || error(json!(2), -32020, json!(0));
    let result = || reply(json!(2), json!({ "content": [] }));
    let outcome = |talk: Talk| match run(check, &talk.0) {
        CheckOutcome::Passed { .. } => "passed",
        CheckOutcome::Failed { .. } => "failed",
        _ => "other",
    };
    assert_eq!(outcome(call("string", "größe", json!("größe"), 200, result())), "failed", "invalid characters");
    assert_eq!(outcome(call("string", "größe", json!("größe"), 400, rejection())), "passed");
    assert_eq!(outcome(call("string", "=?base64?%%%?=", json!("y"), 200, result())), "failed", "invalid Base64");
    assert_eq!(outcome(call("string", "=?base64?eQ==?=", json!("y"), 200, result())), "passed");
    // No header can have the value of an argument of another type.
    assert_eq!(outcome(call("integer", "a", json!("a"), 400, rejection())), "other");
    assert_eq!(outcome(call("integer", "a", json!("a"), 200, result())), "other");
    // A client does not use a tool with an invalid annotation.
    assert_eq!(outcome(call("number", "1", json!(2), 200, result())), "other");
}

fn parameters() -> Vec<Row> {
    let rejection = || error(json!(2), -32020, json!(0));
    let result = || reply(json!(2), json!({ "content": [] }));
    vec![
        ("parameter-header-annotations", listed("number"), listed("integer")),
        ("sensitive-parameters-have-no-header", listed_with("api_key", "string"), listed("string")),
        (
            "http-parameter-headers-are-compared",
            call("string", "x", json!("y"), 200, result()),
            call("string", "x", json!("y"), 400, rejection()),
        ),
        (
            "http-integer-parameters-are-compared-as-numbers",
            call("integer", "42.0", json!(42), 400, rejection()),
            call("integer", "42.0", json!(42), 200, result()),
        ),
    ]
}

fn streams() -> Vec<Row> {
    let cancel = |id: Value| {
        let listen = ask(json!("s"), "subscriptions/listen", json!({ "notifications": {} }));
        modern().ask(listen).says(note("notifications/cancelled", json!({ "requestId": id })))
    };
    let two = |first: Value| {
        let second = modern_http().ask(ask(json!(1), "server/discover", json!({})));
        second.ask(ask(json!(2), "server/discover", json!({}))).says(reply(first, json!({})))
    };
    let noted = |method: &str| {
        let request = ask(json!(1), "tools/call", json!({ "name": "a", "_meta": { "progressToken": 1 } }));
        modern_http().ask(request).streams(note(method, json!({ "progressToken": 1 })))
    };
    let answered = || modern_http().ask(ask(json!(1), "tools/list", json!({}))).streams(reply(json!(1), json!({})));
    let mut open = answered().mark(ConnectionEvent::ClosedByServer);
    open.frame_at(3_000_000);
    let mut unbuffered = answered();
    unbuffered.http().headers_mut().insert("x-accel-buffering".to_owned(), "no".to_owned());
    vec![
        ("server-cancels-only-subscriptions", cancel(json!(9)), cancel(json!("s"))),
        ("http-response-on-its-own-stream", two(json!(1)), two(json!(2))),
        (
            "http-notifications-belong-to-the-request",
            noted("notifications/tools/list_changed"),
            noted("notifications/progress"),
        ),
        ("http-stream-ends-with-the-response", open, answered().mark(ConnectionEvent::ClosedByServer)),
        ("http-stream-is-not-buffered", answered(), unbuffered),
    ]
}

fn listening(id: Value, filter: Value, accepted: Value) -> Talk {
    more_listening(modern(), id, filter, accepted)
}

fn more_listening(talk: Talk, id: Value, filter: Value, accepted: Value) -> Talk {
    let params = json!({ "_meta": { SUBSCRIPTION: id }, "notifications": accepted });
    talk.ask(ask(id, "subscriptions/listen", json!({ "notifications": filter })))
        .says(note("notifications/subscriptions/acknowledged", params))
}

fn changed(talk: Talk, kind: &str, id: Value) -> Talk {
    talk.says(note(&format!("notifications/{kind}/list_changed"), json!({ "_meta": { SUBSCRIPTION: id } })))
}

fn subscriptions() -> Vec<Row> {
    let tools = || json!({ "toolsListChanged": true });
    let plain = || listening(json!(5), tools(), tools());
    let declared = |accepted: Value| {
        listening(json!(5), tools(), accepted)
            .knows(&[Revision::V2026_07_28], json!({ "tools": { "listChanged": true } }))
    };
    let empty = || modern().ask(ask(json!(1), "subscriptions/listen", json!({ "notifications": {} })));
    let rejection = json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32602, "message": "nothing to send" } });
    let unfiltered = |answer: Value| modern().ask(ask(json!(1), "subscriptions/listen", json!({}))).says(answer);
    let cancelled = |after_us: u64| {
        let cancel = note("notifications/cancelled", json!({ "requestId": 5 }));
        let mut talk = changed(plain().ask(cancel), "tools", json!(5));
        talk.frame_at(after_us);
        talk
    };
    let two = || more_listening(plain(), json!("6"), tools(), tools());
    let closed = |talk: Talk| talk.says(note("notifications/cancelled", json!({ "requestId": 5 })));
    let ended = |id: Value| plain().says(reply(json!(5), json!({ "_meta": { SUBSCRIPTION: id } })));
    vec![
        (
            "acknowledgement-has-only-requested-types",
            listening(json!(5), tools(), json!({ "promptsListChanged": true })),
            plain(),
        ),
        ("declared-types-are-acknowledged", declared(json!({})), declared(tools())),
        ("empty-subscription-is-acknowledged", empty(), empty().says(rejection)),
        (
            "undeclared-types-are-not-acknowledged",
            declared(json!({ "toolsListChanged": true, "promptsListChanged": true })),
            declared(tools()),
        ),
        (
            "subscription-without-filter-is-refused",
            unfiltered(reply(json!(1), json!({}))),
            unfiltered(error(json!(1), -32602, json!(0))),
        ),
        (
            "subscription-notifications-have-its-id",
            changed(plain(), "tools", json!("5")),
            changed(plain(), "tools", json!(5)),
        ),
        ("only-requested-types-are-sent", changed(plain(), "prompts", json!(5)), changed(plain(), "tools", json!(5))),
        ("subscription-ends-when-it-is-cancelled", cancelled(900_000), cancelled(10_000)),
        ("subscription-stays-open", ended(json!(5)), plain()),
        ("ended-subscription-has-a-result", closed(plain()), closed(ended(json!(5)))),
        ("subscription-result-has-its-id", ended(json!(6)), ended(json!(5))),
        (
            "equal-subscriptions-get-the-same-changes",
            changed(two(), "tools", json!(5)),
            changed(changed(two(), "tools", json!(5)), "tools", json!("6")),
        ),
    ]
}

fn logging() -> Vec<Row> {
    let level = |level: &str| json!({ "name": "a", "_meta": { "io.modelcontextprotocol/logLevel": level } });
    let logged = |params: Value, capabilities: Value| {
        modern()
            .knows(&[Revision::V2026_07_28], capabilities)
            .ask(ask(json!(1), "tools/call", params))
            .says(note("notifications/message", json!({ "level": "info", "data": 1 })))
            .says(reply(json!(1), json!({ "content": [] })))
    };
    let declared = || json!({ "logging": {} });
    let unknown =
        |code: i64| modern().ask(ask(json!(1), "tools/list", level("loud"))).says(error(json!(1), code, json!(0)));
    vec![
        ("log-messages-only-on-request", logged(json!({ "name": "a" }), declared()), logged(level("info"), declared())),
        (
            "log-messages-have-the-requested-level",
            logged(level("error"), declared()),
            logged(level("info"), declared()),
        ),
        ("log-messages-need-the-capability", logged(level("info"), json!({})), logged(level("info"), declared())),
        ("unknown-log-level-in-metadata-is-refused", unknown(-32603), unknown(-32602)),
    ]
}

fn requests() -> Value {
    let form = json!({ "type": "object", "properties": { "ok": { "type": "boolean" } } });
    json!({ "q": { "method": "elicitation/create", "params": { "message": "ok?", "requestedSchema": form } } })
}

fn interim(requests: Value) -> Value {
    json!({ "resultType": "input_required", "inputRequests": requests, "requestState": "state" })
}

/// A call by a client with these capabilities, and its result.
fn called(talk: Talk, id: u64, capabilities: Value, more: Value, answer: Value) -> Talk {
    let mut params = json!({ "name": "a", "_meta": { "io.modelcontextprotocol/clientCapabilities": capabilities } });
    for (key, value) in more.as_object().into_iter().flatten() {
        params[key] = value.clone();
    }
    talk.ask(ask(json!(id), "tools/call", params)).says(answer)
}

fn asked(requests: Value, capabilities: Value) -> Talk {
    called(modern(), 1, capabilities, json!({}), json!({ "jsonrpc": "2.0", "id": 1, "result": interim(requests) }))
}

#[test]
fn the_required_capabilities_are_those_of_the_input_requests() {
    let bare = |required: Value| {
        let error = json!({ "code": -32021, "message": "no", "data": { "requiredCapabilities": required } });
        let answer = json!({ "jsonrpc": "2.0", "id": 2, "error": error });
        called(asked(requests(), json!({ "elicitation": {} })), 2, json!({}), json!({}), answer)
    };
    assert!(fails("undeclared-capability-is-refused", &bare(json!({ "sampling": {} }))));
    assert!(!fails(
        "undeclared-capability-is-refused",
        &bare(json!({ "sampling": {}, "elicitation": { "form": {} } }))
    ));
    // Those of all requests of the first result.
    let with_two = |required: Value| {
        let mut both = requests();
        both["r"] = json!({ "method": "roots/list" });
        let error = json!({ "code": -32021, "message": "no", "data": { "requiredCapabilities": required } });
        let answer = json!({ "jsonrpc": "2.0", "id": 2, "error": error });
        let declared = json!({ "elicitation": {}, "roots": {} });
        called(asked(both, declared), 2, json!({}), json!({}), answer)
    };
    assert!(fails("undeclared-capability-is-refused", &with_two(json!({ "elicitation": {} }))));
    assert!(!fails("undeclared-capability-is-refused", &with_two(json!({ "elicitation": {}, "roots": {} }))));
}

#[test]
fn a_retry_without_the_capability_is_not_asked_again() {
    let more = json!({ "inputResponses": {}, "requestState": "state" });
    let refused = |code: i64| {
        let forms = json!({ "elicitation": {} });
        called(asked(requests(), forms), 2, json!({}), more.clone(), error(json!(2), code, json!({})))
    };
    assert!(fails("missing-input-response-is-requested-again", &refused(-32602)));
    assert!(!fails("missing-input-response-is-requested-again", &refused(-32021)));
}

#[test]
fn a_log_message_belongs_to_a_cancelled_call_only_if_no_other_is_open() {
    let call = |id: u64, level: &str| {
        ask(json!(id), "tools/call", json!({ "name": "a", "_meta": { "io.modelcontextprotocol/logLevel": level } }))
    };
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    let info = || note("notifications/message", json!({ "level": "info", "data": 1 }));
    let begun =
        || modern().knows(&[Revision::V2026_07_28], json!({ "logging": {} })).ask(call(1, "debug")).ask(cancel.clone());
    assert!(!fails("log-messages-only-on-request", &begun().says(info())), "it was on its way");
    assert!(fails("log-messages-have-the-requested-level", &begun().ask(call(2, "error")).says(info())));
}

#[test]
fn a_server_of_both_eras_takes_all_lists_without_metadata_or_none() {
    let bare = |method: &str| json!({ "jsonrpc": "2.0", "id": method, "method": method });
    let refused = |method: &str| error(json!(method), -32602, json!(0));
    let both = || modern().knows(&[Revision::V2025_11_25, Revision::V2026_07_28], json!({})).ask(bare("prompts/list"));
    let lenient = both().says(reply(json!("prompts/list"), json!({})));
    assert!(!fails("missing-metadata-is-refused", &lenient));
    assert!(fails("missing-metadata-is-refused", &lenient.ask(bare("tools/list")).says(refused("tools/list"))));
    let strict = both().says(refused("prompts/list")).ask(bare("tools/list")).says(refused("tools/list"));
    assert!(!fails("missing-metadata-is-refused", &strict));
}

#[test]
fn a_call_may_change_a_list_but_a_failed_request_may_not() {
    let id = "lists-are-independent-of-other-requests";
    let list = |talk: Talk, id: u64, names: &[&str]| {
        let prompts: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
        talk.ask(ask(json!(id), "prompts/list", json!({}))).says(reply(json!(id), json!({ "prompts": prompts })))
    };
    let call = |talk: Talk, id: u64| {
        talk.ask(ask(json!(id), "tools/call", json!({ "name": "a" }))).says(reply(json!(id), json!({ "content": [] })))
    };
    let wrong = |talk: Talk, id: u64| {
        talk.ask(ask(json!(id), "prompts/get", json!({ "name": "a" }))).says(error(json!(id), -32602, json!(0)))
    };
    let both = || list(call(modern(), 1), 2, &["a", "b"]);
    assert!(!fails(id, &list(call(both(), 3), 4, &["a"])));
    assert!(fails(id, &list(wrong(both(), 3), 4, &["a"])));
}

#[test]
fn an_initialize_with_metadata_of_the_newest_revision_may_begin_a_session() {
    let params = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } });
    let result = json!({ "protocolVersion": "2025-11-25", "capabilities": {} });
    let mut begun = modern_http().ask(ask(json!(1), "initialize", params)).says(reply(json!(1), result));
    begun.http().headers_mut().insert("mcp-session-id".to_owned(), "[session]".to_owned());
    assert!(!fails("http-no-session-is-assigned", &begun));
    assert!(!fails("server-info-in-results", &begun));
}

fn input() -> Vec<Row> {
    let forms = || json!({ "elicitation": {} });
    let other = |method: &str| {
        let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": interim(requests()) });
        modern().ask(ask(json!(1), method, json!({ "name": "a" }))).says(answer)
    };
    let empty = || {
        let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": { "resultType": "input_required" } });
        called(modern(), 1, json!({}), json!({}), answer)
    };
    let sampling = |context: &str| {
        let params = json!({ "messages": [], "maxTokens": 1, "includeContext": context });
        asked(json!({ "q": { "method": "sampling/createMessage", "params": params } }), json!({ "sampling": {} }))
    };
    let bare = |code: i64| called(asked(requests(), forms()), 2, json!({}), json!({}), error(json!(2), code, json!(0)));
    let retry = |responses: Value, state: &str, answer: Value| {
        let more = json!({ "inputResponses": responses, "requestState": state });
        called(asked(requests(), forms()), 2, forms(), more, answer)
    };
    let elsewhere = |state: &str, answer: Value| {
        let more = json!({ "inputResponses": { "q": { "action": "accept" } }, "requestState": state, "arguments": { "b": 1 } });
        called(asked(requests(), forms()), 2, forms(), more, answer)
    };
    let accept = || json!({ "action": "accept", "content": { "ok": true } });
    let done = || reply(json!(2), json!({ "content": [] }));
    let refused = || error(json!(2), -32602, json!(0));
    vec![
        ("input-required-only-where-allowed", other("tools/list"), other("prompts/get")),
        ("input-required-has-requests-or-state", empty(), asked(requests(), forms())),
        (
            "input-requests-are-of-a-known-kind",
            asked(json!({ "q": { "method": "ping" } }), forms()),
            asked(requests(), forms()),
        ),
        (
            "input-requests-need-declared-capabilities",
            asked(requests(), json!({ "elicitation": { "url": {} } })),
            asked(requests(), forms()),
        ),
        ("sampling-context-needs-its-capability", sampling("allServers"), sampling("none")),
        ("undeclared-capability-is-refused", bare(-32603), bare(-32021)),
        (
            "input-responses-are-accepted",
            retry(json!({ "q": accept() }), "state", refused()),
            retry(json!({ "q": accept() }), "state", done()),
        ),
        (
            "missing-input-response-is-requested-again",
            retry(json!({}), "state", refused()),
            retry(json!({}), "state", json!({ "jsonrpc": "2.0", "id": 2, "result": interim(requests()) })),
        ),
        (
            "unknown-input-responses-are-ignored",
            retry(json!({ "q": accept(), "r": accept() }), "state", refused()),
            retry(json!({ "q": accept(), "r": accept() }), "state", done()),
        ),
        (
            "changed-request-state-is-refused",
            retry(json!({ "q": accept() }), "stAte", done()),
            retry(json!({ "q": accept() }), "stAte", refused()),
        ),
        (
            "malformed-input-responses-are-refused",
            retry(json!({ "q": "yes" }), "state", done()),
            retry(json!({ "q": "yes" }), "state", refused()),
        ),
        (
            "invalid-form-content-is-refused",
            retry(json!({ "q": { "action": "accept", "content": { "ok": {} } } }), "state", done()),
            retry(json!({ "q": { "action": "accept", "content": { "ok": {} } } }), "state", refused()),
        ),
        ("request-state-of-another-request-is-refused", elsewhere("state", done()), elsewhere("state", refused())),
        (
            "malformed-input-is-no-tool-error",
            retry(json!({ "q": "yes" }), "state", reply(json!(2), json!({ "content": [], "isError": true }))),
            retry(json!({ "q": "yes" }), "state", refused()),
        ),
        (
            "missing-capability-is-no-tool-error",
            called(asked(requests(), forms()), 2, json!({}), json!({}), reply(json!(2), json!({ "isError": true }))),
            called(asked(requests(), forms()), 2, json!({}), json!({}), done()),
        ),
        (
            "declined-input-is-no-internal-error",
            retry(
                json!({ "q": { "action": "cancel" } }),
                "state",
                json!({ "jsonrpc": "2.0", "id": 2, "error": { "code": -32603, "message": "no" } }),
            ),
            retry(json!({ "q": { "action": "decline" } }), "state", done()),
        ),
    ]
}

fn lists() -> Vec<Row> {
    let list = |talk: Talk, id: u64, names: &[&str]| {
        let tools: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
        talk.ask(ask(json!(id), "tools/list", json!({}))).says(reply(json!(id), json!({ "tools": tools })))
    };
    let refused = modern().ask(ask(json!(1), "tools/list", json!({}))).says(error(json!(1), -32600, json!(0)));
    let calls_around_discovery = |early: i64| {
        let call = |talk: Talk, code: i64| talk.error("tools/call", json!({ "name": "none" }), code);
        let talk = call(list(modern(), 1, &["a"]), early).result("server/discover", json!({}), json!({}));
        call(talk, -32602)
    };
    vec![
        (
            "lists-are-independent-of-other-requests",
            list(list(modern(), 1, &["a"]), 2, &["a", "b"]),
            list(list(modern(), 1, &["a", "b"]), 2, &["b", "a"]),
        ),
        ("requests-need-no-earlier-request", refused, list(modern(), 1, &["a"])),
        ("requests-need-no-earlier-request", calls_around_discovery(-32600), calls_around_discovery(-32602)),
    ]
}

impl Talk {
    /// The server says this on a stream of events.
    fn streams(self, message: Value) -> Self {
        self.frame(Direction::ServerToClient, Body::json(message), Some(status(200, "text/event-stream")))
    }

    /// The server does this to the connection.
    fn mark(self, event: ConnectionEvent) -> Self {
        self.frame(Direction::ServerToClient, Body::Event(event), None)
    }

    /// Sets the time of the latest frame.
    fn frame_at(&mut self, at_us: u64) {
        self.0.frames.last_mut().expect("a frame").at_us = at_us;
    }
}

#[test]
fn a_response_can_arrive_when_the_client_has_closed_the_stream() {
    let asked = modern_http().ask(ask(json!(1), "tools/list", json!({})));
    let closed = asked.frame(Direction::ClientToServer, Body::Event(ConnectionEvent::ClosedByPeer), None);
    let mut late = closed.streams(reply(json!(1), json!({}))).mark(ConnectionEvent::Bodiless);
    late.frame_at(3_000_000);
    assert!(!fails("http-stream-ends-with-the-response", &late));
}
