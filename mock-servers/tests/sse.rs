//! The HTTP+SSE front over real sockets.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{pin::Pin, time::Duration};

use bytes::Bytes;
use futures::{Stream, StreamExt};
use mcp_workbench_mock_servers::{Body, ConnectionEvent, Frame, Recorder, Script, SseMock};
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};

/// Long enough for any machine; no test waits for it unless it fails.
const BOUND: Duration = Duration::from_secs(10);

struct Session {
    mock: SseMock,
    recorder: Recorder,
    client: Client,
    stream: Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>,
    buffered: String,
    endpoint: String,
}

impl Session {
    async fn start(script: Value) -> Self {
        let script: Script = serde_json::from_value(script).unwrap();
        let recorder = Recorder::in_memory("mock");
        let mock = SseMock::start(script, "2024-11-05", 7, recorder.clone()).await.unwrap();
        let client = test_support::http_client();
        let response = client.get(mock.url()).send().await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let stream = Box::pin(response.bytes_stream());
        let mut session = Self { mock, recorder, client, stream, buffered: String::new(), endpoint: String::new() };
        let (name, path) = session.event().await.unwrap();
        assert_eq!(name, "endpoint");
        session.endpoint = format!("http://{}{path}", session.mock.address());
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2024-11-05",
        }});
        assert_eq!(session.post(&hello).await, StatusCode::ACCEPTED);
        assert_eq!(session.message().await["result"]["protocolVersion"], "2024-11-05");
        session
    }

    async fn post(&self, message: &Value) -> StatusCode {
        self.client.post(&self.endpoint).json(message).timeout(BOUND).send().await.unwrap().status()
    }

    async fn call(&self, id: u64, tool: &str) -> StatusCode {
        self.post(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool}})).await
    }

    /// The next event's name and data; none when the stream breaks off.
    async fn event(&mut self) -> Option<(String, String)> {
        while !self.buffered.contains("\n\n") {
            let piece = tokio::time::timeout(BOUND, self.stream.next()).await.expect("an event in time")?.ok()?;
            self.buffered.push_str(&String::from_utf8_lossy(&piece));
        }
        let (event, rest) = self.buffered.split_once("\n\n")?;
        let (name, data) = event.split_once('\n')?;
        let event = (name.strip_prefix("event: ")?.to_owned(), data.strip_prefix("data: ")?.to_owned());
        self.buffered = rest.to_owned();
        Some(event)
    }

    async fn message(&mut self) -> Value {
        let (name, data) = self.event().await.expect("the stream is open");
        assert_eq!(name, "message");
        data.parse().unwrap()
    }

    async fn seen(&self, condition: impl FnMut(&[Frame]) -> bool) {
        let seen = tokio::time::timeout(BOUND, self.recorder.wait_until(condition)).await;
        assert!(seen.is_ok(), "never seen; the transcript is {:#?}", self.recorder.frames());
    }
}

fn one_rule(actions: Value) -> Value {
    json!({"tools": [{"name": "echo"}, {"name": "other"}], "on": [{"when": {"tool": "echo"}, "do": actions}]})
}

#[tokio::test]
async fn answers_on_the_stream_and_records_the_event() {
    let mut session = Session::start(one_rule(json!({"notify": {"method": "a/b"}}))).await;
    assert_eq!(session.call(1, "echo").await, StatusCode::ACCEPTED);
    assert_eq!(session.message().await["method"], "a/b");
    assert_eq!(session.message().await["id"], 1);
    let frames = session.recorder.frames();
    let answer = frames.iter().find(|frame| frame.id() == Some(&json!(1)) && frame.is_response()).unwrap();
    assert_eq!(answer.http.as_ref().unwrap().event.as_deref(), Some("message"));
    assert_eq!(answer.connection, frames[0].connection, "it travelled on the GET");
}

#[tokio::test]
async fn a_delayed_answer_holds_up_nobody() {
    let mut session = Session::start(one_rule(json!({"fault": {"delay": "200ms"}}))).await;
    session.call(1, "echo").await;
    session.call(2, "other").await;
    assert_eq!(session.message().await["id"], 2);
    assert_eq!(session.message().await["id"], 1);
}

#[tokio::test]
async fn plays_the_faults_that_make_sense_here() {
    let status = json!({"fault": {"http-status": {"status": 500}}});
    assert_eq!(Session::start(one_rule(status)).await.call(1, "echo").await, StatusCode::INTERNAL_SERVER_ERROR);
    let mut session = Session::start(one_rule(json!([{"fault": {"garbage": "oops"}}, {"fault": "close"}]))).await;
    session.call(1, "echo").await;
    assert_eq!(session.event().await.unwrap().1, "oops");
    assert_eq!(session.event().await, None, "the stream breaks off");
    let mut session = Session::start(one_rule(json!({"fault": {"truncate": 9}}))).await;
    session.call(1, "echo").await;
    assert_eq!(session.event().await, None);
    assert_eq!(session.buffered, "event: message\ndata: {\"jsonrpc");
    let mut session = Session::start(one_rule(json!({"fault": {"exit": {}}}))).await;
    session.call(1, "echo").await;
    assert_eq!(session.event().await, None);
    session.seen(|frames| frames.iter().any(|frame| frame.body == Body::Event(ConnectionEvent::Exit))).await;
}

#[tokio::test]
async fn a_session_ends_with_its_stream() {
    let Session { stream, recorder, client, endpoint, mock, .. } = Session::start(json!({})).await;
    drop(stream);
    let closed = |frames: &[Frame]| frames.iter().any(|frame| frame.body == Body::Event(ConnectionEvent::ClosedByPeer));
    tokio::time::timeout(BOUND, recorder.wait_until(closed)).await.unwrap();
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    assert_eq!(client.post(&endpoint).json(&ping).send().await.unwrap().status(), StatusCode::NOT_FOUND);
    mock.stop().await;
    assert!(client.get(endpoint).send().await.unwrap_err().is_connect());
}

#[tokio::test]
async fn guards_its_door() {
    let session = Session::start(json!({})).await;
    let get = || session.client.get(session.mock.url());
    assert_eq!(get().header("origin", "http://evil.example").send().await.unwrap().status(), StatusCode::FORBIDDEN);
    assert_eq!(get().header("host", "evil.example").send().await.unwrap().status(), StatusCode::FORBIDDEN);
    // A newer client tries a POST first, and learns that this server is of the old kind (2025-03-26, transports).
    let probe = session.client.post(session.mock.url()).body("{}");
    assert_eq!(probe.send().await.unwrap().status(), StatusCode::METHOD_NOT_ALLOWED);
}
