//! A peer that speaks raw JSON-RPC to a server that somebody else wrote: over stdio, Streamable HTTP and the old HTTP+SSE,
//! in every revision.
//!
//! It stands on no SDK and believes nothing: whatever comes is recorded, a response counts only by its id, and what is
//! wrong with it is for the checks to say. It judges nothing itself.

use std::{sync::Arc, time::Duration};

use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::{
    evidence::{Outcome, ProcessEvidence, StepError},
    model::{Revision, Transport},
};

mod greeting;
mod http;
mod probe;
mod process;
mod sse;
mod stdio;
mod target;
mod wire;

pub use probe::{Greeting, ServerFacts, probe};
pub use target::{PeerError, ServerCommand, ServerTarget, ServerUrl};

pub(crate) use stdio::is_blank;
pub(crate) use wire::same_id;

use http::{Headers, HttpLink};
use sse::SseLink;
use stdio::StdioLink;
use target::{headers, secrets};
use wire::{State, Wire};

/// A conversation with a server, in one revision.
#[derive(Debug)]
pub(crate) struct Peer {
    link: Link,
    wire: Arc<Wire>,
    revision: Revision,
    next_id: i64,
}

#[derive(Debug)]
enum Link {
    Stdio(Box<StdioLink>),
    Http(HttpLink),
    Sse(SseLink),
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

/// What is left of a conversation.
#[derive(Debug)]
pub(crate) struct Remains {
    pub(crate) frames: Vec<mock_servers::Frame>,
    pub(crate) process: Option<ProcessEvidence>,
    pub(crate) stderr: String,
    pub(crate) elapsed_us: u64,
}

impl Peer {
    /// Makes the connection; nothing is said yet.
    pub(crate) async fn open(
        target: &ServerTarget,
        transport: Transport,
        revision: Revision,
    ) -> Result<Self, PeerError> {
        let (wire, link) = match target {
            ServerTarget::Command(command) => {
                let wire = Arc::new(Wire::new(Vec::new()));
                (Arc::clone(&wire), Link::Stdio(Box::new(StdioLink::start(command, revision.is_modern(), wire)?)))
            }
            ServerTarget::Url(server) => {
                let wire = Arc::new(Wire::new(secrets(server)));
                let headers = headers(server)?;
                let link = if transport == Transport::Sse {
                    Link::Sse(SseLink::open(&server.url, headers, Arc::clone(&wire)).await?)
                } else {
                    let wire = Arc::clone(&wire);
                    Link::Http(HttpLink::new(server.url.clone(), headers, !revision.is_modern(), wire)?)
                };
                (wire, link)
            }
        };
        Ok(Self { link, wire, revision, next_id: 1 })
    }

    /// The transport.
    pub(crate) fn transport(&self) -> Transport {
        match self.link {
            Link::Stdio(_) => Transport::Stdio,
            Link::Http(_) => Transport::StreamableHttp,
            Link::Sse(_) => Transport::Sse,
        }
    }

    /// Microseconds since the start.
    pub(crate) fn now_us(&self) -> u64 {
        self.wire.now_us()
    }

    /// The value without the user's secrets.
    pub(crate) fn scrub(&self, value: Value) -> Value {
        self.wire.scrub_value(value)
    }

    /// Sends a request and gives back what is needed to wait for its answer.
    pub(crate) async fn send(&mut self, request: Outgoing) -> Result<Sent, StepError> {
        let id = request.id.clone().unwrap_or_else(|| self.fresh_id());
        let message = self.message(&request, Some(&id));
        let since = self.wire.received();
        let exchange = self.post(&message, self.headers(&message, request.bare)).await?;
        Ok(Sent { id, exchange, since })
    }

    /// Sends a request and waits for its answer: the whole response.
    pub(crate) async fn request(&mut self, request: Outgoing, within: Duration) -> Result<Value, StepError> {
        let sent = self.send(request).await?;
        self.response(&sent, within).await
    }

    /// Waits for the answer to a request that was sent.
    pub(crate) async fn response(&self, sent: &Sent, within: Duration) -> Result<Value, StepError> {
        let found = self.wire.wait(within, |state| find_response(state, sent)).await;
        if let Link::Stdio(link) = &self.link {
            link.look().await;
        }
        found.unwrap_or_else(|| Err(failure("timed-out", format!("no answer within {} ms", within.as_millis()))))
    }

    /// Waits for a notification that came after a request was sent.
    pub(crate) async fn notification(&self, sent: &Sent, method: &str, within: Duration) -> Result<Value, StepError> {
        let found = self.wire.wait(within, |state| find_notification(state, sent, method)).await;
        found.unwrap_or_else(|| Err(failure("timed-out", format!("no {method} within {} ms", within.as_millis()))))
    }

    /// Gives up a request that is still open.
    pub(crate) async fn give_up(&mut self, sent: &Sent) {
        if let Link::Http(link) = &self.link {
            link.drop_open();
        } else {
            let params = json!({ "requestId": sent.id });
            let params = params.as_object().cloned();
            let cancel = Outgoing { method: "notifications/cancelled".to_owned(), params, ..Outgoing::default() };
            let _ = self.notify(&cancel).await;
        }
    }

    /// Sends a notification. Over HTTP it waits for the reply, so that the next message finds the server ready.
    pub(crate) async fn notify(&mut self, notification: &Outgoing) -> Result<(), StepError> {
        let message = self.message(notification, None);
        let exchange = self.post(&message, self.headers(&message, notification.bare)).await?;
        let Some(exchange) = exchange else { return Ok(()) };
        let over = self.wire.wait(Duration::from_secs(2), |state| state.ended.get(&exchange).cloned()).await;
        match over.and_then(|ended| ended.error) {
            Some(error) => Err(failure("closed", error)),
            None => Ok(()),
        }
    }

