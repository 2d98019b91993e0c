//! The answer to one HTTP request while it is made: undecided, a stream of events, or done.

use std::{collections::BTreeMap, time::Duration};

use axum::body::Body as HttpBody;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use serde_json::Value;
use tokio::sync::oneshot;

use super::{
    stream::{EventStream, Memory},
    wire::{self, EventId},
};
use crate::{
    engine::{ExchangeId, SessionKey},
    frame::{Body, Http, Mark},
    listen::{
        exchange::Exchange,
        outlet::{self, Outlet},
        serving::Aborted,
        socket::Ending,
    },
    record::{Recorder, Sighting},
    script::{HttpStatus, Respond},
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
    /// A GET that goes on with a stream, from after one of its events on.
    Resume(EventId),
    /// A DELETE of the session.
    Delete,
}

/// What is asked in an HTTP exchange, and by whom.
#[derive(Debug)]
pub(super) struct Asked {
    /// What for.
    pub(super) subject: Subject,
    /// In which session; none outside of all.
    pub(super) session: Option<SessionKey>,
    /// The id of the session that this opens.
    pub(super) session_header: Option<String>,
}

/// How an exchange is answered, as far as its script and its revision decide.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner {
    /// As one object or as a stream.
    pub(super) respond: Respond,
    /// Whether streams can be resumed, and if so, whether they begin with an id.
    pub(super) resumable: Option<Primes>,
    /// What a stream begins with, besides.
    pub(super) retry: Option<Duration>,
}

/// Whether streams begin with an event that is there for its id alone.
pub(super) type Primes = bool;

/// Makes the answer of one HTTP exchange, and records it.
pub(crate) struct Responder {
    pub(super) subject: Subject,
    pub(super) session: Option<SessionKey>,
    pub(super) manner: Manner,
    key: ExchangeId,
    connection: u64,
    pub(super) ending: Ending,
    recorder: Recorder,
    pub(super) session_header: Option<String>,
    /// A content type in the place of the right one.
    pub(super) content_type: Option<HeaderValue>,
    state: State,
}

enum State {
    /// Nothing has been said: it is open whether this becomes one object or a stream. What watches over the client's
    /// presence comes along.
    Undecided(oneshot::Sender<Verdict>),
    Stream(EventStream),
    Done,
}

