//! The response to one HTTP request: undecided, an event stream, or done.

use std::time::Duration;

use axum::body::Body as HttpBody;
use http::{HeaderValue, Response, StatusCode, header};
use serde_json::Value;
use tokio::sync::oneshot;

use super::stream::{EventStream, ReplayBuffer};
use crate::{
    engine::{DispatchId, SessionKey},
    faults::HttpHead,
    listen::{
        body_writer::{self, BodyWriter},
        http_exchange::HttpExchange,
        response::{Aborted, DisconnectGuard, HttpResult, empty, record_response, scripted, send_result},
        socket::CloseMode,
        wire::EventId,
    },
    script::{HttpStatus, Respond},
};
use evidence::{Body, ConnectionEvent, FrameParts, Recorder};

/// Kind of an HTTP request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HttpRequestKind {
    /// A JSON-RPC request.
    Request,
    /// A notification or a response, which has no response message.
    OneWay,
    /// A GET, for the stream of the server's own messages.
    Listen,
    /// A GET that resumes a stream after one of its events.
    Resume(EventId),
    /// A DELETE of the session.
    Delete,
}

/// An HTTP request with its session.
#[derive(Debug)]
pub(super) struct HttpRequestInfo {
    pub(super) kind: HttpRequestKind,
    /// The session; `None` outside of sessions.
    pub(super) session: Option<SessionKey>,
    /// The id of the session that this request opens.
    pub(super) session_header: Option<String>,
}

/// The form of a response, from script and revision.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResponseMode {
    pub(super) respond: Respond,
    /// Whether streams can be resumed, and whether they begin with an event id.
    pub(super) resumable: Option<Primes>,
    /// The `retry` at the beginning of a stream.
    pub(super) retry: Option<Duration>,
    /// Whether a stream stays open after its response.
    pub(super) keep_open: bool,
}

/// Whether streams begin with an event that only has an id.
pub(super) type Primes = bool;

/// Builds and records the response to one HTTP request.
pub(crate) struct Responder {
    pub(super) kind: HttpRequestKind,
    pub(super) session: Option<SessionKey>,
    pub(super) mode: ResponseMode,
    key: DispatchId,
    connection: u64,
    pub(super) close_mode: CloseMode,
    recorder: Recorder,
    pub(super) session_header: Option<String>,
    /// The content type of a fault.
    pub(super) content_type: Option<HeaderValue>,
    /// The changes of status and headers by faults.
    pub(super) heads: Vec<HttpHead>,
    state: State,
}

enum State {
    /// Nothing is sent yet, neither one object nor a stream. The guard detects that the client disconnects.
    Undecided(oneshot::Sender<HttpResult>),
    Stream(EventStream),
    Done,
}

impl Responder {
    pub(super) fn new(
        key: DispatchId,
        exchange: &HttpExchange,
        asked: HttpRequestInfo,
        recorder: Recorder,
        mode: ResponseMode,
    ) -> (Self, oneshot::Receiver<HttpResult>) {
        let (sender, receiver) = oneshot::channel();
        let HttpRequestInfo { kind, session, session_header } = asked;
        let responder = Self {
            kind,
            session,
            mode,
            key,
            connection: exchange.connection,
            close_mode: exchange.close_mode().clone(),
            recorder,
            session_header,
            content_type: None,
            heads: Vec::new(),
            state: State::Undecided(sender),
        };
        (responder, receiver)
    }

