//! A JSON-RPC peer of a server under test, over stdio, Streamable HTTP and HTTP+SSE, in every revision.
//!
//! It uses no SDK and validates nothing: everything is recorded, and responses are matched by id only. The checks validate
//! the frames.

use std::{sync::Arc, time::Duration};

use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::{
    evidence::{Outcome, ProcessEvidence, StepError},
    model::{Revision, Transport},
};

mod handshake;
mod http;
mod probe;
mod process;
mod sse;
mod stdio;
mod target;
mod transcript;

pub use probe::{ProbeResult, ServerIdentity, probe};
pub use target::{PeerError, ServerCommand, ServerTarget, ServerUrl, SilentServer};

pub(crate) use transcript::same_id;

use http::{Headers, HttpPeer};
use sse::SsePeer;
use stdio::StdioPeer;
use target::{headers, secrets};
use transcript::{State, TranscriptRecorder};

/// A connection to a server, in one revision.
#[derive(Debug)]
pub(crate) struct Peer {
    transport: PeerTransport,
    recorder: Arc<TranscriptRecorder>,
    revision: Revision,
    next_id: i64,
}

#[derive(Debug)]
enum PeerTransport {
    Stdio(Box<StdioPeer>),
    Http(HttpPeer),
    Sse(SsePeer),
}

/// A request to send.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outgoing {
    pub(crate) method: String,
    pub(crate) params: Option<Map<String, Value>>,
    pub(crate) id: Option<Value>,
    pub(crate) bare: bool,
}

/// A request that was sent.
#[derive(Debug)]
pub(crate) struct Sent {
    id: Value,
    exchange: Option<u64>,
    since: usize,
}

/// The record of a closed connection.
#[derive(Debug)]
pub(crate) struct FinishedPeer {
    pub(crate) frames: Vec<evidence::Frame>,
    pub(crate) process: Option<ProcessEvidence>,
    pub(crate) stderr: String,
    pub(crate) elapsed_us: u64,
}

impl Peer {
    /// Connects without sending a message.
    pub(crate) async fn open(
        target: &ServerTarget,
        transport: Transport,
        revision: Revision,
    ) -> Result<Self, PeerError> {
        let (recorder, transport) = match target {
            ServerTarget::Command(command) => {
                let recorder = Arc::new(TranscriptRecorder::new(Vec::new()));
                (
                    Arc::clone(&recorder),
                    PeerTransport::Stdio(Box::new(StdioPeer::start(command, revision.is_modern(), recorder)?)),
                )
            }
            ServerTarget::Url(server) => {
                let recorder = Arc::new(TranscriptRecorder::new(secrets(server)));
                let headers = headers(server)?;
                let connection = if transport == Transport::HttpSse {
                    PeerTransport::Sse(SsePeer::open(&server.url, headers, Arc::clone(&recorder)).await?)
                } else {
                    let recorder = Arc::clone(&recorder);
                    PeerTransport::Http(HttpPeer::new(server.url.clone(), headers, !revision.is_modern(), recorder)?)
                };
                (recorder, connection)
            }
        };
        Ok(Self { transport, recorder, revision, next_id: 1 })
    }

    /// The transport.
    pub(crate) fn transport(&self) -> Transport {
        match self.transport {
            PeerTransport::Stdio(_) => Transport::Stdio,
            PeerTransport::Http(_) => Transport::StreamableHttp,
            PeerTransport::Sse(_) => Transport::HttpSse,
        }
    }

    /// Time since the start in microseconds.
    pub(crate) fn now_us(&self) -> u64 {
        self.recorder.now_us()
    }

    /// Redacts the user's secrets in a value.
    pub(crate) fn redact(&self, value: Value) -> Value {
        self.recorder.redact_value(value)
    }

    /// Sends a request; [`response`](Self::response) waits for its response.
    pub(crate) async fn send(&mut self, request: Outgoing) -> Result<Sent, StepError> {
        let id = request.id.clone().unwrap_or_else(|| self.fresh_id());
        let message = self.message(&request, Some(&id));
        let since = self.recorder.received();
        let exchange = self.post(&message, self.headers(&message, request.bare)).await?;
        Ok(Sent { id, exchange, since })
    }

