//! A JSON-RPC peer of a server under test, over stdio, Streamable HTTP and HTTP+SSE, in every revision.
//!
//! It uses no SDK and validates nothing: everything is recorded, and responses are matched by id only. The checks validate
//! the frames.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use client::{Pause, process::subtree::ProcessEntry};
use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::{
    evidence::{Outcome, ProcessEvidence, StepError},
    log_level::{LEVELS, severity},
    model::{Revision, Transport, User},
};

mod answer;
mod discovery;
mod events;
mod handshake;
mod http;
mod http_steps;
mod lines;
mod process;
mod responses;
mod slow_calls;
mod sse;
mod stdio;
mod target;
mod transcript;
mod work;

pub(crate) use discovery::{Discovery, FailedHandshake, discover, discover_older};
pub use discovery::{DiscoveryOptions, ProbeResult, ServerIdentity};
pub use events::{EventParser, ServerEvent};
pub use target::{PeerError, ServerCommand, ServerTarget, ServerUrl, SilentServer};
pub use work::VainWork;

pub(crate) use transcript::same_text;

pub(crate) use answer::feature_of;
pub(crate) use handshake::{META_CAPABILITIES, all_capabilities};
use http::HttpPeer;
use http::PIECES;
pub(crate) use http::{Headers, KEPT, OTHER_SESSION, SESSION, TITLE_CASE};
use responses::find_response;
use slow_calls::{AFTER_UNSUBSCRIBE, SlowCalls};
pub(crate) use slow_calls::{CALL, NO_RESPONSE, OpenPair};
use sse::SsePeer;
use stdio::StdioPeer;
use target::{headers, secrets};
use transcript::{State, TranscriptRecorder};

/// How many request ids a case has at most.
const IDS_OF_A_CASE: i64 = 100_000;
/// How many such ranges there are: all ids fit into 31 bits.
const ID_RANGES: u64 = 20_000;
/// Number of messages after which a server may end a session.
const MANY: usize = 20;
/// The reason of the cancellation of a request that takes longer than its test. Others test the cancellation.
pub(crate) const TOO_SLOW: &str = "the test takes no longer";
/// Shortest default timeout of a response.
const SHORTEST: Duration = Duration::from_secs(2);
/// Longest default timeout of a response.
const LONGEST: Duration = Duration::from_secs(10);
/// The default timeout of a response in units of the slowest response so far.
const MARGIN: u32 = 20;
/// The same for the duration of a call, for which other requests may have to wait.
const CALL_MARGIN: u32 = 2;

/// A connection to a server, in one revision.
#[derive(Debug)]
pub(crate) struct Peer {
    transport: PeerTransport,
    recorder: Arc<TranscriptRecorder>,
    revision: Revision,
    /// The declared client capabilities.
    capabilities: Map<String, Value>,
    next_id: i64,
    /// The longest time to a response so far, in microseconds. Calls count less.
    slowest_us: AtomicU64,
    /// How long the last waits for a response took in which nothing arrived, in microseconds.
    in_vain_us: AtomicU64,
    /// Factor of all timeouts.
    leniency: u32,
    /// Shortest timeout of the first response after the handshake; without a handshake it includes the start of the process.
    startup: Duration,
    slow_calls: SlowCalls,
    /// Processor time for which the run waited in vain for a server that works.
    vain_work: VainWork,
    /// The waits that are longer than their timeouts, because the server works.
    extra_time: Arc<Pause>,
    /// The kinds of requests that had no response in time.
    unanswered: Mutex<BTreeSet<String>>,
    /// The names of the tools that the server listed so far.
    listed: BTreeSet<String>,
    /// The requests that a step left open, by name.
    open: BTreeMap<String, Sent>,
}

