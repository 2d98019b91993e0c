//! Checks of the behavior of features: calls, reads, completion, pages, log messages, progress and cancellation.

use super::*;
use crate::arguments::OPTIONAL_ARGUMENT;

/// A list of one tool, and a call of it.
fn called(talk: Talk, tool: Value, arguments: Value, result: Value) -> Talk {
    let name = tool["name"].clone();
    talk.result("tools/list", json!({}), json!({ "tools": [tool] })).result(
        "tools/call",
        json!({ "name": name, "arguments": arguments }),
        result,
    )
}

fn content(block: Value) -> Value {
    json!({ "content": [block] })
}

fn prompt_of(block: Value) -> Talk {
    stdio().result("prompts/get", json!({ "name": "p" }), json!({ "messages": [{ "role": "user", "content": block }] }))
}

fn declaring(capabilities: Value) -> Talk {
    stdio().knows(&[Revision::V2025_11_25], capabilities)
}

fn modified(time: &str) -> Value {
    json!([{ "uri": "a:1", "name": "a", "annotations": { "lastModified": time } }])
}

/// A listed resource, and a read of it.
fn read_of(listed: Value, content: Value) -> Talk {
    let uri = listed["uri"].clone();
    listing("resources/list", "resources", json!([listed])).result(
        "resources/read",
        json!({ "uri": uri }),
        json!({ "contents": [content] }),
    )
}

fn note(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

/// A call with a progress token that is not answered yet.
fn running(talk: Talk, token: Value) -> Talk {
    talk.ask(json!({ "jsonrpc": "2.0", "id": 50, "method": "tools/call",
        "params": { "name": "a", "_meta": { "progressToken": token } } }))
}

fn progress(token: Value, value: f64) -> Value {
    note("notifications/progress", json!({ "progressToken": token, "progress": value }))
}

fn done() -> Value {
    json!({ "jsonrpc": "2.0", "id": 50, "result": {} })
}

fn logged(level: &str) -> Value {
    note("notifications/message", json!({ "level": level, "data": "x" }))
}

fn completes(completion: Value) -> Talk {
    let params = json!({ "ref": { "type": "ref/prompt", "name": "p" }, "argument": { "name": "a", "value": "" } });
    stdio().result("completion/complete", params, json!({ "completion": completion }))
}

pub(super) fn table() -> Vec<Row> {
    [calls(), contents(), reads(), prompts(), completions(), pages(), logs(), progresses(), others()]
        .into_iter()
        .flatten()
        .collect()
}

/// Two calls of a tool, one after another, then both at once with these results, then one after another.
fn at_once(results: [&str; 2]) -> Talk {
    let content = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
    let params = |text: &str| json!({ "name": "a", "arguments": { "x": text } });
    let alone =
        |talk: Talk| ["a", "b"].iter().fold(talk, |talk, text| talk.result("tools/call", params(text), content(text)));
    let ask = |talk: Talk, (id, text): (&str, &str)| {
        talk.ask(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params(text) }))
    };
    let listed = stdio().result("tools/list", json!({}), json!({ "tools": [{ "name": "a" }] }));
    let open = [("at-once-1", "a"), ("at-once-2", "b")].into_iter().fold(alone(listed), ask);
    let answered = ["at-once-1", "at-once-2"]
        .iter()
        .zip(results)
        .fold(open, |talk, (id, text)| talk.says(json!({ "jsonrpc": "2.0", "id": id, "result": content(text) })));
    alone(answered)
}

/// A call that succeeds, and with a progress token is rejected with this code.
fn with_and_without(code: i64) -> Talk {
    let params = json!({ "name": "a", "arguments": {}, "_meta": { "progressToken": 1 } });
    called(stdio(), json!({ "name": "a" }), json!({}), json!({ "content": [] })).error("tools/call", params, code)
}

/// A call with a long text that has this letter in the result.
fn repeats(letter: &str) -> Talk {
    let long = "ü".repeat(100);
    let content = json!([{ "type": "text", "text": format!("{long}{letter}") }]);
    called(stdio(), json!({ "name": "a" }), json!({ "x": format!("{long}ü") }), json!({ "content": content }))
}

