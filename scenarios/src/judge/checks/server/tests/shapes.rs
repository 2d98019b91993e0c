//! Each check of a shape is seen red and green. A part of a message that is null is the fault of one check.

use super::*;
use crate::{judge::check::Scope, shapes::Shapes};

/// How the message of a row is sent.
#[derive(Clone, Copy)]
enum Sent {
    /// The result of this method.
    Result(&'static str),
    /// The error of a request.
    Error,
    /// A request or notification of the server, with these parameters.
    Request(&'static str),
    Notification(&'static str),
    /// The message itself, after a request with the id 1.
    Message,
}

/// A check, the revision, and a message in which null at this place is its fault.
type Sample = (&'static str, Revision, Sent, Value, &'static str);

const NOV: Revision = Revision::V2025_11_25;
const NEW: Revision = Revision::V2026_07_28;

fn talk(revision: Revision, sent: Sent, json: Value) -> Talk {
    let talk = Talk::new(Transport::Stdio, revision);
    let params = if revision.is_modern() { meta() } else { json!({}) };
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params });
    match sent {
        Sent::Result(method) => talk.result(method, params, json),
        Sent::Error => talk.ask(request).says(json!({ "jsonrpc": "2.0", "id": 1, "error": json })),
        Sent::Request(method) => talk.says(json!({ "jsonrpc": "2.0", "id": "s", "method": method, "params": json })),
        Sent::Notification(method) => talk.says(json!({ "jsonrpc": "2.0", "method": method, "params": json })),
        Sent::Message => talk.ask(request).says(json),
    }
}

fn broken(json: &Value, pointer: &str) -> Value {
    let mut json = json.clone();
    *json.pointer_mut(pointer).expect("the place exists") = Value::Null;
    json
}

/// The rows as the table of all checks has them: a red and a green conversation.
pub(super) fn table() -> Vec<Row> {
    let talks = |(id, revision, sent, json, pointer): Sample| {
        (id, talk(revision, sent, broken(&json, pointer)), talk(revision, sent, json))
    };
    rows().into_iter().map(talks).collect()
}

fn rows() -> Vec<Sample> {
    [
        messages(),
        lifecycle(),
        tools(),
        content(),
        resources(),
        prompts(),
        notifications(),
        requests(),
        inputs(),
        tasks(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn messages() -> Vec<Sample> {
    let error = json!({ "code": -32022, "message": "m", "data": { "supported": ["x"], "requested": "y" } });
    let meta = json!({ "resultType": "complete", "_meta": { "io.modelcontextprotocol/serverInfo": {} } });
    let mut with_info = meta;
    with_info["_meta"]["io.modelcontextprotocol/serverInfo"] = json!({ "name": "s", "version": "1" });
    let subscription = json!({ "_meta": { "io.modelcontextprotocol/subscriptionId": 5 } });
    vec![
        (
            "shape-request",
            NOV,
            Sent::Message,
            json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": {} }),
            "/id",
        ),
        ("shape-notification", NOV, Sent::Notification("notifications/x"), json!({}), ""),
        (
            "shape-notification-meta",
            NEW,
            Sent::Notification("notifications/tools/list_changed"),
            subscription,
            "/_meta/io.modelcontextprotocol~1subscriptionId",
        ),
        ("shape-response", NOV, Sent::Message, json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": [] } }), "/id"),
        ("shape-error", NEW, Sent::Error, error, "/data/supported/0"),
        ("shape-result", NEW, Sent::Result("x/y"), json!({ "resultType": "complete" }), "/resultType"),
        ("shape-result-meta", NEW, Sent::Result("x/y"), with_info, "/_meta"),
    ]
}

fn lifecycle() -> Vec<Sample> {
    let capabilities = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": { "tools": { "listChanged": true } },
        "serverInfo": { "name": "s", "version": "1" },
        "instructions": "i",
    });
    let discovery = good(json!({ "supportedVersions": ["2026-07-28"], "capabilities": {} }));
    let initialize = Sent::Result("initialize");
    vec![
        ("shape-initialize-result", NOV, initialize, capabilities.clone(), "/instructions"),
        ("shape-implementation", NOV, initialize, capabilities.clone(), "/serverInfo/version"),
        ("shape-server-capabilities", NOV, initialize, capabilities, "/capabilities/tools/listChanged"),
        ("shape-discover-result", NEW, Sent::Result("server/discover"), discovery, "/supportedVersions/0"),
    ]
}

fn tools() -> Vec<Sample> {
    let tool = json!({
        "name": "a",
        "inputSchema": { "type": "object", "properties": { "x": true } },
        "outputSchema": { "type": "object" },
        "annotations": { "readOnlyHint": true },
        "execution": { "taskSupport": "optional" },
        "icons": [{ "src": "https://example.com/a.png", "theme": "dark" }],
    });
    let list = json!({ "tools": [tool], "nextCursor": "2" });
    let of_list = Sent::Result("tools/list");
    let row = |id, pointer| (id, NOV, of_list, list.clone(), pointer);
    vec![
        row("shape-list-tools-result", "/nextCursor"),
        row("shape-tool", "/tools/0/name"),
        row("shape-tool-input-schema", "/tools/0/inputSchema/properties/x"),
        row("shape-tool-output-schema", "/tools/0/outputSchema/type"),
        row("shape-tool-annotations", "/tools/0/annotations/readOnlyHint"),
        row("shape-tool-execution", "/tools/0/execution/taskSupport"),
        row("shape-icon", "/tools/0/icons/0/src"),
    ]
}

fn content() -> Vec<Sample> {
    let content = json!([
        { "type": "text", "text": "t", "annotations": { "audience": ["user"], "priority": 0.5 } },
        { "type": "image", "data": "aGk=", "mimeType": "image/png" },
        { "type": "audio", "data": "aGk=", "mimeType": "audio/wav" },
        { "type": "resource_link", "uri": "a:1", "name": "a" },
        { "type": "resource", "resource": { "uri": "a:1", "blob": "aGk=" }, "_meta": {} },
    ]);
    let result = json!({ "content": content, "isError": false, "structuredContent": {} });
    let row = |id, pointer| (id, NOV, Sent::Result("tools/call"), result.clone(), pointer);
    vec![
        row("shape-call-tool-result", "/isError"),
        row("shape-content-block", "/content/0/type"),
        row("shape-text-content", "/content/0/text"),
        row("shape-annotations", "/content/0/annotations/audience/0"),
        row("shape-image-content", "/content/1/data"),
        row("shape-audio-content", "/content/2/mimeType"),
        row("shape-resource-link", "/content/3/name"),
        row("shape-embedded-resource", "/content/4/_meta"),
        row("shape-resource-contents", "/content/4/resource/uri"),
    ]
}

fn resources() -> Vec<Sample> {
    let list = json!({ "resources": [{ "uri": "a:1", "name": "a", "size": 7 }] });
    let templates = json!({ "resourceTemplates": [{ "uriTemplate": "a:{x}", "name": "a" }], "nextCursor": "2" });
    let contents = json!({ "contents": [{ "uri": "a:1", "text": "t" }] });
    let (of_list, of_templates) = (Sent::Result("resources/list"), Sent::Result("resources/templates/list"));
    vec![
        ("shape-list-resources-result", NOV, of_list, list.clone(), "/resources"),
        ("shape-resource", NOV, of_list, list, "/resources/0/size"),
        ("shape-list-resource-templates-result", NOV, of_templates, templates.clone(), "/nextCursor"),
        ("shape-resource-template", NOV, of_templates, templates, "/resourceTemplates/0/uriTemplate"),
        ("shape-read-resource-result", NOV, Sent::Result("resources/read"), contents, "/contents"),
    ]
}

fn prompts() -> Vec<Sample> {
    let list = json!({ "prompts": [{ "name": "p", "arguments": [{ "name": "a", "required": true }] }] });
    let prompt = json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": "t" } }] });
    let completion = json!({ "completion": { "values": ["a"], "total": 1, "hasMore": false } });
    let (of_list, of_get) = (Sent::Result("prompts/list"), Sent::Result("prompts/get"));
    vec![
        ("shape-list-prompts-result", NOV, of_list, list.clone(), "/prompts"),
        ("shape-prompt", NOV, of_list, list.clone(), "/prompts/0/arguments"),
        ("shape-prompt-argument", NOV, of_list, list, "/prompts/0/arguments/0/required"),
        ("shape-get-prompt-result", NOV, of_get, prompt.clone(), "/messages"),
        ("shape-prompt-message", NOV, of_get, prompt, "/messages/0/role"),
        ("shape-completion-result", NOV, Sent::Result("completion/complete"), completion, "/completion/total"),
    ]
}

fn notifications() -> Vec<Sample> {
    let note = Sent::Notification;
    let changed = json!({ "_meta": {} });
    let filter = json!({ "notifications": { "toolsListChanged": true } });
    vec![
        (
            "shape-progress-notification",
            NOV,
            note("notifications/progress"),
            json!({ "progressToken": 1, "progress": 0.5, "message": "m" }),
            "/progress",
        ),
        ("shape-log-notification", NOV, note("notifications/message"), json!({ "level": "info", "data": 1 }), "/level"),
        ("shape-cancelled-notification", NOV, note("notifications/cancelled"), json!({ "requestId": 1 }), "/requestId"),
        ("shape-list-changed-notification", NOV, note("notifications/prompts/list_changed"), changed, "/_meta"),
        (
            "shape-resource-updated-notification",
            NOV,
            note("notifications/resources/updated"),
            json!({ "uri": "a:1" }),
            "/uri",
        ),
        (
            "shape-elicitation-complete-notification",
            NOV,
            note("notifications/elicitation/complete"),
            json!({ "elicitationId": "e" }),
            "/elicitationId",
        ),
        ("shape-task-status-notification", NOV, note("notifications/tasks/status"), task(), "/status"),
        (
            "shape-subscription-acknowledgement",
            NEW,
            note("notifications/subscriptions/acknowledged"),
            filter,
            "/notifications/toolsListChanged",
        ),
        (
            "shape-subscription-result",
            NEW,
            Sent::Result("subscriptions/listen"),
            json!({ "resultType": "complete", "_meta": { "io.modelcontextprotocol/subscriptionId": 1 } }),
            "/_meta/io.modelcontextprotocol~1subscriptionId",
        ),
    ]
}

fn requests() -> Vec<Sample> {
    let sampling = json!({
        "maxTokens": 1,
        "messages": [
            { "role": "user", "content": { "type": "text", "text": "t" } },
            { "role": "assistant", "content": [{ "type": "tool_use", "id": "i", "name": "n", "input": {} }] },
            { "role": "user", "content": { "type": "tool_result", "toolUseId": "i", "content": [] } },
        ],
    });
    let form = json!({
        "message": "m",
        "requestedSchema": { "type": "object", "properties": { "a": { "type": "string", "enum": ["x"] } } },
    });
    let url = json!({ "mode": "url", "message": "m", "url": "https://example.com", "elicitationId": "e" });
    let (sample, elicit) = (Sent::Request("sampling/createMessage"), Sent::Request("elicitation/create"));
    vec![
        ("shape-sampling-request", NOV, sample, sampling.clone(), "/maxTokens"),
        ("shape-sampling-message", NOV, sample, sampling.clone(), "/messages/0/role"),
        ("shape-tool-use-content", NOV, sample, sampling.clone(), "/messages/1/content/0/input"),
        ("shape-tool-result-content", NOV, sample, sampling, "/messages/2/content/toolUseId"),
        ("shape-elicitation-form", NOV, elicit, form.clone(), "/message"),
        ("shape-elicitation-schema", NOV, elicit, form, "/requestedSchema/properties/a/enum/0"),
        ("shape-elicitation-url", NOV, elicit, url, "/url"),
        ("shape-roots-request", NOV, Sent::Request("roots/list"), json!({}), ""),
    ]
}

fn inputs() -> Vec<Sample> {
    let result = json!({ "resultType": "input_required", "requestState": "s", "inputRequests": {
        "a": { "method": "roots/list" },
    } });
    let call = Sent::Result("tools/call");
    vec![
        ("shape-input-required-result", NEW, call, result.clone(), "/requestState"),
        ("shape-input-request", NEW, call, result, "/inputRequests/a/method"),
    ]
}

fn task() -> Value {
    json!({ "taskId": "t", "status": "working", "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": 1 })
}

fn tasks() -> Vec<Sample> {
    let list = json!({ "tasks": [task()], "nextCursor": "2" });
    vec![
        ("shape-task", NOV, Sent::Result("tasks/list"), list.clone(), "/tasks/0/taskId"),
        ("shape-list-tasks-result", NOV, Sent::Result("tasks/list"), list, "/nextCursor"),
        ("shape-task-result", NOV, Sent::Result("tasks/get"), task(), "/status"),
    ]
}

fn shape_checks() -> impl Iterator<Item = &'static Check> {
    all().filter(|check| check.is_of_shape())
}

#[test]
fn a_fault_is_reported_by_one_check_of_shapes() {
    for (id, revision, sent, json, pointer) in rows() {
        let talk = talk(revision, sent, broken(&json, pointer));
        let failed = shape_checks().filter(|check| matches!(run(check, &talk.0), CheckOutcome::Failed { .. }));
        assert_eq!(failed.map(|check| check.id).collect::<Vec<_>>(), [id], "{pointer}");
    }
}

#[test]
fn every_definition_of_messages_of_servers_belongs_to_one_check() {
    // Parameters of clients' requests and results of servers' requests.
    let of_clients = [
        "call-tool-params",
        "complete-params",
        "create-message-result",
        "elicit-result",
        "get-prompt-params",
        "initialize-params",
        "list-roots-result",
        "listen-params",
        "notification-params",
        "read-resource-params",
        "resource-params",
        "root",
        "set-level-params",
    ];
    let mut owners: BTreeMap<&str, Vec<&str>> = of_clients.map(|name| (name, vec!["client"])).into();
    for check in shape_checks() {
        for definition in check.definitions() {
            owners.entry(definition).or_default().push(check.id);
        }
        assert_eq!(check.scope, Scope::Always);
    }
    for revision in Revision::ALL {
        for name in Shapes::in_revision(revision).owners() {
            assert_eq!(owners.get(name).map(Vec::len), Some(1), "{name} in {revision}: {:?}", owners.get(name));
        }
    }
}

fn verdict(id: &str, talk: &Talk) -> CheckOutcome {
    run(all().find(|check| check.id == id).expect("a check"), &talk.0)
}

#[test]
fn a_message_is_compared_with_the_revision_that_was_negotiated() {
    let annotated = json!({ "tools": [{ "name": "a", "inputSchema": { "type": "object" }, "outputSchema": 7 }] });
    let negotiated = |revision: &str| {
        let mut result = greeting();
        result["protocolVersion"] = json!(revision);
        initialized(stdio(), result).result("tools/list", json!({}), annotated.clone())
    };
    assert!(matches!(verdict("shape-tool-output-schema", &negotiated("2025-06-18")), CheckOutcome::Failed { .. }));
    // The member is not described in 2025-03-26, so it may have any value.
    assert!(matches!(verdict("shape-tool-output-schema", &negotiated("2025-03-26")), CheckOutcome::NotApplicable(_)));
    assert!(matches!(verdict("shape-tool", &negotiated("2025-03-26")), CheckOutcome::Passed { .. }));
}

#[test]
fn a_response_to_a_request_without_metadata_is_not_compared_with_a_modern_shape() {
    let older = modern().result("tools/list", json!({}), json!({ "tools": [] }));
    assert!(matches!(verdict("shape-list-tools-result", &older), CheckOutcome::NotApplicable(_)));
    let handshake = modern().result("initialize", json!({ "protocolVersion": "2025-11-25" }), greeting());
    assert!(matches!(verdict("shape-initialize-result", &handshake), CheckOutcome::Passed { .. }));
    let newer = modern().result("tools/list", meta(), json!({ "tools": [] }));
    assert!(matches!(verdict("shape-list-tools-result", &newer), CheckOutcome::Failed { .. }));
}

#[test]
fn the_body_of_an_http_error_need_not_be_a_message() {
    let talk = http().ask(call("ping")).says_with(400, json!({ "error": "bad request" }));
    assert!(matches!(verdict("shape-error", &talk), CheckOutcome::NotApplicable(_)));
    let talk = http().ask(call("ping")).says_with(400, json!({ "jsonrpc": "2.0", "error": { "code": "x" } }));
    assert!(matches!(verdict("shape-error", &talk), CheckOutcome::Failed { .. }));
}

#[test]
fn an_error_may_lack_an_id() {
    let error = |id: Value| {
        stdio()
            .ask(call("ping"))
            .says(json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32700, "message": "" } }))
    };
    assert!(matches!(verdict("shape-error", &error(Value::Null)), CheckOutcome::Passed { .. }));
    assert!(matches!(verdict("shape-error", &error(json!({}))), CheckOutcome::Failed { .. }));
}
