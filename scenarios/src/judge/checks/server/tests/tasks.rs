//! Checks of tasks, and of requests to the user.

use super::*;

fn task(id: &str, status: &str) -> Value {
    json!({ "taskId": id, "status": status, "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z",
        "ttl": null })
}

fn declared() -> Talk {
    let capabilities = json!({ "tasks": { "requests": { "tools": { "call": {} } } } });
    let tools = json!([{ "name": "job", "execution": { "taskSupport": "optional" } }, { "name": "plain" }]);
    let talk = stdio().knows(&[Revision::V2025_11_25], capabilities);
    talk.result("tools/list", json!({}), json!({ "tools": tools }))
}

/// A handshake with the revision of the case, which is answered with this one.
fn answers(revision: &str) -> Talk {
    stdio().result("initialize", json!({ "protocolVersion": "2025-11-25" }), json!({ "protocolVersion": revision }))
}

fn calling(tool: &str) -> Value {
    json!({ "name": tool, "arguments": {}, "task": {}, "_meta": { "progressToken": "t" } })
}

/// A call as a task with this result.
fn called(result: Value) -> Talk {
    declared().result("tools/call", calling("job"), result)
}

/// A task with this id, in the status `working`.
fn created(id: &str) -> Talk {
    called(json!({ "task": task(id, "working") }))
}

fn get(talk: Talk, id: &str, status: &str) -> Talk {
    talk.result("tasks/get", json!({ "taskId": id }), task(id, status))
}

fn content(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

/// The result of the task, with more members.
fn outcome_of(talk: Talk, result: Value) -> Talk {
    talk.result("tasks/result", json!({ "taskId": "a" }), result)
}

fn related(mut value: Value, id: &str) -> Value {
    value["_meta"] = json!({ "io.modelcontextprotocol/related-task": { "taskId": id } });
    value
}

fn ids(ids: [&str; 3]) -> Talk {
    ids.iter()
        .fold(declared(), |talk, id| talk.result("tools/call", calling("job"), json!({ "task": task(id, "working") })))
}

fn late(mut talk: Talk, after_us: u64) -> Talk {
    if let Some(last) = talk.0.frames.last_mut() {
        last.at_us += after_us;
    }
    talk
}

fn elicitation(params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": "e-1", "method": "elicitation/create", "params": params })
}

/// The status of the task long after its elicitation was answered.
fn after_input(status: &str) -> Talk {
    let asked = created("a").says(elicitation(related(json!({ "message": "?" }), "a")));
    let answered = asked.ask(json!({ "jsonrpc": "2.0", "id": "e-1", "result": { "action": "decline" } }));
    late(get(answered, "a", status), 2_000_000)
}

fn progress_after_end(us: u64) -> Talk {
    let params = json!({ "progressToken": "t", "progress": 1 });
    let progress = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params });
    late(get(created("a"), "a", "completed").says(progress), us)
}

fn without_tasks(result: Value) -> Talk {
    let talk = stdio().knows(&[Revision::V2025_11_25], json!({ "tools": {} }));
    let talk = talk.result("tools/list", json!({}), json!({ "tools": [{ "name": "plain" }] }));
    talk.result("tools/call", calling("plain"), result)
}

fn compared(text: &str) -> Talk {
    let plain = json!({ "name": "job", "arguments": {} });
    let talk = declared().result("tools/call", plain.clone(), content("a")).result("tools/call", plain, content("a"));
    let talk = talk.result("tools/call", calling("job"), json!({ "task": task("a", "working") }));
    outcome_of(talk, related(content(text), "a"))
}

fn polled(kind: &str) -> Talk {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": { "taskId": "a" } });
    let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": task("a", "working") });
    http().ask(request).frame(Direction::ServerToClient, Body::json(answer), Some(status(200, kind)))
}

/// A request to a client with these capabilities.
fn requested(capabilities: Value, method: &str, params: Value) -> Talk {
    let talk = stdio().result("initialize", json!({ "capabilities": capabilities }), json!({}));
    talk.says(json!({ "jsonrpc": "2.0", "id": "u-1", "method": method, "params": params }))
}

