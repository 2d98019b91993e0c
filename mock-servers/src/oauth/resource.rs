//! The server's own protected resource: a minimal MCP server. An MCP mock with a [`Guard`] supports more.

use bytes::Bytes;
use evidence::Revision;
use http::Method;
use serde_json::{Value, json};

use super::guard::Guard;
use crate::{listen::http_exchange::HttpExchange, oauth_messages::OAuthResponse};

/// Default path.
pub(super) const PATH: &str = "/mcp";

pub(super) fn serve(guard: &Guard, exchange: &HttpExchange, body: &Bytes) -> OAuthResponse {
    let message: Option<Value> = serde_json::from_slice(body).ok();
    if let Err(challenge) = guard.check(exchange.method(), exchange.uri(), exchange.headers(), message.as_ref()) {
        return challenge.response();
    }
    match (exchange.method(), message) {
        (&Method::POST, Some(message)) => reply(&message),
        (&Method::POST, None) => OAuthResponse::json(400, &error(&Value::Null, -32700, "the body is not JSON")),
        _ => OAuthResponse::empty(405).with("allow", "POST"),
    }
}

fn reply(message: &Value) -> OAuthResponse {
    let Some(id) = message.get("id") else { return OAuthResponse::empty(202) };
    let params = message.get("params");
    let result = match message.get("method").and_then(Value::as_str) {
        Some("initialize") => {
            let asked = params.and_then(|params| params.get("protocolVersion")).and_then(Value::as_str);
            json!({
                "protocolVersion": asked.unwrap_or(Revision::NEWEST_LEGACY.as_str()),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "mcp-workbench-mock-oauth", "version": env!("CARGO_PKG_VERSION")},
            })
        }
        Some("server/discover") => json!({
            "resultType": "complete",
            "supportedVersions": [Revision::NEWEST_MODERN.as_str()],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "mcp-workbench-mock-oauth", "version": env!("CARGO_PKG_VERSION")},
            "ttlMs": 0,
            "cacheScope": "private",
        }),
        Some("ping") => json!({}),
        Some("tools/list") => json!({
            "resultType": "complete",
            "tools": [{"name": "test-tool", "inputSchema": {"type": "object"}}],
            "ttlMs": 0,
            "cacheScope": "private",
        }),
        Some("tools/call") => json!({"resultType": "complete", "content": [{"type": "text", "text": "test"}]}),
        _ => return OAuthResponse::json(404, &error(id, -32601, "the method is not known")),
    };
    OAuthResponse::json(200, &json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}