    /// Writes text as it is, and gives back the messages that came within the time.
    pub(crate) async fn raw(&mut self, text: &str, within: Duration) -> Result<Vec<Value>, StepError> {
        let since = self.wire.received();
        let exchange = match &self.link {
            Link::Stdio(link) => link.send(text).await.map(|()| None),
            Link::Http(link) => Ok(Some(link.post(text.to_owned(), self.raw_headers(text)))),
            Link::Sse(link) => link.post(text).await.map(|()| None).or(Ok(None)),
        };
        let exchange = exchange.map_err(|error| failure("closed", error))?;
        // Over HTTP the reply says when all has come; elsewhere the first message, or the time, has to do.
        self.wire
            .wait(within, |state| match exchange {
                Some(exchange) => state.ended.get(&exchange).map(|_| ()),
                None => (state.received.len() > since || state.closed.is_some()).then_some(()),
            })
            .await;
        Ok(self.wire.received_since(since))
    }

    /// Makes an HTTP exchange by hand.
    pub(crate) async fn by_hand(
        &self,
        method: &str,
        headers: Headers,
        body: Option<String>,
    ) -> Result<Value, StepError> {
        let Link::Http(link) = &self.link else {
            return Err(failure("unsupported", "there is no HTTP here".to_owned()));
        };
        let method = Method::from_bytes(method.as_bytes()).map_err(|cause| failure("input", cause.to_string()))?;
        let mut all = match &body {
            Some(text) => self.raw_headers(text),
            None => Headers::new(),
        };
        all.extend(headers.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)));
        link.by_hand(method, all, body).await.map_err(|error| failure("closed", error))
    }

    /// Closes the server's input and waits for its end; over HTTP it ends the session.
    pub(crate) async fn close(&mut self, within: Duration) -> Outcome {
        let began = self.now_us();
        match &self.link {
            Link::Stdio(link) => {
                let (exited, code) = link.close_input(within).await;
                let elapsed_ms = (self.now_us() - began) / 1000;
                Outcome::Value(json!({ "exited": exited, "code": code, "elapsed_ms": elapsed_ms }))
            }
            Link::Http(link) if link.has_session() => match link.by_hand(Method::DELETE, Headers::new(), None).await {
                Ok(reply) => Outcome::Value(json!({ "status": reply["status"] })),
                Err(error) => Outcome::Error(failure("closed", error)),
            },
            _ => Outcome::Skipped("there is no session to close".to_owned()),
        }
    }

    /// Ends the conversation: the process and all below it, or the session.
    pub(crate) async fn end(self) -> Remains {
        let (process, stderr) = match self.link {
            Link::Stdio(link) => {
                let (process, stderr) = link.end().await;
                (Some(process), stderr)
            }
            Link::Http(link) => {
                link.end().await;
                (None, String::new())
            }
            Link::Sse(link) => {
                link.end();
                (None, String::new())
            }
        };
        Remains { frames: self.wire.frames(), process, stderr, elapsed_us: self.wire.now_us() }
    }

    fn fresh_id(&mut self) -> Value {
        self.next_id += 1;
        json!(self.next_id - 1)
    }

    async fn post(&self, message: &Value, headers: Headers) -> Result<Option<u64>, StepError> {
        let text = stdio::line(message);
        let posted = match &self.link {
            Link::Stdio(link) => link.send(&text).await.map(|()| None),
            Link::Http(link) => Ok(Some(link.post(text, headers))),
            Link::Sse(link) => link.post(&text).await.map(|()| None),
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
            .unwrap_or_else(|| failure("closed", format!("the request was answered, and no {method} came before"))))),
        other => other,
    }
}

/// Whether the answer can no longer come.
fn dead_end(state: &State, sent: &Sent) -> Option<Result<Value, StepError>> {
    if let Some(ended) = sent.exchange.and_then(|exchange| state.ended.get(&exchange)) {
        let message = match (&ended.error, ended.status) {
            (Some(error), _) => error.clone(),
            (None, Some(status)) => format!("the reply (HTTP {status}) holds no answer to the request"),
            (None, None) => "there was no reply".to_owned(),
        };
        let kind = if ended.status.is_some_and(|status| status >= 400) { "http-status" } else { "no-answer" };
        return Some(Err(failure(kind, message)));
    }
    state.closed.as_ref().map(|why| Err(failure("closed", why.clone())))
}

/// What a response says went wrong, if it is an error.
pub(crate) fn rpc_error(response: &Value) -> Option<StepError> {
    let error = response.get("error")?;
    let message = error.get("message").and_then(Value::as_str).unwrap_or("(no message)");
    let code = error.get("code").and_then(Value::as_i64);
    Some(StepError { kind: "rpc-error".to_owned(), message: message.to_owned(), code })
}

/// A step that failed for a reason other than the server's own error.
pub(crate) fn failure(kind: &str, message: impl Into<String>) -> StepError {
    StepError { kind: kind.to_owned(), message: message.into(), code: None }
}

/// The answer to a request of the server's own: a pong, or that we offer no such thing, as we declare no capabilities.
fn answer(request: &Value) -> Value {
    let id = request.get("id").cloned().unwrap_or(Value::Null);
    if request["method"] == "ping" {
        return json!({ "jsonrpc": "2.0", "id": id, "result": {} });
    }
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "method not found" } })
}
