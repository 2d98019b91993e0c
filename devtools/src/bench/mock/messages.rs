//! Messages of a call in each revision.

use serde_json::{Value, json};

/// The called tool of the profile `minimal`.
pub(in crate::bench) const TOOL: &str = "echo";
/// Name and value of the argument.
pub(in crate::bench) const ARGUMENT: (&str, &str) = ("text", "hello");
/// Text of the result.
pub(in crate::bench) const RESULT_TEXT: &str = "hello";
/// The first revision without sessions.
pub(in crate::bench) const MODERN: &str = "2026-07-28";
/// The newest revision with sessions.
pub(in crate::bench) const LEGACY: &str = "2025-11-25";

/// Whether a revision has a handshake and sessions.
pub(in crate::bench) fn has_sessions(revision: &str) -> bool {
    revision < MODERN
}

/// A call of the tool.
pub(in crate::bench) fn call(revision: &str) -> String {
    let mut params = json!({ "name": TOOL, "arguments": { ARGUMENT.0: ARGUMENT.1 } });
    if !has_sessions(revision) {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": revision,
            "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
    }
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
}

/// First message of the handshake.
pub(in crate::bench) fn initialize(revision: &str) -> String {
    let params = json!({
        "protocolVersion": revision,
        "capabilities": {},
        "clientInfo": { "name": "bench", "version": "1" },
    });
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }).to_string()
}

/// Last message of the handshake.
pub(in crate::bench) fn initialized() -> String {
    json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string()
}

/// The HTTP request of a message.
pub(super) fn post(revision: &str, session: Option<&str>, body: &str) -> Vec<u8> {
    let mut head = String::from(
        "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\n",
    );
    head.push_str(&format!("mcp-protocol-version: {revision}\r\ncontent-length: {}\r\n", body.len()));
    if let Some(session) = session {
        head.push_str(&format!("mcp-session-id: {session}\r\n"));
    }
    if !has_sessions(revision) {
        head.push_str(&format!("mcp-method: tools/call\r\nmcp-name: {TOOL}\r\n"));
    }
    format!("{head}\r\n{body}").into_bytes()
}

/// The HTTP request that opens the stream of a session.
pub(super) fn get(revision: &str, session: &str) -> Vec<u8> {
    format!(
        "GET /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: text/event-stream\r\nmcp-protocol-version: {revision}\r\n\
         mcp-session-id: {session}\r\n\r\n"
    )
    .into_bytes()
}

/// Whether this is a response with a result.
pub(super) fn is_result(response: &[u8]) -> bool {
    let response: Value = serde_json::from_slice(response).unwrap_or_default();
    response["id"] == 1 && response["result"]["content"].is_array() && response["result"]["isError"] != true
}
