//! An HTTP client that shows the bytes.

use std::{
    io::ErrorKind,
    time::{Duration, Instant},
};

use mcp_workbench_mock_servers::{HttpMock, Recorder, Script};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

pub(super) const MODERN: &str = "2026-07-28";
pub(super) const LEGACY: &str = "2025-11-25";
/// Long enough for any machine; no test waits for it unless it fails.
const BOUND: Duration = Duration::from_secs(10);
pub(super) const SEED: u64 = 7;

/// How the bytes of an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The answer is complete, and the connection open.
    Complete,
    /// The server closed the connection before the answer was complete.
    Closed,
    /// The server reset the connection.
    Reset,
}

/// What came in answer to a request.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) bytes: Vec<u8>,
    pub(super) end: End,
    pub(super) took: Duration,
}

/// A server of the mock's, and the address it is reached by.
pub(super) struct Server {
    pub(super) mock: HttpMock,
    host: String,
    session: Option<String>,
}

/// A connection to it.
pub(super) struct Wire {
    stream: TcpStream,
}

/// One fault as an action.
pub(super) fn fault(fault: impl Into<Value>) -> Value {
    json!({ "fault": fault.into() })
}

/// A server whose tool `echo` does this when it is called.
pub(super) fn on_call(actions: impl Into<Value>) -> Value {
    json!({"tools": [{"name": "echo"}], "on": [{"when": {"method": "tools/call"}, "do": actions.into()}]})
}

/// A server with this persistent fault.
pub(super) fn persistent(rule: Value) -> Value {
    json!({"tools": [{"name": "echo", "reply": {"text": "{{nth}}"}}], "faults": [rule]})
}

/// The answer to a call of a tool that does this.
pub(super) async fn answer(actions: impl Into<Value>) -> Heard {
    talk(&on_call(actions), SEED).await
}

/// The answer to a call without any fault.
pub(super) async fn plain() -> Heard {
    answer("default").await
}

/// The answer to a call of the server with this script and seed.
pub(super) async fn talk(script: &Value, seed: u64) -> Heard {
    Server::start(script, MODERN, seed).await.call().await
}

/// An answer behind a notification, so that it comes as an event.
pub(super) async fn streamed(fault: impl Into<Value>) -> Heard {
    let notify = json!({"notify": {"method": "notifications/message", "params": {"data": "é"}}});
    answer(json!([{"fault": fault.into()}, notify])).await
}

/// The same without any fault.
pub(super) async fn streamed_plain() -> Heard {
    answer(json!([{"notify": {"method": "notifications/message", "params": {"data": "é"}}}])).await
}

impl Server {
    pub(super) async fn start(script: &Value, revision: &str, seed: u64) -> Self {
        Self::recorded(script, revision, seed, Recorder::default()).await
    }

    pub(super) async fn recorded(script: &Value, revision: &str, seed: u64, recorder: Recorder) -> Self {
        let script: Script = serde_json::from_value(script.clone()).unwrap();
        let mock = HttpMock::start(script, revision, seed, recorder).await.unwrap();
        let host = mock.address().to_string();
        Self { mock, host, session: None }
    }

    /// A server of a handshake revision, and a session on it.
    pub(super) async fn initialized(script: &Value) -> Self {
        let mut server = Self::start(script, LEGACY, SEED).await;
        server.initialize().await;
        server
    }

    /// Opens a session; what comes back is the answer.
    pub(super) async fn initialize(&mut self) -> Heard {
        self.session = None;
        let info = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": info});
        let request = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let heard = self.connect().await.exchange(&self.post(&request)).await;
        self.session = heard.header("mcp-session-id");
        assert!(self.session.is_some(), "{heard:?}");
        heard
    }