fn sampled(messages: Value) -> Talk {
    let schema = json!({ "type": "object", "required": ["degrees"] });
    let tools = json!([{ "name": "weather", "inputSchema": {}, "outputSchema": schema }]);
    let params = json!({ "maxTokens": 1, "messages": messages, "tools": tools });
    requested(json!({ "sampling": { "tools": {} } }), "sampling/createMessage", params)
}

/// A tool use, and the message after it.
fn after_use(content: Value) -> Talk {
    let used = json!({ "type": "tool_use", "id": "use-1", "name": "weather", "input": {} });
    sampled(json!([{ "role": "assistant", "content": [used] }, { "role": "user", "content": content }]))
}

fn tool_result(id: &str, structured: Value) -> Value {
    json!({ "type": "tool_result", "toolUseId": id, "content": [], "structuredContent": structured })
}

fn elicited(params: Value) -> Talk {
    requested(json!({ "elicitation": {} }), "elicitation/create", params)
}

/// A call that sends the same form again and again, and the user declines each time.
fn declined(times: u64, is_answered: bool) -> Talk {
    let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": "a" } });
    let asked = (0..times).fold(stdio().ask(call), |talk, id| {
        let request =
            json!({ "jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": { "message": "?" } });
        talk.says(request).ask(json!({ "jsonrpc": "2.0", "id": id, "result": { "action": "decline" } }))
    });
    match is_answered {
        true => asked.says(json!({ "jsonrpc": "2.0", "id": 7, "result": { "content": [] } })),
        false => asked.ask(cancel(7)),
    }
}

/// Two calls that sample. The model refuses the second one, which is cancelled after this time.
fn rejected(after_us: u64) -> Talk {
    let call = |id: u64| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "a" } });
    let sample = |id: &str| json!({ "jsonrpc": "2.0", "id": id, "method": "sampling/createMessage", "params": {} });
    let first = stdio().ask(call(7)).says(sample("u-1")).ask(json!({ "jsonrpc": "2.0", "id": "u-1", "result": {} }));
    let first = first.says(json!({ "jsonrpc": "2.0", "id": 7, "result": { "content": [] } }));
    let error = json!({ "jsonrpc": "2.0", "id": "u-2", "error": { "code": -1, "message": "no" } });
    let mut talk = first.ask(call(8)).says(sample("u-2")).ask(error).ask(cancel(8));
    if let Some(last) = talk.0.frames.last_mut() {
        last.at_us += after_us;
    }
    talk
}

fn cancel(id: u64) -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } })
}

fn url_error(elicitations: Value) -> Talk {
    let error = json!({ "jsonrpc": "2.0", "id": 7, "error": { "code": -32042, "message": "no", "data": { "elicitations": elicitations } } });
    stdio().ask(json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": "a" } })).says(error)
}

fn cancelled(id: &str) -> Talk {
    let talk = elicited(json!({ "message": "?", "task": {} }));
    talk.says(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }))
}

fn pinged(count: u64) -> Talk {
    (0..count).fold(stdio(), |talk, id| talk.says(json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })))
}

fn negotiated(revision: &str) -> Talk {
    let params = json!({ "protocolVersion": UNKNOWN.revision });
    stdio().result("initialize", params, json!({ "protocolVersion": revision }))
}

pub(super) fn table() -> Vec<Row> {
    [task_rows(), user_request_rows()].into_iter().flatten().collect()
}