fn calls() -> Vec<Row> {
    let input = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    let typed = json!({ "name": "a", "inputSchema": input });
    let output = json!({ "type": "object", "properties": { "x": { "type": "number" } }, "required": ["x"] });
    let structured = json!({ "name": "a", "outputSchema": output });
    let task = json!({ "name": "a", "execution": { "taskSupport": "required" } });
    let tasks = || declaring(json!({ "tools": {}, "tasks": { "requests": { "tools": { "call": {} } } } }));
    let text = |text: &str| json!([{ "type": "text", "text": text }]);
    let without = || stdio().result("tools/list", json!({}), json!({ "tools": [{ "name": "a" }] }));
    let rejected = |arguments: Value, code: i64| {
        let listed = stdio().result("tools/list", json!({}), json!({ "tools": [typed.clone()] }));
        listed.error("tools/call", json!({ "name": "a", "arguments": arguments }), code)
    };
    let refused = |code: i64| rejected(json!({}), code);
    let failing = |code: i64| rejected(json!({ "n": 1 }), code);
    let again = |name: &str, result: Value| {
        called(stdio(), typed.clone(), json!({ "n": 1 }), json!({ "content": [] })).result(
            "tools/call",
            json!({ "name": name, "arguments": { "n": 1 } }),
            result,
        )
    };
    let echo = json!({ "name": "a", "inputSchema": {}, "annotations": { "readOnlyHint": true } });
    let echoes = |second: &str| {
        let first = called(stdio(), echo.clone(), json!({ "x": "workbench" }), json!({ "content": text("workbench") }));
        let call = json!({ "name": "a", "arguments": { "x": "another text" } });
        first.result("tools/call", call, json!({ "content": text(second) }))
    };
    vec![
        (
            "structured-content-conforms",
            called(stdio(), structured.clone(), json!({}), json!({ "content": [] })),
            called(stdio(), structured.clone(), json!({}), json!({ "content": [], "structuredContent": { "x": 1 } })),
        ),
        (
            "structured-content-as-text",
            called(stdio(), structured.clone(), json!({}), json!({ "content": [], "structuredContent": { "x": 1 } })),
            called(
                stdio(),
                structured,
                json!({}),
                json!({ "content": text("{\"x\": 1.0}"), "structuredContent": { "x": 1 } }),
            ),
        ),
        (
            "invalid-arguments-are-rejected",
            called(stdio(), typed.clone(), json!({}), json!({ "content": [] })),
            called(stdio(), typed.clone(), json!({}), json!({ "content": [], "isError": true })),
        ),
        ("invalid-arguments-code", refused(-32603), refused(-32602)),
        ("results-follow-the-arguments", echoes("workbench"), echoes("another text")),
        ("concurrent-calls-have-their-own-results", at_once(["b", "a"]), at_once(["a", "b"])),
        (
            "invalid-arguments-are-tool-errors",
            refused(-32602),
            called(stdio(), typed.clone(), json!({}), json!({ "content": [], "isError": true })),
        ),
        ("tool-failures-are-results", failing(-32603), failing(-32602)),
        ("calls-may-have-metadata", with_and_without(-32602), with_and_without(-32603)),
        ("long-texts-are-decoded-whole", repeats("\u{fffd}"), repeats("ü")),
        (
            "calls-need-no-arguments",
            without().error("tools/call", json!({ "name": "a" }), -32603),
            without().error("tools/call", json!({ "name": "a" }), -32602),
        ),
        (
            "tool-names-are-case-sensitive",
            again("A", json!({ "content": [] })),
            again("A", json!({ "content": [], "isError": true })),
        ),
        (
            "task-tools-reject-plain-calls",
            called(tasks(), task.clone(), json!({}), json!({ "content": [] })),
            tasks().result("tools/list", json!({}), json!({ "tools": [task] })).error(
                "tools/call",
                json!({ "name": "a" }),
                -32601,
            ),
        ),
        (
            "tool-calls-are-answered",
            stdio()
                .result("tools/list", json!({}), json!({ "tools": [typed] }))
                .ask(json!({ "jsonrpc": "2.0", "id": 50, "method": "tools/call", "params": { "name": "a" } })),
            again("a", json!({ "content": [] })),
        ),
    ]
}