impl Responder {
    pub(super) fn new(
        key: ExchangeId,
        exchange: &Exchange,
        asked: Asked,
        recorder: Recorder,
        manner: Manner,
    ) -> (Self, oneshot::Receiver<Verdict>) {
        let (sender, receiver) = oneshot::channel();
        let Asked { subject, session, session_header } = asked;
        let responder = Self {
            subject,
            session,
            manner,
            key,
            connection: exchange.connection,
            ending: exchange.ending().clone(),
            recorder,
            session_header,
            content_type: None,
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

    /// The stream that this has become.
    pub(super) fn stream(&mut self) -> Option<&mut EventStream> {
        match &mut self.state {
            State::Stream(stream) => Some(stream),
            _ => None,
        }
    }

    /// Sends a message that is no final answer: from here on this is a stream.
    pub(super) fn send(&mut self, message: Value, guard: impl FnOnce() -> Presence) {
        self.open_stream(guard);
        if let Some(stream) = self.stream() {
            stream.say(&message.to_string(), Body::Json(message));
        }
    }

    /// Sends text in the place of a message.
    pub(super) fn send_raw(&mut self, text: String, guard: impl FnOnce() -> Presence) {
        self.open_stream(guard);
        if let Some(stream) = self.stream() {
            stream.say(&text.clone(), Body::Text(text));
        }
    }

    /// Sends the final answer.
    pub(super) fn answer(&mut self, message: Value, status: u16, guard: impl FnOnce() -> Presence) {
        // A session that could not be initialized gets no id.
        if message.get("result").is_none() {
            self.session_header = None;
        }
        if self.streams_answer(status) {
            self.open_stream(guard);
        }
        match std::mem::replace(&mut self.state, State::Done) {
            State::Undecided(sender) => {
                let mut response = one_object(&message, status, None);
                self.dress(&mut response, "application/json");
                self.record_response(&response, Body::Json(message));
                give(sender, Ok(response));
            }
            State::Stream(mut stream) => {
                stream.say(&message.to_string(), Body::Json(message));
                stream.end();
                self.state = State::Stream(stream);
            }
            State::Done => {}
        }
    }

    /// Whether an answer of this status goes out on a stream, whatever came before.
    pub(super) fn streams_answer(&self, status: u16) -> bool {
        self.manner.respond == Respond::Sse && self.subject == Subject::Request && status == 200
    }

    /// Answers with a status that the script words.
    pub(super) fn answer_status(&mut self, wanted: &HttpStatus) {
        if let Some(sender) = self.decide() {
            let response = scripted(wanted);
            let said =
                if wanted.body.is_empty() { Body::Mark(Mark::Bodiless) } else { Body::Text(wanted.body.clone()) };
            self.record_response(&response, said);
            give(sender, Ok(response));
        }
    }

    /// Answers with this status and no body.
    pub(super) fn answer_empty(&mut self, status: StatusCode) {
        if let Some(sender) = self.decide() {
            let response = empty(status);
            self.record_response(&response, Body::Mark(Mark::Bodiless));
            give(sender, Ok(response));
        }
    }

    /// Drops the connection.
    pub(super) fn close(&mut self) {
        if let Some(stream) = self.stream() {
            stream.break_off();
        } else if let Some(sender) = self.decide() {
            give(sender, Err(Aborted));
            self.note_end();
        }
    }

    /// Resets the connection.
    pub(super) fn reset(&mut self) {
        if self.is_undecided() || self.stream().is_some_and(|stream| stream.is_heard()) {
            self.ending.reset();
        }
        self.close();
    }

    /// Turns this into a stream of events, if it is not one yet.
    pub(super) fn open_stream(&mut self, guard: impl FnOnce() -> Presence) {
        let Some(sender) = self.decide() else { return };
        let (outlet, response) = self.stream_head(guard());
        let memory = self.manner.resumable.map(Memory::new);
        let mut stream = EventStream::new(self.key, self.recorder.clone(), self.connection, outlet, memory);
        stream.prime(self.manner.retry);
        self.state = State::Stream(stream);
        give(sender, Ok(response));
    }

    /// Goes on with this stream on the connection of a request that asks for what came after an event of it.
    pub(super) fn take_up(&mut self, mut request: Self, after: u64, guard: impl FnOnce(u64) -> Presence) {
        let State::Stream(stream) = &mut self.state else { return request.answer_empty(StatusCode::BAD_REQUEST) };
        let Some(sender) = request.decide() else { return };
        let (outlet, response) = request.stream_head(guard(stream.attachment() + 1));
        stream.take_up(request.connection, outlet, after);
        (self.connection, self.ending) = (request.connection, request.ending);
        give(sender, Ok(response));
    }

    /// Closes the connection; the stream goes on when the client comes back for it.
    pub(super) fn pause(&mut self, retry: Option<Duration>, guard: impl FnOnce() -> Presence) {
        self.open_stream(guard);
        if let Some(stream) = self.stream() {
            stream.pause(retry);
        }
    }

    /// Ends the stream in good order.
    pub(super) fn end_stream(&mut self) {
        if let Some(stream) = self.stream() {
            stream.end();
        }
    }

    /// Notes that the client has left before there was an answer, or in the middle of a stream.
    pub(super) fn leave(&mut self, mark: Mark) {
        if let Some(stream) = self.stream() {
            stream.lose(mark);
        } else {
            self.state = State::Done;
            self.recorder.record(Sighting::mark(self.connection, mark));
        }
    }

    /// Where the answer goes, which is decided on by asking.
    pub(super) fn decide(&mut self) -> Option<oneshot::Sender<Verdict>> {
        match std::mem::replace(&mut self.state, State::Done) {
            State::Undecided(sender) => Some(sender),
            other => {
                self.state = other;
                None
            }
        }
    }

    /// The head of a stream, and where to write it.
    fn stream_head(&self, guard: Presence) -> (Outlet, Response<HttpBody>) {
        let (outlet, body) = outlet::body(guard, &self.ending);
        let mut response = Response::new(body);
        self.dress(&mut response, "text/event-stream");
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        // Proxies are told not to hold events back (2026-07-28, Streamable HTTP, receiving messages).
        headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
        self.record_response(&response, Body::Mark(Mark::Bodiless));
        (outlet, response)
    }

    /// Gives a response its type and the id of its session.
    pub(super) fn dress(&self, response: &mut Response<HttpBody>, content_type: &'static str) {
        dress(response, content_type, self.session_header.as_deref());
        if let Some(content_type) = &self.content_type {
            response.headers_mut().insert(header::CONTENT_TYPE, content_type.clone());
        }
    }

    /// Notes that the server ends the connection.
    pub(super) fn note_end(&self) {
        self.recorder.record(Sighting::mark(self.connection, Mark::ClosedByServer));
    }

    pub(super) fn record_response(&self, response: &Response<HttpBody>, body: Body) {
        record_response(&self.recorder, self.connection, response, body);
    }
}

fn dress(response: &mut Response<HttpBody>, content_type: &'static str, session: Option<&str>) {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    if let Some(value) = session.and_then(|id| HeaderValue::from_str(id).ok()) {
        headers.insert("mcp-session-id", value);
    }
}

/// These bytes as JSON.
pub(super) fn json(bytes: impl Into<HttpBody>) -> Response<HttpBody> {
    let mut response = Response::new(bytes.into());
    dress(&mut response, "application/json", None);
    response
}

/// An answer as one JSON object.
pub(super) fn one_object(message: &Value, status: u16, session: Option<&str>) -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::from(message.to_string()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    dress(&mut response, "application/json", session);
    response
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