fn task_rows() -> Vec<Row> {
    let ended = || get(created("a"), "a", "completed");
    let unknown = json!({ "taskId": "workbench-no-such-task" });
    vec![
        ("ended-task-keeps-its-status", get(ended(), "a", "working"), get(ended(), "a", "completed")),
        ("new-task-is-working", called(json!({ "task": task("a", "input_required") })), created("a")),
        (
            "task-ids-are-unique",
            created("a").result("tools/call", calling("job"), json!({ "task": task("a", "working") })),
            created("a").result("tools/call", calling("job"), json!({ "task": task("b", "working") })),
        ),
        (
            "task-ids-are-random",
            ids(["task-1", "task-2", "task-3"]),
            ids([
                "6f9619ff-8b86-4011-b42d-00c04fc964ff",
                "0b1c2d3e-4f50-4162-9384-95a6b7c8d9e0",
                "c56a4180-65aa-42ec-a945-5fd21dec0538",
            ]),
        ),
        (
            "task-parameter-decides",
            created("a").error("tasks/get", related(json!({ "taskId": "a" }), "b"), -32602),
            created("a").result("tasks/get", related(json!({ "taskId": "a" }), "b"), task("a", "working")),
        ),
        (
            "task-result-waits-for-the-end",
            get(created("a").error("tasks/result", json!({ "taskId": "a" }), -32603), "a", "working"),
            get(outcome_of(created("a"), content("a")), "a", "completed"),
        ),
        (
            "task-result-agrees-with-the-status",
            ended().error("tasks/result", json!({ "taskId": "a" }), -32603),
            outcome_of(ended(), content("a")),
        ),
        (
            "task-result-names-its-task",
            outcome_of(created("a"), content("a")),
            outcome_of(created("a"), related(content("a"), "a")),
        ),
        (
            "task-answers-have-no-related-task",
            created("a").result("tasks/get", json!({ "taskId": "a" }), related(task("a", "working"), "a")),
            ended(),
        ),
        (
            "unknown-task-code",
            declared().error("tasks/get", unknown.clone(), -32603),
            declared().error("tasks/get", unknown, -32602),
        ),
        (
            "tasks-are-listed",
            get(created("a").result("tasks/list", json!({}), json!({ "tasks": [] })), "a", "working"),
            get(
                created("a").result("tasks/list", json!({}), json!({ "tasks": [task("a", "working")] })),
                "a",
                "working",
            ),
        ),
        (
            "ended-task-is-not-cancelled",
            ended().result("tasks/cancel", json!({ "taskId": "a" }), task("a", "cancelled")),
            ended().error("tasks/cancel", json!({ "taskId": "a" }), -32602),
        ),
        (
            "cancelled-task-has-the-status",
            created("a").result("tasks/cancel", json!({ "taskId": "a" }), task("a", "working")),
            created("a").result("tasks/cancel", json!({ "taskId": "a" }), task("a", "cancelled")),
        ),
        (
            "failed-call-fails-its-task",
            outcome_of(ended(), json!({ "content": [], "isError": true })),
            outcome_of(get(created("a"), "a", "failed"), json!({ "content": [], "isError": true })),
        ),
        (
            "failed-task-has-a-message",
            get(created("a"), "a", "failed"),
            created("a").result(
                "tasks/get",
                json!({ "taskId": "a" }),
                json!({ "taskId": "a", "status": "failed", "statusMessage": "No disk." }),
            ),
        ),
        ("task-poll-opens-no-stream", polled("text/event-stream"), polled("application/json")),
        ("task-call-returns-a-task", called(content("a")), created("a")),
        (
            "task-is-returned-at-once",
            get(late(created("a"), 3_000_000), "a", "completed"),
            get(late(created("a"), 3_000_000), "a", "working"),
        ),
        (
            "task-of-plain-tool-code",
            declared().result("tools/call", calling("plain"), content("a")),
            declared().error("tools/call", calling("plain"), -32601),
        ),
        (
            "task-metadata-is-ignored",
            without_tasks(json!({ "task": task("a", "working") })),
            without_tasks(content("a")),
        ),
        ("task-result-is-that-of-the-call", compared("b"), compared("a")),
        (
            "task-times-are-right",
            get(
                called(json!({ "task": { "taskId": "a", "status": "working", "createdAt": "2026-01-01T00:00:01Z" } })),
                "a",
                "working",
            ),
            get(created("a"), "a", "working"),
        ),
        ("task-progress-ends-with-the-task", progress_after_end(1_000_000), progress_after_end(0)),
        (
            "request-of-a-task-names-it",
            created("a").says(elicitation(json!({ "message": "?" }))),
            created("a").says(elicitation(related(json!({ "message": "?" }), "a"))),
        ),
        ("task-goes-on-after-its-input", after_input("input_required"), after_input("working")),
        ("waiting-task-needs-input", waiting("working"), waiting("input_required")),
    ]
}

/// The elicitation `a`, and the completion of this one.
fn completes(id: &str) -> Talk {
    let talk = elicited(json!({ "mode": "url", "message": "?", "elicitationId": "a", "url": "https://a.example/" }));
    let params = json!({ "elicitationId": id });
    talk.says(json!({ "jsonrpc": "2.0", "method": "notifications/elicitation/complete", "params": params }))
}

