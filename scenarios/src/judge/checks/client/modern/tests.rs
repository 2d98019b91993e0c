use evidence::ConnectionEvent;
use serde_json::json;

use crate::{
    judge::checks::testing::{
        EvidenceBuilder, call, error, fails, initialize, modern, not_applicable, passes, request, result,
    },
    model::Revision,
};

const MODERN: Revision = Revision::V2026_07_28;

fn listed(story: EvidenceBuilder) -> EvidenceBuilder {
    story.client(modern(1, "tools/list", json!({}))).server(result(1, json!({"resultType": "complete", "tools": []})))
}

#[test]
fn each_request_carries_its_metadata() {
    let id = "modern-request-metadata";
    for story in [EvidenceBuilder::stdio(MODERN), EvidenceBuilder::http(MODERN)] {
        passes(id, listed(story));
    }
    fails(id, listed(EvidenceBuilder::stdio(MODERN)).client(call(2, "x")), "`tools/call` has no valid");
    for (member, value) in [("protocolVersion", json!(1)), ("clientCapabilities", json!([]))] {
        let mut message = modern(2, "tools/list", json!({}));
        message["params"]["_meta"][format!("io.modelcontextprotocol/{member}")] = value;
        fails(id, EvidenceBuilder::stdio(MODERN).client(message), member);
    }
}

#[test]
fn the_old_way_of_speaking_needs_none() {
    let id = "modern-request-metadata";
    not_applicable(id, EvidenceBuilder::stdio(Revision::V2025_11_25).greet().client(call(1, "x")));
    not_applicable(id, EvidenceBuilder::stdio(MODERN).greet().client(call(1, "x")));
    not_applicable(id, EvidenceBuilder::stdio(MODERN).client(initialize(0, "2025-11-25")).server(error(0, -32601)));
}

#[test]
fn a_client_should_say_who_it_is() {
    let id = "modern-client-info";
    passes(id, listed(EvidenceBuilder::stdio(MODERN)));
    let mut message = modern(1, "tools/list", json!({}));
    message["params"]["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": "x"});
    fails(id, EvidenceBuilder::stdio(MODERN).client(message), "no name and version");
}

#[test]
fn headers_say_what_the_body_says() {
    let id = "modern-http-headers";
    let called = || EvidenceBuilder::http(MODERN).client(modern(1, "tools/call", json!({"name": "echo"})));
    passes(id, called());
    passes(id, listed(EvidenceBuilder::http(MODERN)));
    passes(id, EvidenceBuilder::http(MODERN).client(modern(1, "resources/read", json!({"uri": "file:///a b"}))));
    fails(id, called().with("mcp-protocol-version", "2025-11-25"), "MCP-Protocol-Version");
    fails(id, called().without("mcp-protocol-version"), "MCP-Protocol-Version of `tools/call` is absent");
    fails(id, called().with("mcp-method", "Tools/Call"), "Mcp-Method");
    fails(id, called().without("mcp-method"), "Mcp-Method of `tools/call` is absent");
    fails(id, called().with("mcp-name", "other"), "Mcp-Name is `other`");
    fails(id, called().without("mcp-name"), "Mcp-Name is absent");
    not_applicable(id, listed(EvidenceBuilder::stdio(MODERN)));
}

#[test]
fn unsafe_names_travel_in_base64() {
    let id = "modern-http-headers";
    let called = |name: &str, header: &str| {
        EvidenceBuilder::http(MODERN).client(modern(1, "tools/call", json!({"name": name}))).with("mcp-name", header)
    };
    passes(id, called("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="));
    passes(id, called(" padded ", "=?base64?IHBhZGRlZCA=?="));
    passes(id, called("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="));
    passes(id, called("plain", "=?base64?cGxhaW4=?="));
    fails(id, called("世界", "世界"), "Mcp-Name");
    fails(id, called(" padded ", "padded"), "Mcp-Name");
    fails(id, called("=?base64?literal?=", "=?base64?literal?="), "Mcp-Name");
    fails(id, called("plain", "=?BASE64?cGxhaW4=?="), "Mcp-Name");
}

#[test]
fn there_are_no_sessions() {
    let id = "modern-no-session";
    passes(id, listed(EvidenceBuilder::http(MODERN)));
    let carries = |name: &str| EvidenceBuilder::http(MODERN).client(modern(1, "tools/list", json!({}))).with(name, "1");
    fails(id, carries("mcp-session-id"), "mcp-session-id");
    fails(id, carries("last-event-id"), "last-event-id");
    fails(id, listed(EvidenceBuilder::http(MODERN)).verb("GET"), "GET");
    not_applicable(id, listed(EvidenceBuilder::stdio(MODERN)));
    let with_token = || {
        let sent = EvidenceBuilder::http(MODERN).client(modern(1, "tools/list", json!({})));
        let tools = json!({"resultType": "complete", "tools": []});
        sent.with("authorization", "Bearer [secret]").server(result(1, tools))
    };
    passes(id, with_token().verb("GET").status(401));
    fails(id, with_token().verb("GET").with("authorization", "Bearer [secret]"), "GET");
    fails(id, with_token().verb("DELETE"), "DELETE");
}

#[test]
fn a_client_that_still_finds_out_may_try_the_old_verbs() {
    let id = "modern-no-session";
    let refused = || EvidenceBuilder::http(MODERN).client(modern(1, "tools/list", json!({}))).status(405);
    passes(id, refused().verb("GET").status(405));
    passes(id, refused().client(initialize(0, "2025-11-25")).status(400).verb("GET").status(405));
    not_applicable(
        id,
        EvidenceBuilder::http(MODERN).greet().client(request(1, "tools/list", json!({}))).verb("GET").verb("DELETE"),
    );
}

#[test]
fn a_lost_stream_is_not_resumed() {
    let id = "lost-streams-are-not-resumed";
    let lost = || {
        EvidenceBuilder::http(MODERN).client(modern(1, "tools/list", json!({}))).mark(ConnectionEvent::ClosedByServer)
    };
    passes(id, lost());
    passes(id, lost().client(modern(2, "tools/list", json!({}))));
    fails(id, lost().verb("GET").with("last-event-id", "7"), "the event `7`");
    fails(id, lost().client(modern(1, "tools/list", json!({}))).with("last-event-id", "7"), "the event `7`");
    not_applicable(id, listed(EvidenceBuilder::stdio(MODERN)));
}

#[test]
fn only_declared_features_are_used_after_discovery() {
    let id = "uses-declared-capabilities";
    let greeting = json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
        "capabilities": {"resources": {"subscribe": false}, "prompts": {}}});
    let discovered = || {
        let story = EvidenceBuilder::stdio(MODERN).client(modern(0, "server/discover", json!({})));
        story.server(result(0, greeting.clone()))
    };
    passes(id, discovered().client(modern(1, "prompts/list", json!({}))));
    fails(id, discovered().client(modern(1, "tools/list", json!({}))), "did not declare `tools`");
    fails(id, discovered().client(modern(1, "completion/complete", json!({}))), "did not declare `completions`");
    // Without discovery, the client does not know the capabilities.
    not_applicable(id, EvidenceBuilder::stdio(MODERN).client(modern(1, "tools/list", json!({}))));
    not_applicable(id, discovered().client(modern(1, "subscriptions/listen", json!({}))));
}
