//! A server in memory that answers by a closure.

use std::sync::{Arc, Mutex};

use mcp_workbench_client::{
    ConnectError, ConnectOptions, Connection, Endpoint, ServerConfig, StdioEndpoint, connect_over,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

/// Everything that the client has sent.
pub(crate) type Transcript = Arc<Mutex<Vec<Value>>>;

/// What a server answers, kind by kind.
pub(crate) type Answer = Box<dyn FnMut(&Value) -> Vec<String> + Send>;

/// A configuration whose endpoint is not used.
pub(crate) fn config() -> ServerConfig {
    ServerConfig::new("peer", Endpoint::Stdio(StdioEndpoint::default()))
}

/// Connects to a server that answers each message with what the closure returns: raw lines.
pub(crate) async fn connect_to(
    config: ServerConfig,
    options: impl Into<ConnectOptions>,
    answer: impl FnMut(&Value) -> Vec<String> + Send + 'static,
) -> (Result<Connection, ConnectError>, Transcript) {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let transcript = Transcript::default();
    tokio::spawn(serve(far, answer, Arc::clone(&transcript)));
    let (reader, writer) = tokio::io::split(near);
    (connect_over(config, reader, writer, options.into()).await, transcript)
}

async fn serve(stream: DuplexStream, mut answer: impl FnMut(&Value) -> Vec<String>, transcript: Transcript) {
    let (reader, mut writer) = tokio::io::split(stream);
    let mut lines = BufReader::new(reader).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let message: Value = serde_json::from_str(&line).expect("the client writes JSON");
        transcript.lock().unwrap().push(message.clone());
        for line in answer(&message) {
            if line == CLOSE {
                return;
            }
            writer.write_all(line.as_bytes()).await.unwrap();
            writer.write_all(b"\n").await.unwrap();
        }
    }
}

/// In the place of a line: the server closes the connection.
pub(crate) const CLOSE: &str = "\u{0}close";

/// A result for this message.
pub(crate) fn result(message: &Value, result: Value) -> Vec<String> {
    vec![json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string()]
}

/// An error for this message.
pub(crate) fn error(message: &Value, code: i64) -> Vec<String> {
    vec![json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": code, "message": "no"}}).to_string()]
}

/// A server of the legacy era: it answers the handshake as a good one does, and the rest by the closure.
pub(crate) fn legacy(
    mut rest: impl FnMut(&Value) -> Vec<String> + Send + 'static,
) -> impl FnMut(&Value) -> Vec<String> + Send {
    move |message| match message["method"].as_str().unwrap_or_default() {
        "server/discover" => error(message, -32601),
        "initialize" => result(message, hello(message["params"]["protocolVersion"].as_str().unwrap())),
        "notifications/initialized" => vec![],
        _ => rest(message),
    }
}

/// A server of the modern era.
pub(crate) fn modern(
    mut rest: impl FnMut(&Value) -> Vec<String> + Send + 'static,
) -> impl FnMut(&Value) -> Vec<String> + Send {
    move |message| match message["method"].as_str().unwrap_or_default() {
        "server/discover" => result(message, discovered(&["2026-07-28"])),
        "initialize" => error(message, -32601),
        _ => rest(message),
    }
}

/// The result of `initialize`.
pub(crate) fn hello(revision: &str) -> Value {
    json!({
        "protocolVersion": revision,
        "capabilities": {"tools": {"listChanged": true}},
        "serverInfo": {"name": "peer", "version": "1", "x-kept": true},
    })
}

/// The result of `server/discover`.
pub(crate) fn discovered(revisions: &[&str]) -> Value {
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

/// The methods of everything sent, in order.
pub(crate) fn methods(transcript: &Transcript) -> Vec<String> {
    let sent = transcript.lock().unwrap();
    sent.iter().map(|message| message["method"].as_str().unwrap_or("(answer)").to_owned()).collect()
}

/// The first message of this method.
pub(crate) fn sent(transcript: &Transcript, method: &str) -> Option<Value> {
    transcript.lock().unwrap().iter().find(|message| message["method"] == method).cloned()
}

/// Waits until the client has sent a message of this method.
pub(crate) async fn until_sent(transcript: &Transcript, method: &str) -> Value {
    for _ in 0..2_000 {
        if let Some(message) = sent(transcript, method) {
            return message;
        }
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    panic!("the client never sent `{method}`: {:?}", methods(transcript));
}