#[derive(Debug)]
enum PeerTransport {
    Stdio(Box<StdioPeer>),
    Http(HttpPeer),
    Sse(SsePeer),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A request to send.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outgoing {
    pub(crate) method: String,
    pub(crate) params: Option<Map<String, Value>>,
    pub(crate) id: Option<Value>,
    pub(crate) bare: bool,
    /// HTTP headers that replace the usual ones; an empty value removes one.
    pub(crate) headers: Headers,
    /// After what time the connection is lost, so that the stream is resumed (Streamable HTTP).
    pub(crate) lost_after: Option<Duration>,
}

/// A request that was sent.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    id: Value,
    exchange: Option<u64>,
    since: usize,
    at_us: u64,
    method: String,
    /// What the server probably ignores too if it does not respond.
    kind: Option<String>,
    progress_token: Option<Value>,
    /// Whether another request that waits at the same time has the same id, so that only the exchange tells the responses apart.
    shares_id: bool,
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
                let (headers, address) = (headers(server)?, server.address()?);
                let connection = if transport == Transport::HttpSse {
                    PeerTransport::Sse(SsePeer::open(&address, headers, Arc::clone(&recorder)).await?)
                } else {
                    let recorder = Arc::clone(&recorder);
                    PeerTransport::Http(HttpPeer::new(address, headers, !revision.is_modern(), recorder)?)
                };
                (recorder, connection)
            }
        };
        let peer = Self {
            transport,
            recorder,
            revision,
            capabilities: Map::new(),
            next_id: 1,
            slowest_us: AtomicU64::new(0),
            in_vain_us: AtomicU64::new(0),
            leniency: 1,
            startup: Duration::ZERO,
            slow_calls: SlowCalls::default(),
            vain_work: VainWork::default(),
            extra_time: Arc::default(),
            unanswered: Mutex::default(),
            listed: BTreeSet::new(),
            open: BTreeMap::new(),
        };
        Ok(peer.numbered_for(""))
    }

    /// Multiplies all timeouts.
    pub(crate) fn with_leniency(mut self, factor: u32) -> Self {
        self.leniency = factor;
        self
    }

    /// Counts request ids from a number of this case and revision, if the server serves other cases at the same time. One that
    /// keeps the requests of all clients in one table would confuse those of cases that happen to overlap;
    /// `server/http-equal-ids` shows that in every run.
    pub(crate) fn numbered_for(mut self, scenario: &str) -> Self {
        if !matches!(self.transport, PeerTransport::Stdio(_)) {
            let mut hasher = DefaultHasher::new();
            (scenario, self.revision).hash(&mut hasher);
            self.next_id = 1 + i64::try_from(hasher.finish() % ID_RANGES).unwrap_or_default() * IDS_OF_A_CASE;
        }
        self
    }

    /// Counts request ids on from another connection, so that the ids of both differ.
    pub(crate) fn continuing(mut self, next_id: i64) -> Self {
        self.next_id = next_id;
        self
    }

    /// The next request id.
    pub(crate) fn next_id(&self) -> i64 {
        self.next_id
    }

    /// How long the slowest response so far took; a call counts with a part of its time.
    fn slowest_response(&self) -> Duration {
        Duration::from_micros(self.slowest_us.load(Ordering::Relaxed))
    }

    /// The timeout of a response: scaled with the slowest one so far, or as given.
    pub(crate) fn response_timeout(&self, given: Option<Duration>) -> Duration {
        given.unwrap_or_else(|| (self.slowest_response() * MARGIN).clamp(SHORTEST, LONGEST)) * self.leniency
    }

    /// The timeout of a case.
    pub(crate) fn limit(&self, given: Duration) -> Duration {
        given * self.leniency + self.startup
    }

    /// Memory of the server's processes in KiB, if the workbench started them.
    pub(crate) async fn memory_kb(&self) -> Option<u64> {
        Some(self.processes().await?.iter().map(ProcessEntry::resident_kb).sum())
    }

    /// The server's processes, if the workbench started them.
    async fn processes(&self) -> Option<Vec<ProcessEntry>> {
        let PeerTransport::Stdio(connection) = &self.transport else { return None };
        Some(connection.processes().await)
    }

    /// Number of recorded frames.
    pub(crate) fn frame_count(&self) -> u64 {
        self.recorder.frame_count()
    }

    /// Number of messages received so far.
    pub(crate) fn received(&self) -> usize {
        self.recorder.received()
    }

    /// Waits for the first message of the server.
    pub(crate) fn first_message(&self, within: Duration) -> impl Future<Output = ()> + Send + use<> {
        let recorder = Arc::clone(&self.recorder);
        async move {
            recorder.wait(within, |state| state.received_since(0).next().map(|_| ())).await;
        }
    }

    /// The highest level of the log messages after this number of received messages.
    pub(crate) fn logged_since(&self, received: usize) -> Option<Value> {
        let state = self.recorder.lock();
        let messages = state.received_since(received);
        let logs = messages.filter(|message| message["method"] == "notifications/message");
        logs.filter_map(|message| severity(message.pointer("/params/level")?)).max().map(|level| json!(LEVELS[level]))
    }

    /// What the user and the model do from now on.
    pub(crate) fn set_user(&self, user: User) {
        self.recorder.set_user(user);
    }

    /// Whether progress of a request was received.
    pub(crate) fn has_progress(&self, sent: &Sent) -> bool {
        received_progress(&self.recorder.lock(), sent)
    }

    /// Whether the server closed the connection, or does not respond to a simple request.
    pub(crate) async fn is_lost(&mut self) -> bool {
        !self.responds(self.response_timeout(None)).await
    }

    /// Whether a request failed because the server ended the session, as it may at any time (2025-11-25, basic/transports#session-management).
    /// One that ends it after a few requests is broken.
    pub(crate) async fn session_has_ended(&mut self, error: &StepError) -> bool {
        let is_unknown = |error: &StepError| error.kind == "http-status" && error.code == Some(404);
        if self.revision.is_modern() || self.received() < MANY || !is_unknown(error) {
            return false;
        }
        let ping = Outgoing { method: "ping".to_owned(), ..Outgoing::default() };
        let response = self.request(ping, self.response_timeout(None)).await;
        response.is_err_and(|error| is_unknown(&error))
    }

    /// Whether the server responds to a simple request.
    async fn responds(&mut self, within: Duration) -> bool {
        let first = if self.revision.is_modern() { "server/discover" } else { "ping" };
        // A server may ignore one method and still respond to others.
        for method in [first, "tools/list"] {
            let simple = Outgoing { method: method.to_owned(), ..Outgoing::default() };
            let response = self.request(simple, within).await;
            if !matches!(response, Err(error) if matches!(error.kind.as_str(), "timed-out" | "closed")) {
                return true;
            }
        }
        false
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
        let id = request.id.clone().unwrap_or_else(|| json!(self.take_id()));
        let kind = self.kind_of(&request);
        let message = self.message(&request, Some(&id));
        let since = self.recorder.received();
        let at_us = self.now_us();
        let exchange = self.post(&message, self.headers_of(&request, &message), request.lost_after).await?;
        let progress_token = message.pointer("/params/_meta/progressToken").cloned();
        if request.method == "resources/unsubscribe" {
            self.slow_calls.expect_late(AFTER_UNSUBSCRIBE);
        }
        Ok(Sent { id, exchange, since, at_us, method: request.method, kind, progress_token, shares_id: false })
    }

    /// Sends a request and returns the complete response.
    pub(crate) async fn request(&mut self, request: Outgoing, within: Duration) -> Result<Value, StepError> {
        let sent = self.send(request).await?;
        self.response_or_error(&sent, within).await
    }

    /// Cancels a request, unless it has its response.
    pub(crate) async fn give_up(&mut self, sent: &Sent) {
        if find_response(&self.recorder.lock(), sent).is_none() {
            self.end_request(sent, Some(TOO_SLOW)).await;
        }
    }

    async fn end_request(&mut self, sent: &Sent, reason: Option<&str>) {
        self.slow_calls.note(sent, false);
        if let PeerTransport::Http(connection) = &self.transport {
            if let Some(exchange) = sent.exchange {
                connection.drop_exchange(exchange);
            }
        } else {
            self.notify_cancelled(sent, reason).await;
        }
    }

    async fn notify_cancelled(&mut self, sent: &Sent, reason: Option<&str>) {
        let mut params = Map::from_iter([("requestId".to_owned(), sent.id.clone())]);
        params.extend(reason.map(|reason| ("reason".to_owned(), reason.into())));
        let (method, params) = ("notifications/cancelled".to_owned(), Some(params));
        let _ = self.notify(&Outgoing { method, params, ..Outgoing::default() }).await;
    }

    /// Leaves a request open under a name.
    pub(crate) fn leave_open(&mut self, name: &str, sent: Sent) {
        self.open.insert(name.to_owned(), sent);
    }

    /// Cancels a request that was left open. Returns whether there is one.
    pub(crate) async fn stop(&mut self, name: &str) -> bool {
        let Some(sent) = self.open.remove(name) else { return false };
        self.end_request(&sent, None).await;
        true
    }

    /// Sends a notification. Over HTTP it waits for the HTTP response, so that the server can take the next message.
    pub(crate) async fn notify(&mut self, notification: &Outgoing) -> Result<(), StepError> {
        let message = self.message(notification, None);
        let exchange = self.post(&message, self.headers_of(notification, &message), None).await?;
        let Some(exchange) = exchange else { return Ok(()) };
        let over = self.recorder.wait(Duration::from_secs(2), |state| state.ended.get(&exchange).cloned()).await;
        match over.and_then(|ended| ended.error) {
            Some(error) => Err(failure("closed", error)),
            None => Ok(()),
        }
    }

    /// The usual headers of a message, and those that replace them.
    fn headers_of(&self, outgoing: &Outgoing, message: &Value) -> Headers {
        let mut headers = self.headers(message, outgoing.bare);
        let replaced = outgoing.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
        headers.extend(replaced);
        headers
    }

    /// Writes raw bytes in so many pieces (not over HTTP+SSE), and returns the messages received within the timeout.
    pub(crate) async fn raw(&mut self, bytes: &[u8], pieces: u8, within: Duration) -> Result<Vec<Value>, StepError> {
        let since = self.recorder.received();
        let text = String::from_utf8_lossy(bytes);
        let exchange = match &self.transport {
            PeerTransport::Stdio(connection) => {
                self.written(connection.send_pieces(bytes, pieces)).await.map(|()| None)
            }
            PeerTransport::Http(connection) => {
                let mut headers = self.raw_headers(&text);
                headers.insert(PIECES.to_owned(), pieces.to_string());
                Ok(Some(connection.post(bytes.to_vec().into(), headers, None)))
            }
            PeerTransport::Sse(connection) => connection.post(&text).await.map(|()| None).or(Ok(None)),
        };
        let exchange = exchange.map_err(|error| failure("closed", error))?;
        // Over HTTP the end of the response is the end of the messages; elsewhere the first response or the timeout is.
        let within = if exchange.is_some() { within.max(SHORTEST) } else { self.raw_wait(&text, within) };
        let is_response = |message: &Value| message.get("method").is_none();
        self.recorder
            .wait(within, |state| match exchange {
                Some(exchange) => state.ended.get(&exchange).map(|_| ()),
                None => (state.received_since(since).any(is_response) || state.closed.is_some()).then_some(()),
            })
            .await;
        Ok(self.recorder.received_since(since))
    }

    /// Closes the server's input and waits for its exit; over HTTP it terminates the session. A server that starts slowly may
    /// take as long to exit.
    pub(crate) async fn close(&mut self, within: Duration) -> Outcome {
        let began = self.now_us();
        match &self.transport {
            PeerTransport::Stdio(connection) => {
                let (exited, code) = connection.close_input(within.max(self.startup)).await;
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

    /// Sends SIGTERM to the server and waits for its exit.
    pub(crate) async fn terminate(&mut self, within: Duration) -> Outcome {
        let began = self.now_us();
        let PeerTransport::Stdio(connection) = &self.transport else {
            return Outcome::Skipped("the workbench did not start the server".to_owned());
        };
        match connection.terminate(within).await {
            Ok((exited, code)) => {
                let elapsed_ms = (self.now_us() - began) / 1000;
                Outcome::Value(json!({ "exited": exited, "code": code, "elapsed_ms": elapsed_ms }))
            }
            Err(error) => Outcome::Error(failure("signal", error)),
        }
    }

    /// Terminates the process and all processes below it, or the session.
    pub(crate) async fn end(self) -> FinishedPeer {
        let busy = self.is_busy();
        let (process, stderr) = match self.transport {
            PeerTransport::Stdio(connection) => {
                let (process, stderr) = connection.end(busy).await;
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
        FinishedPeer { frames: self.recorder.take_frames(), process, stderr, elapsed_us: self.recorder.now_us() }
    }

    /// A number that no other request has as its id.
    pub(crate) fn take_id(&mut self) -> i64 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// Writes to the server, which may be busy.
    async fn written(&self, writing: impl Future<Output = Result<(), String>>) -> Result<(), String> {
        let written = self.while_working(stdio::WRITE, None, writing).await;
        written.unwrap_or_else(|| Err("the server does not read its input".to_owned()))
    }

    async fn post(
        &self,
        message: &Value,
        headers: Headers,
        lost_after: Option<Duration>,
    ) -> Result<Option<u64>, StepError> {
        let text = stdio::line(message);
        let posted = match &self.transport {
            PeerTransport::Stdio(connection) => self.written(connection.send(&text)).await.map(|()| None),
            PeerTransport::Http(connection) => Ok(Some(connection.post(text.into(), headers, lost_after))),
            PeerTransport::Sse(connection) => connection.post(&text).await.map(|()| None),
        };
        posted.map_err(|error| failure("closed", error))
    }
}

/// Whether progress of a request was received.
fn received_progress(state: &State, sent: &Sent) -> bool {
    progress_of(state, sent).next().is_some()
}

/// The parameters of the progress of a request.
fn progress_of<'s>(state: &'s State, sent: &'s Sent) -> impl Iterator<Item = &'s Value> {
    let params = |message: &'s Value| {
        let token = sent.progress_token.as_ref()?;
        let params = message.get("params").filter(|_| message["method"] == "notifications/progress")?;
        (params.get("progressToken") == Some(token)).then_some(params)
    };
    state.received_since(sent.since).filter_map(params)
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
        return Some(Err(StepError { code: ended.status.map(i64::from), ..failure(kind, message) }));
    }
    state.closed.as_ref().map(|why| Err(failure("closed", why.clone())))
}

/// The error of an error response.
pub(crate) fn rpc_error(response: &Value) -> Option<StepError> {
    let error = response.get("error")?;
    let message = error.get("message").and_then(Value::as_str).unwrap_or("(no message)");
    let code = error.get("code").and_then(Value::as_i64);
    Some(StepError { kind: "rpc-error".to_owned(), message: message.to_owned(), code, detail: None })
}

/// A step error that the server did not send.
pub(crate) fn failure(kind: &str, message: impl Into<String>) -> StepError {
    StepError { kind: kind.to_owned(), message: message.into(), code: None, detail: None }
}
