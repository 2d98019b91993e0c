//! The answer to one HTTP request while it is made: undecided, a stream of events, or done.

use std::collections::BTreeMap;

use axum::body::Body as HttpBody;
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
    pub(super) connection: u64,
    pub(super) ending: Ending,
    pub(super) recorder: Recorder,
    pub(super) session_header: Option<String>,
    /// A content type in the place of the right one.
    pub(super) content_type: Option<HeaderValue>,
    pub(super) state: State,
}

pub(super) enum State {
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
        let state = State::Undecided(sender);
        (Self { subject, connection, ending, recorder, session_header, content_type: None, state }, receiver)
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

    /// Drops the connection.
    pub(crate) fn close(&mut self) {
        match std::mem::replace(&mut self.state, State::Done) {
            State::Undecided(sender) => give(sender, Err(Aborted)),
            State::Stream(pieces) => pieces.push(Piece::Abort),
            State::Done => return,
        }
        self.recorder.record(Sighting::mark(self.connection, Mark::ClosedByServer));
    }

    /// Resets the connection.
    pub(crate) fn reset(&mut self) {
        if !self.is_done() {
            self.ending.reset();
            self.close();
        }
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

    pub(super) fn dress(&self, response: &mut Response<HttpBody>, content_type: &'static str) {
        let headers = response.headers_mut();
        let content_type = self.content_type.clone().unwrap_or_else(|| HeaderValue::from_static(content_type));
        headers.insert(header::CONTENT_TYPE, content_type);
        if let Some(value) = self.session_header.as_deref().and_then(|id| HeaderValue::from_str(id).ok()) {
            headers.insert("mcp-session-id", value);
        }
    }

    pub(super) fn record_response(&self, response: &Response<HttpBody>, body: Body) {
        record_response(&self.recorder, self.connection, response, body);
    }

    pub(super) fn record_event(&self, body: Body) {
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

pub(super) fn give(sender: oneshot::Sender<Verdict>, verdict: Verdict) {
    if sender.send(verdict).is_err() {
        tracing::debug!("the client left before the answer");
    }
}