    pub(super) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    pub(super) async fn connect(&self) -> Wire {
        Wire::to(&self.host).await
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// A request with a message.
    pub(super) fn post(&self, message: &Value) -> String {
        let body = message.to_string();
        format!("POST /mcp HTTP/1.1\r\n{}content-length: {}\r\n\r\n{body}", self.headers(message), body.len())
    }

    /// A request for the stream of the server's own messages.
    pub(super) fn get(&self) -> String {
        format!("GET /mcp HTTP/1.1\r\n{}\r\n", self.headers(&Value::Null))
    }

    fn headers(&self, message: &Value) -> String {
        let mut headers = format!(
            "host: {}\r\naccept: application/json, text/event-stream\r\ncontent-type: application/json\r\n",
            self.host
        );
        match &self.session {
            Some(session) => headers += &format!("mcp-session-id: {session}\r\nmcp-protocol-version: {LEGACY}\r\n"),
            None if message["method"] != "initialize" => {
                let (method, name) = (message["method"].as_str(), message["params"]["name"].as_str());
                let (method, name) = (method.unwrap_or_default(), name.unwrap_or_default());
                headers += &format!("mcp-protocol-version: {MODERN}\r\nmcp-method: {method}\r\nmcp-name: {name}\r\n");
            }
            None => {}
        }
        headers
    }

    /// A call of the tool `echo`, as a request over HTTP.
    pub(super) fn calling(&self, id: impl Into<Value>) -> String {
        let mut params = json!({"name": "echo", "arguments": {}, "_meta": {"progressToken": "p"}});
        if self.session.is_none() {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = MODERN.into();
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        }
        self.post(&json!({"jsonrpc": "2.0", "id": id.into(), "method": "tools/call", "params": params}))
    }

    /// A request of 2026-07-28 over HTTP.
    pub(super) fn modern(&self, method: &str, mut params: Value) -> String {
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = MODERN.into();
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        self.post(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
    }

    /// What a call on a connection of its own is answered with.
    pub(super) async fn call(&self) -> Heard {
        self.connect().await.exchange(&self.calling(1)).await
    }
}

impl Wire {
    pub(super) async fn to(host: &str) -> Self {
        Self { stream: TcpStream::connect(host).await.unwrap() }
    }

    pub(super) async fn send(&mut self, request: &str) {
        self.stream.write_all(request.as_bytes()).await.unwrap();
    }

    pub(super) async fn exchange(&mut self, request: &str) -> Heard {
        self.send(request).await;
        self.receive().await
    }

    /// Takes in an answer until it is complete, or the connection ends.
    pub(super) async fn receive(&mut self) -> Heard {
        self.until(Vec::new(), is_complete).await
    }

    /// Takes in more after these bytes until this holds for them, or the connection ends.
    pub(super) async fn until(&mut self, mut bytes: Vec<u8>, enough: impl Fn(&[u8]) -> bool) -> Heard {
        let start = Instant::now();
        let mut buffer = vec![0; 64 * 1024];
        let end = loop {
            if enough(&bytes) {
                break End::Complete;
            }
            let read = tokio::time::timeout(BOUND, self.stream.read(&mut buffer)).await;
            match read.unwrap_or_else(|_| panic!("no end: {}", String::from_utf8_lossy(&bytes))) {
                Ok(0) => break End::Closed,
                Ok(count) => bytes.extend_from_slice(&buffer[..count]),
                Err(cause) if cause.kind() == ErrorKind::ConnectionReset => break End::Reset,
                Err(cause) => panic!("{cause}"),
            }
        };
        Heard { bytes, end, took: start.elapsed() }
    }

    /// How the connection ends, of which nothing more is expected.
    pub(super) async fn ends(&mut self) -> End {
        let heard = self.receive().await;
        assert!(heard.bytes.is_empty(), "{heard:?}");
        heard.end
    }

    /// Whether nothing has arrived so far.
    pub(super) fn is_silent(&self) -> bool {
        self.stream.try_read(&mut [0]).is_err_and(|cause| cause.kind() == ErrorKind::WouldBlock)
    }
}

/// Whether these are all bytes of an answer.
pub(super) fn is_complete(bytes: &[u8]) -> bool {
    let Some(end) = head_end(bytes) else { return false };
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let body = &bytes[end..];
    if head.contains("transfer-encoding: chunked") {
        return body.ends_with(b"0\r\n\r\n");
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    length.is_none_or(|length| body.len() >= length.parse::<usize>().unwrap())
}

fn head_end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
}

impl Heard {
    pub(super) fn status(&self) -> u16 {
        String::from_utf8_lossy(&self.bytes).split(' ').nth(1).unwrap_or_default().parse().unwrap_or_default()
    }

    pub(super) fn header(&self, name: &str) -> Option<String> {
        let end = head_end(&self.bytes)?;
        let head = String::from_utf8_lossy(&self.bytes[..end]).into_owned();
        let mut fields = head.lines().filter_map(|line| line.split_once(": "));
        fields.find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
    }

    /// The chunks that the server made of the body, as far as they came; one if it made none.
    pub(super) fn chunks(&self) -> Vec<Vec<u8>> {
        let Some(end) = head_end(&self.bytes) else { return Vec::new() };
        let mut rest = &self.bytes[end..];
        if self.header("transfer-encoding").is_none() {
            return vec![rest.to_vec()];
        }
        let mut chunks = Vec::new();
        while let Some(line) = rest.windows(2).position(|window| window == b"\r\n") {
            let size = usize::from_str_radix(&String::from_utf8_lossy(&rest[..line]), 16).unwrap();
            if size == 0 {
                break;
            }
            chunks.push(rest[line + 2..line + 2 + size].to_vec());
            rest = &rest[line + 2 + size + 2..];
        }
        chunks
    }

    pub(super) fn body(&self) -> Vec<u8> {
        self.chunks().concat()
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8(self.body()).unwrap()
    }

    /// The body as JSON.
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body()).unwrap_or_else(|cause| panic!("{cause}: {self:?}"))
    }

    /// The data of the events of the body.
    pub(super) fn events(&self) -> Vec<Value> {
        self.text().lines().filter_map(|line| line.strip_prefix("data: ")).map(|data| data.parse().unwrap()).collect()
    }

    /// All bytes but those that tell the time of day.
    pub(super) fn without_date(&self) -> Vec<u8> {
        let end = head_end(&self.bytes).unwrap_or(0);
        let head = String::from_utf8_lossy(&self.bytes[..end]).into_owned();
        let lines: String = head.split_inclusive("\r\n").filter(|line| !line.starts_with("date: ")).collect();
        [lines.as_bytes(), &self.bytes[end..]].concat()
    }
}
