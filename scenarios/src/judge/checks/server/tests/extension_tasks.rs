//! Checks of the extension for tasks of 2026-07-28.

use super::*;

const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// Parameters of a client with the extension, or without it.
fn params(has_extension: bool, mut members: Value) -> Value {
    let capabilities = if has_extension { json!({ "extensions": { EXTENSION: {} } }) } else { json!({}) };
    members["_meta"] = meta()["_meta"].clone();
    members["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    members
}

fn server() -> Talk {
    modern().knows(&[Revision::V2026_07_28], json!({ "tools": {}, "extensions": { EXTENSION: {} } }))
}

fn about(id: &str) -> Value {
    params(true, json!({ "taskId": id }))
}

/// A server whose call became the task `a`.
fn created() -> Talk {
    let task = json!({ "resultType": "task", "taskId": "a", "status": "working" });
    server().result("tools/call", params(true, json!({ "name": "job", "arguments": {} })), task)
}

/// The status of the task, with more members.
fn status(status: &str, mut members: Value) -> Talk {
    members["resultType"] = json!("complete");
    members["taskId"] = json!("a");
    members["status"] = json!(status);
    created().result("tasks/get", about("a"), members)
}

/// The call without a task has this result.
fn plain(talk: Talk, is_error: bool) -> Talk {
    let result = json!({ "resultType": "complete", "content": [], "isError": is_error });
    talk.result("tools/call", params(false, json!({ "name": "job", "arguments": {} })), result)
}

pub(super) fn table() -> Vec<Row> {
    let undeclared = |code| server().error("tasks/get", params(false, json!({ "taskId": "a" })), code);
    let kind = |kind: &str| server().result("tasks/cancel", about("a"), json!({ "resultType": kind }));
    let unknown = "workbench-no-such-task";
    let failed = || status("failed", json!({ "error": { "code": -32603, "message": "no" } }));
    let completed = || status("completed", json!({ "result": { "content": [], "isError": true } }));
    vec![
        ("task-requests-need-the-extension", undeclared(-32602), undeclared(-32021)),
        ("task-responses-are-complete", kind("task"), kind("complete")),
        ("new-task-exists", created().error("tasks/get", about("a"), -32602), completed()),
        ("task-status-has-its-members", status("completed", json!({})), completed()),
        ("tool-error-completes-its-task", plain(failed(), true), plain(completed(), true)),
        (
            "status-of-unknown-task-code",
            server().error("tasks/get", about(unknown), -32603),
            server().error("tasks/get", about(unknown), -32602),
        ),
        (
            "unknown-task-is-refused",
            server().result("tasks/cancel", about(unknown), json!({ "resultType": "complete" })),
            server().error("tasks/cancel", about(unknown), -32603),
        ),
    ]
}

#[test]
fn a_task_is_no_malformed_result_of_a_call() {
    assert!(!fails("shape-call-tool-result", &created()));
    let without_content = |kind: &str| {
        let result = json!({ "resultType": kind });
        server().result("tools/call", params(false, json!({ "name": "job", "arguments": {} })), result)
    };
    assert!(fails("shape-call-tool-result", &without_content("complete")));
}

#[test]
fn a_server_without_the_extension_may_answer_as_it_likes() {
    let other = modern().knows(&[Revision::V2026_07_28], json!({ "tools": {} }));
    let talk = other.error("tasks/get", params(false, json!({ "taskId": "a" })), -32601);
    assert!(matches!(outcome_of("task-requests-need-the-extension", &talk), CheckOutcome::NotApplicable(_)));
}

#[test]
fn a_task_may_fail_if_the_call_does_not_always_end_with_a_tool_error() {
    let failed = || status("failed", json!({ "error": { "code": -32603, "message": "no" } }));
    assert!(!fails("tool-error-completes-its-task", &plain(failed(), false)));
    assert!(!fails("tool-error-completes-its-task", &plain(plain(failed(), true), false)));
    // Only the first request about a task shows whether it exists: tasks have a lifetime.
    let expired = status("completed", json!({ "result": {} })).error("tasks/get", about("a"), -32602);
    assert!(!fails("new-task-exists", &expired));
}