fn contents() -> Vec<Row> {
    let tool = || json!({ "name": "a" });
    let called = |block: Value| called(stdio(), tool(), json!({}), content(block));
    let image = |data: &str, kind: &str| json!({ "type": "image", "data": data, "mimeType": kind });
    let resource = |resource: Value| json!({ "type": "resource", "resource": resource });
    let link = json!({ "type": "resource_link", "uri": "demo:1", "name": "one" });
    let linked = |talk: Talk| talk.result("tools/call", json!({ "name": "a" }), content(link.clone()));
    let in_march = |block: Value| {
        let talk = Talk::new(Transport::Stdio, Revision::V2025_03_26);
        talk.result("tools/call", json!({ "name": "a" }), content(block))
    };
    let with_resources = || declaring(json!({ "resources": {} }));
    let whole = json!({ "uri": "demo:1", "mimeType": "text/plain", "text": "x" });
    vec![
        ("content-is-of-the-revision", in_march(link.clone()), in_march(image("aGk=", "image/png"))),
        ("tool-media-are-base64", called(image("%", "image/png")), called(image("aGk=", "image/png"))),
        ("tool-resources-are-complete", called(resource(json!({ "uri": "a:1" }))), called(resource(whole.clone()))),
        (
            "embedded-resources-need-the-capability",
            stdio().result("tools/call", json!({ "name": "a" }), content(resource(whole.clone()))),
            with_resources().result("tools/call", json!({ "name": "a" }), content(resource(whole.clone()))),
        ),
        (
            "linked-resources-are-readable",
            linked(with_resources()).error("resources/read", json!({ "uri": "demo:1" }), -32002),
            linked(with_resources()).result("resources/read", json!({ "uri": "demo:1" }), json!({ "contents": [] })),
        ),
        ("prompt-media-are-base64", prompt_of(image("aGk=", "png")), prompt_of(image("aGk=", "image/png"))),
        (
            "prompt-resources-are-complete",
            prompt_of(resource(json!({ "uri": "demo:1", "text": "x" }))),
            prompt_of(resource(whole)),
        ),
    ]
}

fn reads() -> Vec<Row> {
    let listed = || json!({ "uri": "a:1", "name": "one", "mimeType": "text/plain", "size": 3 });
    let read = |content: Value| read_of(listed(), content);
    let good = || read(json!({ "uri": "a:1", "mimeType": "text/plain; charset=utf-8", "text": "abc" }));
    let list =
        |uris: [&str; 2]| listing("resources/list", "resources", json!([{ "uri": uris[0] }, { "uri": uris[1] }]));
    let template =
        |text: &str| listing("resources/templates/list", "resourceTemplates", json!([{ "uriTemplate": text }]));
    let outside = json!({ "uri": "file:///a/../../etc/hostname" });
    let subscribing = |talk: Talk| talk.result("resources/subscribe", json!({ "uri": "a:1" }), json!({}));
    let unsubscribing = |talk: Talk| talk.result("resources/unsubscribe", json!({ "uri": "a:1" }), json!({}));
    let updated = |uri: &str| note("notifications/resources/updated", json!({ "uri": uri }));
    let with_updates = || declaring(json!({ "resources": { "subscribe": true } }));
    vec![
        ("resource-uris-are-unique", list(["a:1", "a:1"]), list(["a:1", "a:2"])),
        (
            "listed-resources-exist",
            listing("resources/list", "resources", json!([listed()])).error(
                "resources/read",
                json!({ "uri": "a:1" }),
                -32002,
            ),
            good(),
        ),
        (
            "listed-resources-can-be-read",
            listing("resources/list", "resources", json!([listed()])).error(
                "resources/read",
                json!({ "uri": "a:1" }),
                -32603,
            ),
            good(),
        ),
        ("contents-have-the-uri-of-the-resource", read(json!({ "uri": "b:2", "text": "abc" })), good()),
        (
            "contents-have-the-listed-type",
            read(json!({ "uri": "a:1", "mimeType": "image/png", "text": "abc" })),
            good(),
        ),
        ("resource-size-is-right", read(json!({ "uri": "a:1", "text": "abcd" })), good()),
        (
            "modification-times-are-dates",
            listing("resources/list", "resources", modified("12.01.2025")),
            listing("resources/list", "resources", modified("2025-01-12T15:00:58Z")),
        ),
        (
            "invalid-resource-uri-is-refused",
            stdio().result("resources/read", json!({ "uri": "no uri" }), json!({ "contents": [] })),
            stdio().error("resources/read", json!({ "uri": "no uri" }), -32602),
        ),
        (
            "traversal-is-refused",
            stdio().result("resources/read", outside.clone(), json!({ "contents": [{ "uri": "a:1", "text": "" }] })),
            stdio().error("resources/read", outside, -32002),
        ),
        ("resource-templates-are-valid", template("a:{x"), template("a:{x}")),
        (
            "template-reads-have-contents",
            modern().result("resources/read", json!({ "uri": "a:1" }), json!({ "contents": [] })),
            modern().error("resources/read", json!({ "uri": "a:1" }), -32602),
        ),
        (
            "subscription-is-accepted",
            list(["a:1", "a:2"]).error("resources/subscribe", json!({ "uri": "a:1" }), -32601),
            subscribing(list(["a:1", "a:2"])),
        ),
        ("updates-only-if-declared", stdio().says(updated("a:1")), with_updates().says(updated("a:1"))),
        (
            "updates-only-for-subscriptions",
            subscribing(with_updates()).says(updated("b:2")),
            subscribing(with_updates()).says(updated("a:1/part")),
        ),
        (
            "no-updates-after-unsubscribe",
            unsubscribing(subscribing(with_updates())).says(updated("a:1")),
            unsubscribing(subscribing(with_updates()).says(updated("a:1"))),
        ),
    ]
}

