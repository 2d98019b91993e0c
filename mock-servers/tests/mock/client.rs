//! A client as small as the tests need it.

use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};

/// What it accepts.
pub(crate) const ACCEPT: &str = "application/json, text/event-stream";

/// A client with a session.
pub(crate) struct Client {
    http: reqwest::Client,
    url: String,
    session: String,
    /// The revision that the server agreed to.
    pub(crate) agreed: String,
}

impl Client {
    /// Shakes hands in the newest revision that does so.
    pub(crate) async fn connect(url: &str) -> Self {
        Self::connect_with(url, "2025-11-25").await
    }

    /// Shakes hands in this revision.
    pub(crate) async fn connect_with(url: &str, revision: &str) -> Self {
        let http = test_support::http_client();
        let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
        }});
        let answer = send(http.post(url), &message).await;
        let session = answer.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        let agreed = answer.json::<Value>().await.unwrap()["result"]["protocolVersion"].as_str().unwrap().to_owned();
        let client = Self { http, url: url.to_owned(), session, agreed };
        client.notify("notifications/initialized", Value::Null).await;
        client
    }

    /// Sends a request and returns the answer.
    pub(crate) async fn ask(&self, method: &str, params: Value) -> Value {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer = send(self.post(), &message).await.text().await.unwrap();
        let data = answer.lines().find_map(|line| line.strip_prefix("data: ")).unwrap_or(&answer);
        serde_json::from_str(data).unwrap_or_else(|cause| panic!("{cause}: {answer}"))
    }

    /// Calls a tool.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    /// Sends a notification.
    pub(crate) async fn notify(&self, method: &str, params: Value) {
        let mut message = json!({"jsonrpc": "2.0", "method": method});
        if !params.is_null() {
            message["params"] = params;
        }
        assert_eq!(send(self.post(), &message).await.status(), 202);
    }

    fn post(&self) -> RequestBuilder {
        self.http.post(&self.url).header("mcp-session-id", &self.session)
    }
}

async fn send(request: RequestBuilder, message: &Value) -> Response {
    request.header("accept", ACCEPT).json(message).send().await.unwrap()
}

/// Asks a modern server what it is.
pub(crate) async fn discover(url: &str) -> Value {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }}});
    let request = test_support::http_client().post(url);
    let request = request.header("mcp-protocol-version", "2026-07-28").header("mcp-method", "server/discover");
    send(request, &message).await.json().await.unwrap()
}
