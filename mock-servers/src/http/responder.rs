//! The answer to one HTTP request while it is made: undecided, a stream of events, or done.

use std::collections::BTreeMap;

use axum::body::{Body as HttpBody, Bytes};
use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use serde_json::Value;
use tokio::sync::oneshot;

use super::wire;
use crate::{
    frame::{Body, Http, Mark},
    listen::{
        exchange::Exchange,
        outlet::{self, Outlet, Piece},
        serving::Aborted,
        socket::Ending,
    },
    record::{Recorder, Sighting},
    script::HttpStatus,
};

/// What the server's side of an exchange leads to: a response, or a dropped connection.
pub(crate) type Verdict = Result<Response<HttpBody>, Aborted>;

/// What the exchange answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A JSON-RPC request.
    Request,
    /// A notification or a response, which gets no message back.
    OneWay,
    /// A GET, for the stream of the server's own messages.
    Listen,
    /// A DELETE of the session.
    Delete,
}

/// Makes the answer of one HTTP exchange, and records it.
pub(crate) struct Responder {
    pub(crate) subject: Subject,
    connection: u64,
    ending: Ending,
    recorder: Recorder,
    session_header: Option<String>,
    state: State,
}

enum State {
    /// Nothing has been said: it is open whether this becomes one object or a stream. What watches over the client's
    /// presence comes along.
    Undecided(oneshot::Sender<Verdict>),
    Stream(Outlet),
    Done,
}

impl Responder {
    pub(crate) fn new(
        subject: Subject,
        exchange: &Exchange,
        recorder: Recorder,
        session_header: Option<String>,
    ) -> (Self, oneshot::Receiver<Verdict>) {
        let (sender, receiver) = oneshot::channel();
        let (connection, ending) = (exchange.connection, exchange.ending().clone());
        (Self { subject, connection, ending, recorder, session_header, state: State::Undecided(sender) }, receiver)
    }

    pub(crate) fn connection(&self) -> u64 {
        self.connection
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    pub(crate) fn is_undecided(&self) -> bool {
        matches!(self.state, State::Undecided(_))
    }

    /// Sends a message that is no final answer: from here on this is a stream.
    pub(crate) fn send(&mut self, message: Value, guard: impl FnOnce() -> Presence) {
        if self.is_done() {
            return;
        }
        self.open_stream(guard);
        self.push_event(&message.to_string(), Body::Json(message));
    }

    /// Sends text in the place of a message.
    pub(crate) fn send_raw(&mut self, text: String, guard: impl FnOnce() -> Presence) {
        if self.is_done() {
            return;
        }
        self.open_stream(guard);
        self.push_event(&text.clone(), Body::Text(text));
    }

    /// Sends the final answer.
    pub(crate) fn answer(&mut self, message: Value, status: u16) {
        // A session that could not be initialized gets no id.
        if message.get("result").is_none() {
            self.session_header = None;
        }
        match std::mem::replace(&mut self.state, State::Done) {
            State::Undecided(sender) => {
                let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
                let mut response = Response::new(HttpBody::from(message.to_string()));
                *response.status_mut() = status;
                self.dress(&mut response, "application/json");
                self.record_response(&response, Body::Json(message));
                give(sender, Ok(response));
            }
            State::Stream(pieces) => {
                self.state = State::Stream(pieces);
                self.push_event(&message.to_string(), Body::Json(message));
                self.end_stream();
            }
            State::Done => {}
        }
    }

    /// Answers with a status that the script words.
    pub(crate) fn answer_status(&mut self, wanted: &HttpStatus) {
        let State::Undecided(sender) = std::mem::replace(&mut self.state, State::Done) else { return };
        let response = scripted(wanted);
        let body = if wanted.body.is_empty() { Body::Mark(Mark::Bodiless) } else { Body::Text(wanted.body.clone()) };
        self.record_response(&response, body);
        give(sender, Ok(response));
    }

    /// Answers with this status and no body.
    pub(crate) fn answer_empty(&mut self, status: StatusCode) {
        let State::Undecided(sender) = std::mem::replace(&mut self.state, State::Done) else { return };
        let response = empty(status);
        self.record_response(&response, Body::Mark(Mark::Bodiless));
        give(sender, Ok(response));
    }

    /// Sends the first bytes of the answer, then drops the connection.
    pub(crate) fn truncate(&mut self, message: &Value, bytes: usize) {
        let text = message.to_string();
        let cut = Bytes::copy_from_slice(&text.as_bytes()[..bytes.min(text.len())]);
        let recorded = Body::Text(String::from_utf8_lossy(&cut).into_owned());
        match std::mem::replace(&mut self.state, State::Done) {
            State::Undecided(sender) => {
                let (pieces, body) = outlet::body((), &self.ending);
                let mut response = Response::new(body);
                // The length that was promised is what shows the client that something is missing.
                response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(text.len()));
                self.dress(&mut response, "application/json");
                self.record_response(&response, recorded);
                pieces.push(Piece::Bytes(cut));
                pieces.push(Piece::Abort);
                give(sender, Ok(response));
            }
            State::Stream(pieces) => {
                let event = wire::event("message", &text);
                let start = event.len() - text.len() - 2;
                self.record_event(recorded);
                pieces.push(Piece::Bytes(Bytes::copy_from_slice(&event.as_bytes()[..start + cut.len()])));
                pieces.push(Piece::Abort);
            }
            State::Done => return,
        }
        self.recorder.record(Sighting::mark(self.connection, Mark::ClosedByServer));
    }