fn prompts() -> Vec<Row> {
    let list =
        |names: [&str; 2]| listing("prompts/list", "prompts", json!([{ "name": names[0] }, { "name": names[1] }]));
    let arguments = |names: [&str; 2]| {
        let arguments = json!([{ "name": names[0] }, { "name": names[1] }]);
        listing("prompts/list", "prompts", json!([{ "name": "p", "arguments": arguments }]))
    };
    vec![
        ("prompt-names-are-unique", list(["a", "a"]), list(["a", "b"])),
        (
            "listed-prompts-are-available",
            list(["a", "b"]).error("prompts/get", json!({ "name": "a" }), -32603),
            list(["a", "b"]).result("prompts/get", json!({ "name": "a" }), json!({ "messages": [] })),
        ),
        ("prompt-arguments-are-unique", arguments(["a", "a"]), arguments(["a", "b"])),
        ("prompt-arguments-are-not-kept", remembered(OPTIONAL_ARGUMENT), remembered("plain")),
    ]
}

/// A prompt with its optional argument, and this text without it.
fn remembered(last: &str) -> Talk {
    let get = |talk: Talk, arguments: Value, text: &str| {
        let messages = json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": text } }] });
        talk.result("prompts/get", json!({ "name": "p", "arguments": arguments }), messages)
    };
    get(get(modern(), json!({ "style": OPTIONAL_ARGUMENT }), OPTIONAL_ARGUMENT), json!({}), last)
}

fn completions() -> Vec<Row> {
    let many: Vec<String> = (0..101).map(|number| number.to_string()).collect();
    let incomplete = json!({ "ref": { "type": "ref/prompt", "name": "p" } });
    let unknown = json!({ "argument": { "name": "workbench-no-such-argument", "value": "" } });
    let plain = || json!({ "ref": 1, "argument": { "name": "a", "value": "" } });
    let in_context = || json!({ "ref": 1, "argument": { "name": "a", "value": "" }, "context": { "arguments": {} } });
    let some = || json!({ "completion": { "values": ["a"] } });
    vec![
        (
            "completion-has-at-most-100-values",
            completes(json!({ "values": many })),
            completes(json!({ "values": ["a"] })),
        ),
        (
            "completion-counts-agree",
            completes(json!({ "values": ["a"], "total": 2, "hasMore": false })),
            completes(json!({ "values": ["a"], "total": 2, "hasMore": true })),
        ),
        (
            "completion-without-argument-is-refused",
            stdio().result("completion/complete", incomplete.clone(), some()),
            stdio().error("completion/complete", incomplete, -32602),
        ),
        (
            "completion-takes-a-context",
            stdio().result("completion/complete", plain(), some()).error("completion/complete", in_context(), -32602),
            stdio().result("completion/complete", plain(), some()).result("completion/complete", in_context(), some()),
        ),
        (
            "completion-of-unknown-argument-is-empty",
            stdio().result("completion/complete", unknown.clone(), some()),
            stdio().error("completion/complete", unknown, -32602),
        ),
        (
            "declared-completion-is-supported",
            declaring(json!({ "completions": {} })).error("completion/complete", json!({}), -32601),
            declaring(json!({ "completions": {} })).error("completion/complete", json!({}), -32602),
        ),
        (
            "completion-needs-the-capability",
            completes(json!({ "values": ["a"] })),
            completes(json!({ "values": ["a"] })).knows(&[Revision::V2025_11_25], json!({ "completions": {} })),
        ),
    ]
}