    pub(super) fn connection(&self) -> u64 {
        self.connection
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    pub(super) fn is_undecided(&self) -> bool {
        matches!(self.state, State::Undecided(_))
    }

    /// The stream, if the response is one.
    pub(super) fn stream(&mut self) -> Option<&mut EventStream> {
        match &mut self.state {
            State::Stream(stream) => Some(stream),
            _ => None,
        }
    }

    /// Sends a notification or request; the response becomes a stream.
    pub(super) fn send(&mut self, message: Value, guard: impl FnOnce() -> DisconnectGuard) {
        self.open_stream(guard);
        if let Some(stream) = self.stream() {
            stream.send(&message.to_string(), Body::json(message));
        }
    }

    /// Sends text in place of a message.
    pub(super) fn send_raw(&mut self, text: String, guard: impl FnOnce() -> DisconnectGuard) {
        self.open_stream(guard);
        if let Some(stream) = self.stream() {
            stream.send(&text.clone(), Body::Text(text));
        }
    }

    /// Sends the response.
    pub(super) fn answer(&mut self, message: Value, status: u16, guard: impl FnOnce() -> DisconnectGuard) {
        // A session that could not be initialized gets no id.
        if message.get("result").is_none() {
            self.session_header = None;
        }
        if self.streams_response(status) {
            self.open_stream(guard);
        }
        match std::mem::replace(&mut self.state, State::Done) {
            State::Undecided(sender) => {
                let mut response = one_object(&message, status, None);
                self.add_headers(&mut response, "application/json");
                self.record_response(&response, Body::json(message));
                send_result(sender, Ok(response));
            }
            State::Stream(mut stream) => {
                stream.send(&message.to_string(), Body::json(message));
                self.state = State::Stream(stream);
                self.finish_stream();
            }
            State::Done => {}
        }
    }

    /// Whether a response with this status is sent on a stream, regardless of the messages before it.
    pub(super) fn streams_response(&self, status: u16) -> bool {
        self.mode.respond == Respond::Sse && self.kind == HttpRequestKind::Request && status == 200
    }

    /// Sends the scripted response.
    pub(super) fn respond_with_status(&mut self, wanted: &HttpStatus) {
        if let Some(sender) = self.decide() {
            let response = scripted(wanted);
            let said = if wanted.body.is_empty() {
                Body::Event(ConnectionEvent::Bodiless)
            } else {
                Body::Text(wanted.body.clone())
            };
            self.record_response(&response, said);
            send_result(sender, Ok(response));
        }
    }

    /// Sends a response without a body.
    pub(super) fn respond_empty(&mut self, status: StatusCode) {
        if let Some(sender) = self.decide() {
            let mut response = empty(status);
            self.change_head(&mut response);
            self.record_response(&response, Body::Event(ConnectionEvent::Bodiless));
            send_result(sender, Ok(response));
        }
    }

    /// Closes the connection without a response. A stream for messages of the server can be resumed, as if a proxy had
    /// closed it; that of a response cannot, since no response follows.
    pub(super) fn close(&mut self) {
        let can_resume = matches!(self.kind, HttpRequestKind::Listen | HttpRequestKind::Resume(_));
        if let Some(stream) = self.stream() {
            stream.break_off(can_resume);
        } else if let Some(sender) = self.decide() {
            send_result(sender, Err(Aborted));
            self.note_end();
        }
    }

    /// Resets the connection.
    pub(super) fn reset(&mut self) {
        if self.is_undecided() || self.stream().is_some_and(|stream| stream.is_connected()) {
            self.close_mode.reset();
        }
        self.close();
    }

    /// Opens an event stream, unless it is open.
    pub(super) fn open_stream(&mut self, guard: impl FnOnce() -> DisconnectGuard) {
        let Some(sender) = self.decide() else { return };
        let (writer, response) = self.stream_head(guard());
        let memory = self.mode.resumable.map(ReplayBuffer::new);
        let mut stream = EventStream::new(self.key, self.recorder.clone(), self.connection, writer, memory);
        stream.prime(self.mode.retry);
        self.state = State::Stream(stream);
        send_result(sender, Ok(response));
    }

    /// Continues this stream on the connection of a request that resumes it.
    pub(super) fn resume(&mut self, mut request: Self, after: u64, guard: impl FnOnce(u64) -> DisconnectGuard) {
        let State::Stream(stream) = &mut self.state else { return request.respond_empty(StatusCode::BAD_REQUEST) };
        let Some(sender) = request.decide() else { return };
        let (writer, response) = request.stream_head(guard(stream.attachment() + 1));
        stream.resume(request.connection, writer, after);
        (self.connection, self.close_mode) = (request.connection, request.close_mode);
        send_result(sender, Ok(response));
    }

    /// Closes the connection; the stream continues when the client reconnects.
    pub(super) fn pause(&mut self, retry: Option<Duration>, guard: impl FnOnce() -> DisconnectGuard) {
        self.open_stream(guard);
        if let Some(stream) = self.stream() {
            stream.pause(retry);
        }
    }

    /// Ends the stream after its last message, unless the script keeps the streams of requests open.
    pub(super) fn finish_stream(&mut self) {
        if !(self.mode.keep_open && self.kind == HttpRequestKind::Request) {
            self.end_stream();
        }
    }

    /// Ends the stream.
    pub(super) fn end_stream(&mut self) {
        if let Some(stream) = self.stream() {
            stream.end();
        }
    }

    /// Records that the client disconnected before the response or during a stream.
    pub(super) fn leave(&mut self, mark: ConnectionEvent) {
        if let Some(stream) = self.stream() {
            stream.disconnect(mark);
        } else {
            self.state = State::Done;
            self.recorder.record(FrameParts::event(self.connection, mark));
        }
    }

    /// The target of the response; asking for it decides it.
    pub(super) fn decide(&mut self) -> Option<oneshot::Sender<HttpResult>> {
        match std::mem::replace(&mut self.state, State::Done) {
            State::Undecided(sender) => Some(sender),
            other => {
                self.state = other;
                None
            }
        }
    }

    /// The head of a stream, and the writer of its body.
    fn stream_head(&self, guard: DisconnectGuard) -> (BodyWriter, Response<HttpBody>) {
        let (writer, body) = body_writer::body(guard, &self.close_mode);
        let mut response = Response::new(body);
        self.add_headers(&mut response, "text/event-stream");
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        // Keeps proxies from buffering events (2026-07-28, Streamable HTTP, receiving messages).
        headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
        self.change_head(&mut response);
        self.record_response(&response, Body::Event(ConnectionEvent::Bodiless));
        (writer, response)
    }

    /// Adds the content type and the session id to a response.
    pub(super) fn add_headers(&self, response: &mut Response<HttpBody>, content_type: &'static str) {
        add_headers(response, content_type, self.session_header.as_deref());
        if let Some(content_type) = &self.content_type {
            response.headers_mut().insert(header::CONTENT_TYPE, content_type.clone());
        }
    }

    /// Records that the server closes the connection.
    pub(super) fn note_end(&self) {
        self.recorder.record(FrameParts::event(self.connection, ConnectionEvent::ClosedByServer));
    }

    pub(super) fn record_response(&self, response: &Response<HttpBody>, body: Body) {
        record_response(&self.recorder, self.connection, response, body);
    }
}

fn add_headers(response: &mut Response<HttpBody>, content_type: &'static str, session: Option<&str>) {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    if let Some(value) = session.and_then(|id| HeaderValue::from_str(id).ok()) {
        headers.insert("mcp-session-id", value);
    }
}

/// The bytes as JSON.
pub(super) fn json(bytes: impl Into<HttpBody>) -> Response<HttpBody> {
    let mut response = Response::new(bytes.into());
    add_headers(&mut response, "application/json", None);
    response
}

/// A response as one JSON object.
pub(super) fn one_object(message: &Value, status: u16, session: Option<&str>) -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::from(message.to_string()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    add_headers(&mut response, "application/json", session);
    response
}