    /// Drops the connection.
    pub(crate) fn close(&mut self) {
        match std::mem::replace(&mut self.state, State::Done) {
            State::Undecided(sender) => give(sender, Err(Aborted)),
            State::Stream(pieces) => pieces.push(Piece::Abort),
            State::Done => return,
        }
        self.recorder.record(Sighting::mark(self.connection, Mark::ClosedByServer));
    }

    /// Turns this into a stream of events, if it is not one yet.
    pub(crate) fn open_stream(&mut self, guard: impl FnOnce() -> Presence) {
        match std::mem::replace(&mut self.state, State::Done) {
            State::Undecided(sender) => {
                let (pieces, body) = outlet::body(guard(), &self.ending);
                let mut response = Response::new(body);
                self.dress(&mut response, "text/event-stream");
                let headers = response.headers_mut();
                headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
                // Proxies are told not to hold events back (2026-07-28, Streamable HTTP, receiving messages).
                headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
                self.record_response(&response, Body::Mark(Mark::Bodiless));
                self.state = State::Stream(pieces);
                give(sender, Ok(response));
            }
            other => self.state = other,
        }
    }

    /// Ends the stream in good order.
    pub(crate) fn end_stream(&mut self) {
        if let State::Stream(_) = std::mem::replace(&mut self.state, State::Done) {
            self.recorder.record(Sighting::mark(self.connection, Mark::ClosedByServer));
        }
    }

    /// Notes that the exchange ended early, and by whom.
    pub(crate) fn leave(&mut self, mark: Mark) {
        self.state = State::Done;
        self.recorder.record(Sighting::mark(self.connection, mark));
    }

    /// Recorded before it is sent: what a fast client says in return must not come before it in the record.
    fn push_event(&self, data: &str, recorded: Body) {
        self.record_event(recorded);
        if let State::Stream(pieces) = &self.state {
            pieces.push(Piece::Bytes(wire::event("message", data).into()));
        }
    }

    fn dress(&self, response: &mut Response<HttpBody>, content_type: &'static str) {
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        if let Some(value) = self.session_header.as_deref().and_then(|id| HeaderValue::from_str(id).ok()) {
            headers.insert("mcp-session-id", value);
        }
    }

    fn record_response(&self, response: &Response<HttpBody>, body: Body) {
        record_response(&self.recorder, self.connection, response, body);
    }

    fn record_event(&self, body: Body) {
        let http = Http { status: Some(200), event: Some("message".to_owned()), ..Http::default() };
        self.recorder.record_with(|| Sighting::sent(self.connection, body).with_http(http));
    }
}

/// Tells, when it is dropped, that the client needs nothing more.
pub(crate) struct Presence(Option<Box<dyn FnOnce() + Send>>);

impl Presence {
    pub(crate) fn new(gone: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(gone)))
    }

    /// Nothing is to be told any more.
    pub(crate) fn dismiss(mut self) {
        self.0 = None;
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        if let Some(gone) = self.0.take() {
            gone();
        }
    }
}

/// Records the head of a response with its body.
pub(crate) fn record_response(recorder: &Recorder, connection: u64, response: &Response<HttpBody>, body: Body) {
    recorder.record_with(|| {
        let status = Some(response.status().as_u16());
        let headers: BTreeMap<String, String> = wire::recorded(response.headers());
        Sighting::sent(connection, body).with_http(Http { status, headers, ..Http::default() })
    });
}

/// A response without a body.
pub(crate) fn empty(status: StatusCode) -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::empty());
    *response.status_mut() = status;
    response
}

/// The response that a script words. What HTTP cannot express is left out.
pub(crate) fn scripted(wanted: &HttpStatus) -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::from(wanted.body.clone()));
    *response.status_mut() = StatusCode::from_u16(wanted.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in &wanted.headers {
        match (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
            (Ok(name), Ok(value)) => drop(response.headers_mut().append(name, value)),
            _ => tracing::warn!(name, "the script words a header that HTTP cannot express"),
        }
    }
    response
}

fn give(sender: oneshot::Sender<Verdict>, verdict: Verdict) {
    if sender.send(verdict).is_err() {
        tracing::debug!("the client left before the answer");
    }
}