/// Two listings with different items, and what the server announced between them.
fn list_twice(list: &str, identity: &str, announced: Option<&str>) -> Talk {
    let declared = declaring(json!({ list: { "listChanged": true } }));
    let listing =
        |talk: Talk, item: &str| talk.result(&format!("{list}/list"), json!({}), json!({ list: [{ identity: item }] }));
    let first = listing(declared, "a");
    let told = match announced {
        Some(method) => first.says(json!({ "jsonrpc": "2.0", "method": method })),
        None => first,
    };
    listing(told, "b")
}

fn pages() -> Vec<Row> {
    let first = |talk: Talk| page(talk, json!({}), &["a"], json!("2"));
    let second = |talk: Talk, names: &[&str]| page(talk, json!({ "cursor": "2" }), names, Value::Null);
    let listed = |talk: Talk, names: &[&str]| page(talk, json!({}), names, Value::Null);
    let changing = || listed(declaring(json!({ "tools": { "listChanged": true } })), &["a"]);
    let announced = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
    vec![
        ("changes-of-tools-are-announced", listed(changing(), &["a", "b"]), listed(changing().says(announced), &["b"])),
        (
            "changes-of-prompts-are-announced",
            list_twice("prompts", "name", None),
            list_twice("prompts", "name", Some("notifications/prompts/list_changed")),
        ),
        (
            "changes-of-resources-are-announced",
            list_twice("resources", "uri", None),
            list_twice("resources", "uri", Some("notifications/resources/list_changed")),
        ),
        (
            "own-cursors-are-accepted",
            first(stdio()).error("tools/list", json!({ "cursor": "2" }), -32602),
            second(first(stdio()), &["b"]),
        ),
        (
            "cursors-are-stable",
            second(second(first(stdio()), &["b"]), &["c"]),
            second(second(first(stdio()), &["b"]), &["b"]),
        ),
        ("last-page-has-no-cursor", second(first(stdio()), &[]), second(first(stdio()), &["b"])),
    ]
}

fn logs() -> Vec<Row> {
    let set = |level: &str| stdio().result("logging/setLevel", json!({ "level": level }), json!({}));
    vec![
        (
            "log-levels-are-accepted",
            stdio().error("logging/setLevel", json!({ "level": "notice" }), -32602),
            set("notice"),
        ),
        ("logging-is-declared", stdio().says(logged("info")), declaring(json!({ "logging": {} })).says(logged("info"))),
        (
            "log-messages-have-no-secrets",
            stdio().says(with_data(json!({ "user": "a", "password": "correct-horse" }))),
            stdio()
                .says(with_data(json!({ "password": "***", "api_key": "sk-****", "message": "bearer token missing" }))),
        ),
        (
            "errors-have-no-stack-trace",
            stdio().says(with_data(json!({ "trace": ["Traceback (most recent call last):\n  File \"a.py\""] }))),
            stdio().says(with_data(json!({ "message": "the call failed at 10:00" }))),
        ),
        (
            "log-messages-at-the-level-are-sent",
            called_at(&["info", "info", "error"], 2),
            called_at(&["info", "info", "error"], 3),
        ),
        ("log-messages-have-the-minimum-level", set("error").says(logged("info")), set("error").says(logged("error"))),
    ]
}

/// Calls of a tool after each of these levels was set, of which the first ones log an error.
fn called_at(levels: &[&str], logging: usize) -> Talk {
    levels.iter().enumerate().fold(stdio(), |talk, (position, level)| {
        let talk = talk.result("logging/setLevel", json!({ "level": level }), json!({}));
        let talk = talk
            .ask(json!({ "jsonrpc": "2.0", "id": position + 100, "method": "tools/call", "params": { "name": "a" } }));
        if position < logging { talk.says(logged("error")) } else { talk }
    })
}

fn with_data(data: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "info", "data": data } })
}

fn progresses() -> Vec<Row> {
    let one = || running(stdio(), json!("t")).says(progress(json!("t"), 1.0));
    let many = |count: u16| {
        (0..count).fold(running(stdio(), json!(7)), |talk, step| talk.says(progress(json!(7), step.into())))
    };
    vec![
        ("progress-has-a-known-token", running(stdio(), json!(7)).says(progress(json!("7"), 1.0)), one()),
        ("progress-stops-with-the-response", one().says(done()).says(progress(json!("t"), 2.0)), one().says(done())),
        ("progress-increases", one().says(progress(json!("t"), 1.0)), one().says(progress(json!("t"), 1.5))),
        ("progress-is-limited", many(1001), many(1000)),
    ]
}

