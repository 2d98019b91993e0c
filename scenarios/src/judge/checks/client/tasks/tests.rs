use serde_json::{Value, json};

use crate::{
    judge::checks::testing::{EvidenceBuilder, fails, modern, not_applicable, passes, request, result},
    model::Revision,
};

fn called(declared: Value, execution: Value) -> EvidenceBuilder {
    let story = EvidenceBuilder::stdio(Revision::V2025_11_25).greet_with(declared);
    let story = story.client(request(1, "tools/list", json!({})));
    let story = story.server(result(1, json!({"tools": [{"name": "x", "execution": execution}]})));
    story.client(request(2, "tools/call", json!({"name": "x", "task": {}})))
}

#[test]
fn tools_are_called_as_tasks_only_with_support() {
    let id = "tasks-only-where-supported";
    let declared = || json!({"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}});
    passes(id, called(declared(), json!({"taskSupport": "optional"})));
    fails(id, called(declared(), json!({"taskSupport": "forbidden"})), "which it does not support");
    fails(id, called(declared(), json!({})), "which it does not support");
    fails(id, called(json!({"tools": {}}), json!({"taskSupport": "optional"})), "which the server does not support");
}

#[test]
fn responses_name_their_task() {
    let id = "related-task-answered";
    let meta = || json!({"io.modelcontextprotocol/related-task": {"taskId": "7"}});
    let asked = || {
        let story = EvidenceBuilder::stdio(Revision::V2025_11_25).greet();
        story.server(request("q", "elicitation/create", json!({"_meta": meta()})))
    };
    passes(id, asked().client(result("q", json!({"action": "cancel", "_meta": meta()}))));
    fails(id, asked().client(result("q", json!({"action": "cancel"}))), "does not name the task");
    let own = EvidenceBuilder::stdio(Revision::V2025_11_25).greet();
    let own = own.client(request(3, "tasks/get", json!({"taskId": "7", "_meta": meta()})));
    fails("task-requests-without-metadata", own, "`tasks/get` has a related task");
}

#[test]
fn metadata_of_tasks_is_ignored_without_the_capability() {
    let id = "undeclared-task-ignored";
    let asked = |capabilities: Value| {
        let story = EvidenceBuilder::stdio(Revision::V2025_11_25);
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {}});
        let story = story.client(request(0, "initialize", hello)).server(result(0, json!({"capabilities": {}})));
        story.server(request("q", "sampling/createMessage", json!({"maxTokens": 5, "task": {"ttl": 1}})))
    };
    let task = || result("q", json!({"task": {"taskId": "1", "status": "working"}}));
    fails(id, asked(json!({"sampling": {}})).client(task()), "the result is a task");
    passes(id, asked(json!({"sampling": {}})).client(result("q", json!({"role": "assistant"}))));
    not_applicable(id, asked(json!({"tasks": {"requests": {"sampling": {"createMessage": {}}}}})).client(task()));
}

#[test]
fn a_task_is_asked_for() {
    let id = "tasks-are-asked-for";
    let created = || {
        let story = EvidenceBuilder::stdio(Revision::V2025_11_25).greet();
        let story = story.client(request(2, "tools/call", json!({"name": "x", "task": {}})));
        story.server(result(2, json!({"task": {"taskId": "7", "status": "working"}})))
    };
    let other = || request(3, "tools/call", json!({"name": "y"}));
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        passes(id, created().wait(500).client(request(9, method, json!({"taskId": "7"}))).wait(4000).client(other()));
    }
    fails(id, created().wait(4000).client(other()), "asked for the task never");
    let late = created().wait(4000).client(request(9, "tasks/cancel", json!({"taskId": "7"})));
    fails(id, late, "asked for the task never");
    not_applicable(id, created().wait(1000).client(other()));
}

fn poll(id: u64) -> Value {
    let mut message = modern(id, "tasks/get", json!({"taskId": "7"}));
    message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
        json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    message
}

fn status(id: u64, status: &str) -> Value {
    result(id, json!({"resultType": "complete", "taskId": "7", "status": status, "pollIntervalMs": 400}))
}

fn polled(id: u64, story: EvidenceBuilder, state: &str) -> EvidenceBuilder {
    story.client(poll(id)).server(status(id, state))
}

fn modern_story() -> EvidenceBuilder {
    EvidenceBuilder::stdio(Revision::V2026_07_28)
}

#[test]
fn the_extension_is_declared() {
    let id = "tasks-extension-declared";
    passes(id, modern_story().client(poll(1)));
    fails(id, modern_story().client(modern(1, "tasks/get", json!({"taskId": "7"}))), "does not declare");
    not_applicable(id, modern_story().client(modern(1, "tools/list", json!({}))));
}

#[test]
fn polls_keep_the_interval() {
    let id = "tasks-poll-interval";
    let twice = |ms: u64| polled(2, polled(1, modern_story(), "working").wait(ms), "working").wait(ms);
    passes(id, polled(3, twice(400), "completed"));
    passes(id, polled(3, twice(250), "completed"));
    fails(id, polled(3, twice(50), "completed"), "several times");
    let update = modern(9, "tasks/update", json!({"taskId": "7", "inputResponses": {}}));
    passes(id, polled(4, polled(3, twice(400), "input_required").client(update), "working"));
}

#[test]
fn polls_end_with_the_task() {
    let id = "tasks-polling-ends";
    passes(id, polled(2, polled(1, modern_story(), "working"), "completed"));
    // A poll may cross the response.
    passes(id, polled(2, polled(1, modern_story(), "completed"), "completed"));
    fails(id, polled(2, polled(1, modern_story(), "completed").wait(500), "completed"), "after the end of the task");
    let thrice = polled(2, polled(1, modern_story(), "completed"), "completed");
    fails(id, polled(3, thrice, "completed"), "after the end of the task");
}

#[test]
fn input_has_the_keys_of_its_requests() {
    let id = "task-input-has-requested-keys";
    let asked = || {
        let requests = json!({"Who": {"method": "elicitation/create", "params": {}}});
        let state =
            json!({"resultType": "complete", "taskId": "7", "status": "input_required", "inputRequests": requests});
        modern_story().client(poll(1)).server(result(1, state))
    };
    let update = |task: &str, key: &str| {
        modern(2, "tasks/update", json!({"taskId": task, "inputResponses": {key: {"action": "cancel"}}}))
    };
    passes(id, asked().client(update("7", "Who")).client(update("7", "Who")));
    fails(id, asked().client(update("7", "elicitation/create")), "requested no input with the key");
    fails(id, asked().client(update("8", "Who")), "requested no input with the key");
    let note = json!({"jsonrpc": "2.0", "method": "notifications/tasks", "params": {"taskId": "7", "inputRequests": {"Me": {}}}});
    passes(id, asked().server(note).client(update("7", "Me")));
    not_applicable(id, asked());
}