fn user_request_rows() -> Vec<Row> {
    let text = json!({ "type": "text", "text": "Go on." });
    let warm = json!({ "degrees": 20 });
    let plain = json!({ "maxTokens": 1, "messages": [], "tools": [] });
    let form = |message: &str| json!({ "message": message, "requestedSchema": { "type": "object", "properties": {} } });
    let asking_for = |field: &str| json!({ "message": "?", "requestedSchema": { "type": "object", "properties": { field: { "type": "string", "title": "API key in use" } } } });
    let card = || json!({ "message": "?", "requestedSchema": { "type": "object", "properties": { "pin": { "type": "string", "title": "Credit card number" } } } });
    let token = |value: Value| json!({ "message": "?", "_meta": { "progressToken": value } });
    let by_url = |url: &str| json!({ "mode": "url", "message": "?", "elicitationId": "a", "url": url });
    vec![
        (
            "sampling-tools-need-the-capability",
            requested(json!({ "sampling": {} }), "sampling/createMessage", plain.clone()),
            requested(json!({ "sampling": { "tools": {} } }), "sampling/createMessage", plain),
        ),
        (
            "sampling-tool-results-are-alone",
            after_use(json!([tool_result("use-1", warm.clone()), text])),
            after_use(json!([tool_result("use-1", warm.clone())])),
        ),
        (
            "sampling-tool-uses-have-results",
            after_use(json!(text)),
            after_use(json!([tool_result("use-1", warm.clone())])),
        ),
        (
            "sampling-tool-results-conform",
            after_use(json!([tool_result("use-1", json!({}))])),
            after_use(json!([tool_result("use-1", warm)])),
        ),
        ("elicitation-url-uses-https", elicited(by_url("http://a.example/")), elicited(by_url("http://localhost:1/"))),
        ("form-asks-for-no-secrets", elicited(card()), elicited(asking_for("key_name"))),
        ("form-has-no-links", elicited(form("See https://a.example")), elicited(form("See the page."))),
        (
            "url-elicitation-error-has-elicitations",
            url_error(json!([])),
            url_error(json!([by_url("https://a.example/")])),
        ),
        (
            "tasks-need-the-client-capability",
            elicited(json!({ "message": "?", "task": {} })),
            elicited(json!({ "message": "?" })),
        ),
        ("task-is-cancelled-by-its-request", cancelled("u-1"), cancelled("u-2")),
        ("completed-elicitations-were-requested", completes("b"), completes("a")),
        ("refused-requests-end-the-call", declined(4, false), declined(4, true)),
        ("server-progress-tokens", elicited(token(json!(1.5))), elicited(token(json!("a")))),
        ("server-pings-are-limited", pinged(60), pinged(3)),
        ("supported-revision-is-confirmed", answers("2025-06-18"), answers("2025-11-25")),
        ("unknown-revision-gets-the-latest", negotiated("2025-06-18"), negotiated("2025-11-25")),
        (
            "undeclared-completion-code",
            stdio().error("completion/complete", json!({}), -32603),
            stdio().error("completion/complete", json!({}), -32601),
        ),
    ]
}

#[test]
fn a_refused_call_that_hangs_is_compared_with_an_accepted_one() {
    let id = "refused-requests-end-the-call";
    assert!(matches!(super::outcome_of(id, &rejected(20_000_000)), CheckOutcome::Failed { .. }));
    // The tool may be slow.
    assert!(matches!(super::outcome_of(id, &rejected(1_000)), CheckOutcome::NotApplicable(_)));
    assert!(matches!(super::outcome_of(id, &declined(2, false)), CheckOutcome::NotApplicable(_)));
}

/// A call has this id and parameters, is cancelled or not, and rejected as cancelled.
fn ended_as_cancelled(talk: Talk, params: Value, is_cancelled: bool) -> Talk {
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "c" } });
    let talk = talk.ask(json!({ "jsonrpc": "2.0", "id": "c", "method": "tools/call", "params": params }));
    let talk = if is_cancelled { talk.ask(cancel) } else { talk };
    let error = json!({ "code": -32800, "message": "Request cancelled" });
    talk.says(json!({ "jsonrpc": "2.0", "id": "c", "error": error }))
}