fn others() -> Vec<Row> {
    let cancel = |id: Value| note("notifications/cancelled", json!({ "requestId": id }));
    let cancelled = || running(stdio(), json!(1)).ask(cancel(json!(50))).result("ping", json!({}), json!({}));
    let answered_after = |us: u64| {
        let mut talk = cancelled().says(done());
        talk.0.frames.last_mut().expect("a frame").at_us += us;
        talk
    };
    let slow = |id: Value| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "slow" } });
    let answer = |id: Value| json!({ "jsonrpc": "2.0", "id": id, "result": { "content": [] } });
    let three_calls = || {
        let two = stdio().ask(slow(json!(7))).ask(slow(json!("7"))).ask(cancel(json!("7")));
        two.ask(slow(json!(8))).says(answer(json!(8)))
    };
    let early = || stdio().ask(slow(json!(7))).ask(cancel(json!(8))).ask(slow(json!(8))).says(answer(json!(7)));
    let changed = note("notifications/tools/list_changed", json!({}));
    let keyed = |key: &str| stdio().result("ping", json!({}), json!({ "_meta": { key: 1 } }));
    vec![
        ("no-response-after-cancellation", answered_after(150_000), answered_after(50_000)),
        (
            "cancelled-request-has-no-error",
            rejected_as_cancelled(-32800, "cancelled"),
            rejected_as_cancelled(0, "Request cancelled"),
        ),
        ("cancels-no-other-request", three_calls(), three_calls().says(answer(json!(7)))),
        ("early-cancellation-is-ignored", early(), early().says(answer(json!(8)))),
        (
            "survives-cancellation",
            stdio().ask(cancel(json!(9))).ask(call("ping")),
            stdio().ask(cancel(json!(9))).result("ping", json!({}), json!({})),
        ),
        (
            "cancels-only-own-requests",
            stdio().says(cancel(json!(9))),
            stdio().says(json!({ "jsonrpc": "2.0", "id": 9, "method": "ping" })).says(cancel(json!(9))),
        ),
        (
            "list-changes-only-if-declared",
            stdio().says(changed.clone()),
            declaring(json!({ "tools": { "listChanged": true } })).says(changed),
        ),
        ("metadata-key-names", keyed("-a/b"), keyed("com.example/b")),
    ]
}

/// Whether a check passes, and not only does not fail.
fn passes(id: &str, talk: &Talk) -> bool {
    matches!(outcome_of(id, talk), CheckOutcome::Passed { .. })
}

fn slow(id: i64) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "slow" } })
}

fn answer(id: i64) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": { "content": [] } })
}

#[test]
fn repeated_progress_after_a_cancellation_was_not_on_its_way() {
    let cancel = note("notifications/cancelled", json!({ "requestId": 50 }));
    let cancelled = || running(stdio(), json!(1)).ask(cancel.clone()).result("ping", json!({}), json!({}));
    let after = |talk: Talk, us: u64, value: f64| {
        let mut talk = talk.says(progress(json!(1), value));
        talk.0.frames.last_mut().expect("a frame").at_us += us;
        talk
    };
    let id = "no-response-after-cancellation";
    assert!(passes(id, &after(cancelled(), 60_000, 1.0)));
    assert!(passes(id, &after(after(cancelled(), 1_000, 1.0), 2_000, 2.0)), "both at once");
    assert!(fails(id, &after(after(cancelled(), 10_000, 1.0), 60_000, 2.0)));
    let too_slow = note("notifications/cancelled", json!({ "requestId": 50, "reason": crate::peer::TOO_SLOW }));
    let ended = running(stdio(), json!(1)).ask(too_slow).result("ping", json!({}), json!({}));
    assert!(!fails(id, &after(ended, 200_000, 1.0)), "no test of a cancellation");
}

fn refused(id: i64, code: i64, text: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": text } })
}

/// A call that is cancelled, and then rejected with this error.
fn cancelled_with(code: i64, text: &str) -> Talk {
    let cancel = note("notifications/cancelled", json!({ "requestId": 6 }));
    modern().ask(slow(6)).ask(cancel).says(refused(6, code, text)).result("server/discover", json!({}), json!({}))
}

/// The same, and a call that is not cancelled and succeeds.
fn rejected_as_cancelled(code: i64, text: &str) -> Talk {
    cancelled_with(code, text).ask(slow(7)).says(answer(7))
}

