//! JSON-RPC messages as a conforming client or server sends them. Tests change fields to make them invalid.

use serde_json::{Value, json};

/// A request.
#[must_use]
pub fn request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    let mut message = notification(method, params);
    message["id"] = id.into();
    message
}

/// A notification. `Value::Null` as `params` omits the field.
#[must_use]
pub fn notification(method: &str, params: Value) -> Value {
    let mut message = json!({"jsonrpc": "2.0", "method": method});
    if !params.is_null() {
        message["params"] = params;
    }
    message
}

/// A response with a result.
#[must_use]
pub fn result(id: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// A response with an error.
#[must_use]
pub fn error(id: &Value, code: i64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "no"}})
}

/// A `tools/call` request.
#[must_use]
pub fn tool_call(id: impl Into<Value>, tool: &str, arguments: Value) -> Value {
    request(id, "tools/call", json!({"name": tool, "arguments": arguments}))
}

/// An `initialize` request of a client without capabilities.
#[must_use]
pub fn initialize(revision: &str) -> Value {
    let client = json!({"name": "test", "version": "1"});
    request(0, "initialize", json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": client}))
}

/// The result of `initialize` of a server with tools. `revision` can be copied from the request.
#[must_use]
pub fn initialize_result(revision: impl Into<Value>) -> Value {
    json!({
        "protocolVersion": revision.into(),
        "capabilities": {"tools": {"listChanged": true}},
        "serverInfo": {"name": "peer", "version": "1", "x-kept": true},
    })
}

/// The result of `server/discover` of a server with tools (2026-07-28, discovery).
#[must_use]
pub fn discover_result(revisions: &[&str]) -> Value {
    json!({
        "resultType": "complete",
        "supportedVersions": revisions,
        "capabilities": {"tools": {"listChanged": true}},
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "peer", "version": "1"}},
        "serverInfo": {"name": "peer", "version": "1"},
        "ttlMs": 0,
        "cacheScope": "private",
    })
}