    /// Sends a request and returns the complete response.
    pub(crate) async fn request(&mut self, request: Outgoing, within: Duration) -> Result<Value, StepError> {
        let sent = self.send(request).await?;
        self.response(&sent, within).await
    }

    /// Waits for the response to a request.
    pub(crate) async fn response(&self, sent: &Sent, within: Duration) -> Result<Value, StepError> {
        let found = self.recorder.wait(within, |state| find_response(state, sent)).await;
        if let PeerTransport::Stdio(connection) = &self.transport {
            connection.observe().await;
        }
        found.unwrap_or_else(|| Err(failure("timed-out", format!("no response within {} ms", within.as_millis()))))
    }

    /// Waits for a notification after a request.
    pub(crate) async fn notification(&self, sent: &Sent, method: &str, within: Duration) -> Result<Value, StepError> {
        let found = self.recorder.wait(within, |state| find_notification(state, sent, method)).await;
        found.unwrap_or_else(|| Err(failure("timed-out", format!("no {method} within {} ms", within.as_millis()))))
    }

    /// Cancels an open request.
    pub(crate) async fn give_up(&mut self, sent: &Sent) {
        if let PeerTransport::Http(connection) = &self.transport {
            connection.drop_open();
        } else {
            let params = json!({ "requestId": sent.id });
            let params = params.as_object().cloned();
            let cancel = Outgoing { method: "notifications/cancelled".to_owned(), params, ..Outgoing::default() };
            let _ = self.notify(&cancel).await;
        }
    }

    /// Sends a notification. Over HTTP it waits for the HTTP response, so that the server can take the next message.
    pub(crate) async fn notify(&mut self, notification: &Outgoing) -> Result<(), StepError> {
        let message = self.message(notification, None);
        let exchange = self.post(&message, self.headers(&message, notification.bare)).await?;
        let Some(exchange) = exchange else { return Ok(()) };
        let over = self.recorder.wait(Duration::from_secs(2), |state| state.ended.get(&exchange).cloned()).await;
        match over.and_then(|ended| ended.error) {
            Some(error) => Err(failure("closed", error)),
            None => Ok(()),
        }
    }

    /// Writes raw text, and returns the messages received within the timeout.
    pub(crate) async fn raw(&mut self, text: &str, within: Duration) -> Result<Vec<Value>, StepError> {
        let since = self.recorder.received();
        let exchange = match &self.transport {
            PeerTransport::Stdio(connection) => connection.send(text).await.map(|()| None),
            PeerTransport::Http(connection) => Ok(Some(connection.post(text.to_owned(), self.raw_headers(text)))),
            PeerTransport::Sse(connection) => connection.post(text).await.map(|()| None).or(Ok(None)),
        };
        let exchange = exchange.map_err(|error| failure("closed", error))?;
        // Over HTTP the end of the response is the end of the messages; elsewhere the first message or the timeout is.
        self.recorder
            .wait(within, |state| match exchange {
                Some(exchange) => state.ended.get(&exchange).map(|_| ()),
                None => (state.received.len() > since || state.closed.is_some()).then_some(()),
            })
            .await;
        Ok(self.recorder.received_since(since))
    }