#[test]
fn an_error_because_of_a_cancellation_is_a_response() {
    let fails_anyway = cancelled_with(-32800, "cancelled").ask(slow(7)).says(refused(7, -32603, "no network"));
    for id in ["no-response-after-cancellation", "cancelled-request-has-no-error"] {
        assert!(fails(id, &rejected_as_cancelled(-32800, "cancelled")));
        assert!(passes(id, &fails_anyway));
        assert!(passes(id, &rejected_as_cancelled(0, "Request cancelled")));
        assert!(!fails(id, &rejected_as_cancelled(-32021, "sampling is required")), "on its way");
    }
}

#[test]
fn a_cancellation_that_is_late_does_not_hit_the_next_call() {
    let cancel = |id: i64| note("notifications/cancelled", json!({ "requestId": id }));
    let late = |talk: Talk| {
        let mut talk = talk.ask(cancel(6)).ask(slow(7)).ask(json!({ "jsonrpc": "2.0", "id": 8, "method": "ping" }));
        talk = talk.says(json!({ "jsonrpc": "2.0", "id": 8, "result": {} }));
        talk.0.frames.last_mut().expect("a frame").at_us += 3_000_000;
        talk
    };
    let id = "survives-cancellation";
    assert!(fails(id, &late(stdio().ask(slow(6)).says(answer(6)))));
    assert!(!fails(id, &late(stdio().ask(slow(6)).says(answer(6))).says(answer(7))));
    let mut hours = stdio().ask(slow(6)).says(answer(6));
    hours.0.frames.last_mut().expect("a frame").at_us += 1_000_000;
    assert!(!fails(id, &late(hours)), "a slow tool");
}

#[test]
fn a_result_because_of_a_cancellation_is_a_response() {
    let cancel = note("notifications/cancelled", json!({ "requestId": 6 }));
    let failed = |id: i64| {
        let content = json!([{ "type": "text", "text": "cancelled" }]);
        json!({ "jsonrpc": "2.0", "id": id, "result": { "content": content, "isError": true } })
    };
    let cancelled = || {
        let talk = modern().ask(slow(6)).ask(cancel.clone()).says(failed(6));
        talk.result("server/discover", json!({}), json!({}))
    };
    let id = "no-response-after-cancellation";
    assert!(fails(id, &cancelled().ask(slow(7)).says(answer(7))));
    assert!(passes(id, &cancelled().ask(slow(7)).says(failed(7))), "the tool always fails");
    assert!(!fails("cancelled-request-has-no-error", &cancelled().ask(slow(7)).says(answer(7))));
}

#[test]
fn the_call_that_is_kept_may_be_sent_after_the_one_that_is_cancelled() {
    let cancel = note("notifications/cancelled", json!({ "requestId": 6 }));
    let lost = || stdio().ask(slow(6)).ask(slow(7)).ask(cancel.clone()).ask(slow(8)).says(answer(8));
    let id = "cancels-no-other-request";
    assert!(fails(id, &lost()));
    assert!(passes(id, &lost().says(answer(7))));
}

#[test]
fn the_rejection_of_a_tool_that_is_not_found_says_nothing_about_its_arguments() {
    let tool = json!({ "name": "a", "inputSchema": { "type": "object", "required": ["x"] } });
    let call = |arguments: Value| json!({ "name": "a", "arguments": arguments });
    let valid = || tools(json!([tool])).error("tools/call", call(json!({ "x": 1 })), -32602);
    let check = all().find(|check| check.id == "invalid-arguments-are-rejected").expect("a check");
    let not_found = valid().error("tools/call", call(json!({})), -32602);
    assert!(matches!(run(check, &not_found.0), CheckOutcome::NotApplicable(_)));
    let found = valid().error("tools/call", call(json!({})), -32600);
    assert!(matches!(run(check, &found.0), CheckOutcome::Passed { .. }));
}