#[test]
fn the_error_of_a_cancelled_call_says_nothing_about_it() {
    let plain = json!({ "name": "plain", "arguments": {} });
    let listed = || {
        let talk = stdio().knows(&[Revision::V2025_11_25], json!({ "tools": {} }));
        let tools = json!([{ "name": "plain", "inputSchema": { "type": "object" } }]);
        talk.result("tools/list", json!({}), json!({ "tools": tools }))
    };
    let called = || listed().result("tools/call", plain.clone(), content("a"));
    for (is_cancelled, is_broken) in [(false, true), (true, false)] {
        let as_task = ended_as_cancelled(called(), calling("plain"), is_cancelled);
        assert_eq!(fails("task-metadata-is-ignored", &as_task), is_broken, "cancelled: {is_cancelled}");
        let failed = ended_as_cancelled(listed(), plain.clone(), is_cancelled);
        assert_eq!(fails("tool-failures-are-results", &failed), is_broken, "cancelled: {is_cancelled}");
    }
}

#[test]
fn a_tool_that_needs_a_task_has_no_comparable_result() {
    let plain = json!({ "name": "job", "arguments": {} });
    let failed = json!({ "content": [{ "type": "text", "text": "it needs a task" }], "isError": true });
    let talk = declared().result("tools/call", plain.clone(), failed.clone()).result("tools/call", plain, failed);
    let talk = talk.result("tools/call", calling("job"), json!({ "task": task("a", "working") }));
    assert!(!fails("task-result-is-that-of-the-call", &outcome_of(talk, related(content("a"), "a"))));
}

/// A task with this status while it waits for its user.
fn waiting(status: &str) -> Talk {
    let asked = created("a").says(elicitation(related(json!({ "message": "?" }), "a")));
    late(get(asked, "a", status), 300_000)
}

#[test]
fn the_result_of_a_task_is_kept_for_its_lifetime() {
    let id = "task-result-is-that-of-the-call";
    let gone = |talk: Talk| talk.error("tasks/result", json!({ "taskId": "a" }), -32602);
    assert!(fails(id, &gone(outcome_of(created("a"), related(content("a"), "a")))));
    let brief =
        json!({ "task": { "taskId": "a", "status": "working", "createdAt": "2026-01-01T00:00:00Z", "ttl": 100 } });
    assert!(!fails(id, &late(gone(outcome_of(called(brief), related(content("a"), "a"))), 200_000)));
    assert!(!fails(id, &gone(created("a"))), "the call may fail");
}

#[test]
fn a_call_that_fails_has_the_same_result_as_a_task() {
    let failed = json!({ "content": [{ "type": "text", "text": "no" }], "isError": true });
    let talk = |plain: &Value, status: &str| {
        let talk = declared().result("tools/call", json!({ "name": "job", "arguments": {} }), plain.clone());
        let talk = talk.result("tools/call", calling("job"), json!({ "task": task("a", "working") }));
        get(talk.error("tasks/result", json!({ "taskId": "a" }), -32603), "a", status)
    };
    assert!(fails("task-result-is-that-of-the-call", &talk(&failed, "failed")));
    assert!(!fails("task-result-is-that-of-the-call", &talk(&failed, "cancelled")));
    assert!(!fails("task-result-is-that-of-the-call", &talk(&content("a"), "failed")));
}

#[test]
fn a_result_that_is_read_twice_stays_the_same() {
    let id = "task-result-is-that-of-the-call";
    assert!(fails(id, &outcome_of(compared("a"), content("b"))));
    assert!(!fails(id, &outcome_of(compared("a"), related(content("a"), "a"))));
}

#[test]
fn pings_at_short_intervals_are_too_many_beside_few_requests() {
    let every = |interval_us: u64| {
        let mut talk = pinged(20);
        for (at, frame) in (0_u64..).zip(talk.0.frames.iter_mut().rev().take(20).rev()) {
            frame.at_us = at * interval_us;
        }
        talk.0.elapsed_us = 20 * interval_us;
        talk
    };
    let id = "server-pings-are-limited";
    assert!(super::fails(id, &every(60_000)));
    assert!(!super::fails(id, &every(500_000)));
    assert!(!super::fails(id, &every(1_000)), "a stream that begins with stored pings");
}