    /// Sends a raw HTTP request.
    pub(crate) async fn raw_exchange(
        &self,
        method: &str,
        headers: Headers,
        body: Option<String>,
    ) -> Result<Value, StepError> {
        let PeerTransport::Http(connection) = &self.transport else {
            return Err(failure("unsupported", "the transport is not HTTP".to_owned()));
        };
        let method = Method::from_bytes(method.as_bytes()).map_err(|cause| failure("input", cause.to_string()))?;
        let mut all = match &body {
            Some(text) => self.raw_headers(text),
            None => Headers::new(),
        };
        all.extend(headers.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)));
        connection.raw_exchange(method, all, body).await.map_err(|error| failure("closed", error))
    }

    /// Closes the server's input and waits for its exit; over HTTP it terminates the session.
    pub(crate) async fn close(&mut self, within: Duration) -> Outcome {
        let began = self.now_us();
        match &self.transport {
            PeerTransport::Stdio(connection) => {
                let (exited, code) = connection.close_input(within).await;
                let elapsed_ms = (self.now_us() - began) / 1000;
                Outcome::Value(json!({ "exited": exited, "code": code, "elapsed_ms": elapsed_ms }))
            }
            PeerTransport::Http(connection) if connection.has_session() => {
                match connection.raw_exchange(Method::DELETE, Headers::new(), None).await {
                    Ok(reply) => Outcome::Value(json!({ "status": reply["status"] })),
                    Err(error) => Outcome::Error(failure("closed", error)),
                }
            }
            _ => Outcome::Skipped("no session to close".to_owned()),
        }
    }

    /// Terminates the process and all processes below it, or the session.
    pub(crate) async fn end(self) -> FinishedPeer {
        let (process, stderr) = match self.transport {
            PeerTransport::Stdio(connection) => {
                let (process, stderr) = connection.end().await;
                (Some(process), stderr)
            }
            PeerTransport::Http(connection) => {
                connection.end().await;
                (None, String::new())
            }
            PeerTransport::Sse(connection) => {
                connection.end();
                (None, String::new())
            }
        };
        FinishedPeer { frames: self.recorder.frames(), process, stderr, elapsed_us: self.recorder.now_us() }
    }

    fn fresh_id(&mut self) -> Value {
        self.next_id += 1;
        json!(self.next_id - 1)
    }

    async fn post(&self, message: &Value, headers: Headers) -> Result<Option<u64>, StepError> {
        let text = stdio::line(message);
        let posted = match &self.transport {
            PeerTransport::Stdio(connection) => connection.send(&text).await.map(|()| None),
            PeerTransport::Http(connection) => Ok(Some(connection.post(text, headers))),
            PeerTransport::Sse(connection) => connection.post(&text).await.map(|()| None),
        };
        posted.map_err(|error| failure("closed", error))
    }
}

fn find_response(state: &State, sent: &Sent) -> Option<Result<Value, StepError>> {
    let response =
        state.received.iter().skip(sent.since).map(|received| &received.value).find(|message| {
            message.get("method").is_none() && message.get("id").is_some_and(|id| same_id(id, &sent.id))
        });
    if let Some(response) = response {
        return Some(Ok(response.clone()));
    }
    dead_end(state, sent)
}

fn find_notification(state: &State, sent: &Sent, method: &str) -> Option<Result<Value, StepError>> {
    let wanted = |message: &&Value| message.get("id").is_none() && message["method"] == method;
    if let Some(found) = state.received.iter().skip(sent.since).map(|received| &received.value).find(wanted) {
        return Some(Ok(found.get("params").cloned().unwrap_or(Value::Null)));
    }
    match find_response(state, sent) {
        Some(Ok(response)) => Some(Err(rpc_error(&response)
            .unwrap_or_else(|| failure("closed", format!("the response arrived before a `{method}`"))))),
        other => other,
    }
}

/// The error if no response can arrive anymore.
fn dead_end(state: &State, sent: &Sent) -> Option<Result<Value, StepError>> {
    if let Some(ended) = sent.exchange.and_then(|exchange| state.ended.get(&exchange)) {
        let message = match (&ended.error, ended.status) {
            (Some(error), _) => error.clone(),
            (None, Some(status)) => format!("the HTTP response ({status}) contains no response to the request"),
            (None, None) => "no HTTP response".to_owned(),
        };
        let kind = if ended.status.is_some_and(|status| status >= 400) { "http-status" } else { "no-answer" };
        return Some(Err(failure(kind, message)));
    }
    state.closed.as_ref().map(|why| Err(failure("closed", why.clone())))
}

/// The error of an error response.
pub(crate) fn rpc_error(response: &Value) -> Option<StepError> {
    let error = response.get("error")?;
    let message = error.get("message").and_then(Value::as_str).unwrap_or("(no message)");
    let code = error.get("code").and_then(Value::as_i64);
    Some(StepError { kind: "rpc-error".to_owned(), message: message.to_owned(), code })
}

/// A step error that the server did not send.
pub(crate) fn failure(kind: &str, message: impl Into<String>) -> StepError {
    StepError { kind: kind.to_owned(), message: message.into(), code: None }
}

/// The response to a request from the server: to `ping` a result, otherwise an error, as no capabilities are declared.
fn answer(request: &Value) -> Value {
    let id = request.get("id").cloned().unwrap_or(Value::Null);
    if request["method"] == "ping" {
        return json!({ "jsonrpc": "2.0", "id": id, "result": {} });
    }
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "method not found" } })
}
