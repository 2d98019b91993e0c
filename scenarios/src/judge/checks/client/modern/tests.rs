use serde_json::json;

use crate::{
    judge::checks::testing::{Story, broken, call, error, held, initialize, modern, request, result, silent},
    model::Revision,
};

const MODERN: Revision = Revision::V2026_07_28;

fn listed(story: Story) -> Story {
    story.client(modern(1, "tools/list", json!({}))).server(result(1, json!({"resultType": "complete", "tools": []})))
}

#[test]
fn each_request_carries_its_metadata() {
    let id = "modern-request-metadata";
    for story in [Story::stdio(MODERN), Story::http(MODERN)] {
        held(id, listed(story));
    }
    broken(id, listed(Story::stdio(MODERN)).client(call(2, "x")), "`tools/call` has no sound");
    for (member, value) in [("protocolVersion", json!(1)), ("clientCapabilities", json!([]))] {
        let mut message = modern(2, "tools/list", json!({}));
        message["params"]["_meta"][format!("io.modelcontextprotocol/{member}")] = value;
        broken(id, Story::stdio(MODERN).client(message), member);
    }
}

#[test]
fn the_old_way_of_speaking_needs_none() {
    let id = "modern-request-metadata";
    silent(id, Story::stdio(Revision::V2025_11_25).greet().client(call(1, "x")));
    silent(id, Story::stdio(MODERN).greet().client(call(1, "x")));
    silent(id, Story::stdio(MODERN).client(initialize(0, "2025-11-25")).server(error(0, -32601)));
}

#[test]
fn a_client_should_say_who_it_is() {
    let id = "modern-client-info";
    held(id, listed(Story::stdio(MODERN)));
    let mut message = modern(1, "tools/list", json!({}));
    message["params"]["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": "x"});
    broken(id, Story::stdio(MODERN).client(message), "who the client is");
}

#[test]
fn headers_say_what_the_body_says() {
    let id = "modern-http-headers";
    let called = || Story::http(MODERN).client(modern(1, "tools/call", json!({"name": "echo"})));
    held(id, called());
    held(id, listed(Story::http(MODERN)));
    held(id, Story::http(MODERN).client(modern(1, "resources/read", json!({"uri": "file:///a b"}))));
    broken(id, called().with("mcp-protocol-version", "2025-11-25"), "MCP-Protocol-Version");
    broken(id, called().without("mcp-protocol-version"), "MCP-Protocol-Version of `tools/call` is absent");
    broken(id, called().with("mcp-method", "Tools/Call"), "Mcp-Method");
    broken(id, called().without("mcp-method"), "Mcp-Method of `tools/call` is absent");
    broken(id, called().with("mcp-name", "other"), "Mcp-Name is `other`");
    broken(id, called().without("mcp-name"), "Mcp-Name is absent");
    silent(id, listed(Story::stdio(MODERN)));
}

#[test]
fn unsafe_names_travel_in_base64() {
    let id = "modern-http-headers";
    let called = |name: &str, header: &str| {
        Story::http(MODERN).client(modern(1, "tools/call", json!({"name": name}))).with("mcp-name", header)
    };
    held(id, called("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="));
    held(id, called(" padded ", "=?base64?IHBhZGRlZCA=?="));
    held(id, called("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="));
    held(id, called("plain", "=?base64?cGxhaW4=?="));
    broken(id, called("世界", "世界"), "Mcp-Name");
    broken(id, called(" padded ", "padded"), "Mcp-Name");
    broken(id, called("=?base64?literal?=", "=?base64?literal?="), "Mcp-Name");
    broken(id, called("plain", "=?BASE64?cGxhaW4=?="), "Mcp-Name");
}

#[test]
fn there_are_no_sessions() {
    let id = "modern-no-session";
    held(id, listed(Story::http(MODERN)));
    let carries = |name: &str| Story::http(MODERN).client(modern(1, "tools/list", json!({}))).with(name, "1");
    broken(id, carries("mcp-session-id"), "mcp-session-id");
    broken(id, carries("last-event-id"), "last-event-id");
    broken(id, listed(Story::http(MODERN)).verb("GET"), "GET");
    silent(id, listed(Story::stdio(MODERN)));
}

#[test]
fn a_client_that_still_finds_out_may_try_the_old_verbs() {
    let id = "modern-no-session";
    let refused = || Story::http(MODERN).client(modern(1, "tools/list", json!({}))).status(405);
    held(id, refused().verb("GET").status(405));
    held(id, refused().client(initialize(0, "2025-11-25")).status(400).verb("GET").status(405));
    silent(id, Story::http(MODERN).greet().client(request(1, "tools/list", json!({}))).verb("GET").verb("DELETE"));
}
