//! A server in memory that responds by a closure.

use std::sync::{Arc, Mutex};

use mcp_workbench_client::{
    ConnectError, ConnectOptions, Connection, Endpoint, ServerConfig, StdioEndpoint, connect_over,
};
use serde_json::Value;
pub(crate) use test_support::json_rpc::{discover_result, initialize_result};
use test_support::{json_rpc, wait_for};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

/// All messages that the client sent.
pub(crate) type Transcript = Arc<Mutex<Vec<Value>>>;

/// The responses of a server.
pub(crate) type Answer = Box<dyn FnMut(&Value) -> Vec<String> + Send>;

/// A configuration whose endpoint is not used.
pub(crate) fn config() -> ServerConfig {
    ServerConfig::new("peer", Endpoint::Stdio(StdioEndpoint::default()))
}

/// Connects to a server. The closure returns raw lines for each message.
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

/// Instead of a line: the server closes the connection.
pub(crate) const CLOSE: &str = "\u{0}close";

/// A response with a result.
pub(crate) fn result(message: &Value, result: Value) -> Vec<String> {
    vec![json_rpc::result(&message["id"], result).to_string()]
}

/// A response with an error.
pub(crate) fn error(message: &Value, code: i64) -> Vec<String> {
    vec![json_rpc::error(&message["id"], code).to_string()]
}

/// A legacy server with a conforming handshake. The closure handles the rest.
pub(crate) fn legacy(
    mut rest: impl FnMut(&Value) -> Vec<String> + Send + 'static,
) -> impl FnMut(&Value) -> Vec<String> + Send {
    move |message| match message["method"].as_str().unwrap_or_default() {
        "server/discover" => error(message, -32601),
        "initialize" => result(message, initialize_result(message["params"]["protocolVersion"].clone())),
        "notifications/initialized" => vec![],
        _ => rest(message),
    }
}

/// A modern server. The closure handles the rest.
pub(crate) fn modern(
    mut rest: impl FnMut(&Value) -> Vec<String> + Send + 'static,
) -> impl FnMut(&Value) -> Vec<String> + Send {
    move |message| match message["method"].as_str().unwrap_or_default() {
        "server/discover" => result(message, discover_result(&["2026-07-28"])),
        "initialize" => error(message, -32601),
        _ => rest(message),
    }
}

/// The methods of all sent messages, in order.
pub(crate) fn methods(transcript: &Transcript) -> Vec<String> {
    let sent = transcript.lock().unwrap();
    sent.iter().map(|message| message["method"].as_str().unwrap_or("(answer)").to_owned()).collect()
}

/// The first sent message with this method.
pub(crate) fn sent(transcript: &Transcript, method: &str) -> Option<Value> {
    transcript.lock().unwrap().iter().find(|message| message["method"] == method).cloned()
}

/// Waits until the client has sent a message with this method.
pub(crate) async fn until_sent(transcript: &Transcript, method: &str) -> Value {
    wait_for(method, || sent(transcript, method).ok_or_else(|| methods(transcript))).await
}