#[test]
fn calls_that_wait_for_a_network_are_no_violation() {
    let call =
        |id: u16, name: &str| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": name } });
    let waiting = |annotations: Value| {
        let tools = ["a", "b"].map(|name| json!({ "name": name, "annotations": annotations }));
        stdio().result("tools/list", json!({}), json!({ "tools": tools })).ask(call(50, "a")).ask(call(51, "b"))
    };
    assert!(fails("tool-calls-are-answered", &waiting(json!({ "openWorldHint": false }))));
    assert!(!fails("tool-calls-are-answered", &waiting(json!({ "openWorldHint": true }))));
    assert!(!fails("tool-calls-are-answered", &waiting(json!({}))));
    let after = |delay_us: u64| {
        let tools = json!({ "tools": [{ "name": "a" }, { "name": "b" }] });
        let mut talk = stdio().result("tools/list", json!({}), tools).ask(call(50, "a"));
        talk = talk.result("tools/call", json!({ "name": "b" }), json!({ "content": [] }));
        talk.0.frames.last_mut().expect("a response").at_us += delay_us;
        talk
    };
    assert!(fails("tool-calls-are-answered", &after(0)));
    assert!(!fails("tool-calls-are-answered", &after(2_000_000)), "the other tool waits too");
}

#[test]
fn a_refusal_needs_no_more_time_than_a_call() {
    let tool = json!({ "name": "a", "inputSchema": { "type": "object", "required": ["x"] } });
    let call = |arguments: Value| json!({ "name": "a", "arguments": arguments });
    let open = |arguments: Value, waited_us: u64| {
        let mut talk = tools(json!([tool])).result("tools/call", call(json!({ "x": 1 })), json!({ "content": [] }));
        let cancel = note("notifications/cancelled", json!({ "requestId": 50, "reason": crate::peer::TOO_SLOW }));
        talk = talk.ask(json!({ "jsonrpc": "2.0", "id": 50, "method": "tools/call", "params": call(arguments) }));
        talk = talk.ask(cancel);
        talk.0.frames.last_mut().expect("a frame").at_us += waited_us;
        talk
    };
    let id = "tool-calls-are-answered";
    assert!(fails(id, &open(json!({}), 4_900_000)));
    assert!(!fails(id, &open(json!({}), 3_000_000)), "the machine may be busy");
    assert!(!fails(id, &open(json!({ "x": 60 }), 4_900_000)), "other arguments may take longer");
}

#[test]
fn a_call_that_the_next_one_ends_was_not_fast() {
    let call = |id: u64| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "next" } });
    let cancel = note("notifications/cancelled", json!({ "requestId": 52, "reason": crate::peer::TOO_SLOW }));
    let waits = |talk: Talk| {
        let mut talk = talk.ask(cancel.clone());
        talk.0.frames.last_mut().expect("a frame").at_us += 4_900_000;
        talk
    };
    let polls = || tools(json!([{ "name": "next" }])).ask(call(50));
    let id = "tool-calls-are-answered";
    assert!(!fails(id, &waits(polls().ask(call(51)).says(answer(50)).ask(call(52)).says(answer(51)))));
    assert!(fails(id, &waits(polls().says(answer(50)).ask(call(52)))));
    let named = |name: &str| {
        let params = json!({ "name": name });
        let call = json!({ "jsonrpc": "2.0", "id": 52, "method": "tools/call", "params": params });
        tools(json!([{ "name": name }])).ask(call)
    };
    assert!(fails(id, &named("await_call")));
    assert!(!fails(id, &named("poll_events")), "it waits on purpose");
}

#[test]
fn a_call_that_began_before_the_level_may_go_on_logging() {
    let call = |id: u64| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "slow" } });
    let cancel = || note("notifications/cancelled", json!({ "requestId": 7 }));
    let set = |talk: Talk| talk.result("logging/setLevel", json!({ "level": "error" }), json!({}));
    let id = "log-messages-have-the-minimum-level";
    let cancelled = || stdio().ask(call(7)).says(logged("info")).ask(cancel());
    assert!(!fails(id, &set(cancelled()).says(logged("info"))));
    assert!(fails(id, &set(stdio().ask(call(7)).ask(cancel())).says(logged("info"))), "it did not log");
    assert!(fails(id, &set(stdio()).ask(call(7)).says(logged("info"))));
}

#[test]
fn a_search_for_an_empty_text_finds_what_others_found() {
    let search = json!({ "name": "a", "inputSchema": {}, "annotations": { "readOnlyHint": true } });
    let found = || content(json!({ "type": "text", "text": "workbench" }));
    let talk = |second: &str| {
        let first = called(stdio(), search.clone(), json!({ "x": "workbench" }), found());
        first.result("tools/call", json!({ "name": "a", "arguments": { "x": second } }), found())
    };
    assert!(fails("results-follow-the-arguments", &talk("other")));
    assert!(!fails("results-follow-the-arguments", &talk("")));
}
