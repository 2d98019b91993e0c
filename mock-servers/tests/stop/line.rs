//! A connection whose bytes are seen as they come, and what is said on it.

use std::time::Duration;

use mcp_workbench_mock_servers::{MockServer, listen::Options, mock::HttpTransport};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpStream,
};

/// Long enough for any machine; no test waits for it unless it fails.
pub(crate) const BOUND: Duration = Duration::from_secs(10);

const MODERN: &str = "2026-07-28";

pub(crate) async fn server(script: Value, transport: HttpTransport, options: Options) -> MockServer {
    let script = serde_json::from_value(script).unwrap();
    MockServer::builder().script(script).transport(transport).listen(options).start().await.unwrap()
}

/// Both ways of a connection.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// A connection.
pub(crate) struct Line {
    stream: Box<dyn Stream>,
    heard: String,
}

impl Line {
    pub(crate) async fn to(server: &MockServer) -> Self {
        Self::over(TcpStream::connect(server.address().unwrap().tcp().unwrap()).await.unwrap())
    }

    pub(crate) fn over(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> Self {
        Self { stream: Box::new(stream), heard: String::new() }
    }

    pub(crate) async fn say(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    /// Everything up to the end of these words, which is then forgotten.
    pub(crate) async fn until(&mut self, words: &str) -> String {
        loop {
            if let Some(at) = self.heard.find(words) {
                let rest = self.heard.split_off(at + words.len());
                return std::mem::replace(&mut self.heard, rest);
            }
            let mut bytes = [0; 4096];
            let read = self.stream.read(&mut bytes);
            let count = tokio::time::timeout(BOUND, read).await.expect("more in time").unwrap();
            assert!(count > 0, "it ended before {words:?}: {}", self.heard);
            self.heard.push_str(std::str::from_utf8(&bytes[..count]).unwrap());
        }
    }

    /// Everything that is left, up to an end in good order.
    pub(crate) async fn rest(mut self) -> String {
        let mut rest = Vec::new();
        let reading = self.stream.read_to_end(&mut rest);
        tokio::time::timeout(BOUND, reading).await.expect("an end in time").expect("no reset");
        self.heard + std::str::from_utf8(&rest).unwrap()
    }

    /// Everything that is left, up to an end of whatever kind.
    pub(crate) async fn rest_or_reset(mut self) -> String {
        let mut rest = Vec::new();
        let reading = self.stream.read_to_end(&mut rest);
        let _ = tokio::time::timeout(BOUND, reading).await.expect("an end in time");
        self.heard + std::str::from_utf8(&rest).unwrap()
    }
}

/// A POST as it goes over the wire.
pub(crate) fn post(path: &str, headers: &str, message: &Value) -> String {
    let body = message.to_string();
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\naccept: application/json, text/event-stream\r\n\
         content-type: application/json\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )
}

fn modern_request(id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A request of 2026-07-28 as it goes over the wire.
pub(crate) fn modern(id: u64, method: &str, params: Value) -> String {
    let name = params["name"].as_str().map(|name| format!("mcp-name: {name}\r\n")).unwrap_or_default();
    let headers = format!("mcp-protocol-version: {MODERN}\r\nmcp-method: {method}\r\n{name}");
    post("/mcp", &headers, &modern_request(id, method, params))
}

pub(crate) fn listen_for_changes(id: u64) -> String {
    modern(id, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}))
}

/// Messages without their envelope.
pub(crate) mod bare {
    use super::{Value, json, modern_request};

    pub(crate) fn listening(id: u64) -> Value {
        modern_request(id, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}))
    }

    pub(crate) fn call(id: u64) -> Value {
        modern_request(id, "tools/call", json!({"name": "echo"}))
    }
}

/// The headers of a new session of 2025-11-25.
pub(crate) async fn session_of(server: &MockServer) -> String {
    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let mut line = Line::to(server).await;
    line.say(&post("/mcp", "", &hello)).await;
    let answer = line.until("\r\n\r\n").await;
    let session = answer.lines().find(|line| line.starts_with("mcp-session-id")).unwrap();
    format!("{session}\r\nmcp-protocol-version: 2025-11-25\r\n")
}
