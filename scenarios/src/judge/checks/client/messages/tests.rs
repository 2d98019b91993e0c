use serde_json::json;

use crate::{
    judge::checks::testing::{
        EvidenceBuilder, call, fails, initialize, modern, not_applicable, note, passes, request, result,
    },
    model::Revision,
};

const LEGACY: Revision = Revision::V2025_11_25;
const MODERN: Revision = Revision::V2026_07_28;

#[test]
fn messages_have_the_members_of_their_revision() {
    let id = "client-messages-have-shapes";
    for story in EvidenceBuilder::legacy() {
        passes(id, story.client(call(1, "x")).client(request(2, "example/own", json!({"any": 1}))));
    }
    passes(id, EvidenceBuilder::stdio(MODERN).client(modern(1, "tools/call", json!({"name": "x", "new": 1}))));
    let greeted = || EvidenceBuilder::stdio(LEGACY).greet();
    fails(id, greeted().client(request(1, "tools/call", json!({"name": 7}))), "/params/name");
    fails(id, greeted().client(request(1, "tools/call", json!({"name": "x", "arguments": []}))), "/params/arguments");
    fails(id, greeted().client(request(1, "tools/list", json!({"cursor": 3}))), "/params/cursor");
    let token = json!({"name": "x", "_meta": {"progressToken": {}}});
    fails(id, greeted().client(request(1, "tools/call", token)), "progressToken");
    let mut undeclared = initialize(0, "2025-11-25");
    undeclared["params"]["capabilities"]["roots"] = json!(true);
    fails(id, EvidenceBuilder::stdio(LEGACY).client(undeclared), "/params/capabilities/roots");
    let mut level = modern(1, "tools/list", json!({}));
    level["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("loud");
    fails(id, EvidenceBuilder::stdio(MODERN).client(level), "logLevel");
}

#[test]
fn results_have_the_members_that_the_request_demands() {
    let id = "client-results-have-shapes";
    let rooted = |roots| {
        let asked = EvidenceBuilder::stdio(LEGACY).greet().client(call(1, "x"));
        asked.server(request("r", "roots/list", json!({}))).client(result("r", roots))
    };
    passes(id, rooted(json!({"roots": [{"uri": "file:///a", "own": 1}]})));
    fails(id, rooted(json!({"roots": {}})), "/result/roots");
    fails(id, rooted(json!({"roots": [{"name": "a"}]})), "/result/roots/0/uri");
    not_applicable(id, EvidenceBuilder::stdio(LEGACY).greet().client(result("r", json!({}))));
}

#[test]
fn methods_exist_in_the_revision() {
    let id = "methods-of-the-revision";
    for story in EvidenceBuilder::legacy() {
        passes(id, story.client(request(1, "ping", json!({}))).client(request(2, "example/own", json!({}))));
    }
    for method in ["notifications/cancel", "notifications/canceled", "$/cancelRequest"] {
        fails(id, EvidenceBuilder::stdio(LEGACY).greet().client(note(method)), "exists in no revision");
        fails(id, EvidenceBuilder::stdio(MODERN).client(note(method)), "exists in no revision");
    }
    passes(id, EvidenceBuilder::stdio(LEGACY).greet().client(note("notifications/example/cancel")));
    // The probe of a client of both eras, and a client that falls back.
    passes(id, EvidenceBuilder::stdio(LEGACY).client(modern(7, "server/discover", json!({}))).greet());
    passes(id, EvidenceBuilder::stdio(MODERN).client(modern(7, "server/discover", json!({}))).greet());
    passes(id, EvidenceBuilder::stdio(MODERN).client(modern(1, "tasks/get", json!({"taskId": "1"}))));
    fails(
        id,
        EvidenceBuilder::stdio(MODERN).client(modern(1, "ping", json!({}))),
        "`ping` does not exist in 2026-07-28",
    );
    fails(id, EvidenceBuilder::stdio(MODERN).client(note("notifications/initialized")), "does not exist");
    fails(
        id,
        EvidenceBuilder::stdio(LEGACY).greet().client(request(1, "subscriptions/listen", json!({}))),
        "2025-11-25",
    );
    fails(id, EvidenceBuilder::stdio(LEGACY).greet().client(note("notifications/message")), "only servers send");
}

#[test]
fn metadata_has_valid_keys() {
    let keyed = |key: &str| {
        let meta = json!({"name": "x", "_meta": {key: 1}});
        EvidenceBuilder::stdio(LEGACY).greet().client(request(1, "tools/call", meta))
    };
    passes("client-metadata-keys", keyed("com.example/a"));
    passes("client-metadata-keys", keyed("progressToken"));
    fails("client-metadata-keys", keyed("1com/a"), "`1com/a`");
    let extended = |name: &str| {
        let mut message = modern(1, "tools/list", json!({}));
        message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"extensions": {name: {}}});
        EvidenceBuilder::stdio(MODERN).client(message)
    };
    passes("client-extension-identifiers", extended("io.modelcontextprotocol/tasks"));
    fails("client-extension-identifiers", extended("tasks"), "`tasks`");
}
