//! The stream of one session: requested by a GET, then open, then closed.

use axum::body::Body as HttpBody;
use http::{HeaderValue, Response, StatusCode, header};
use tokio::sync::oneshot;

use crate::{
    engine::Step,
    faults::{Finish, Framed, WriteFaults},
    listen::{
        body_writer::{self, BodyWriter, Piece},
        http_exchange::HttpExchange,
        response::{Aborted, DisconnectGuard, HttpResult, empty, record_response, scripted},
        socket::CloseMode,
        wire,
    },
    script::HttpStatus,
};
use evidence::{Body, ConnectionEvent, FrameParts, Http, Recorder};

/// The stream of one session.
pub(super) struct Stream {
    connection: u64,
    recorder: Recorder,
    close_mode: CloseMode,
    state: State,
}

enum State {
    /// A client has requested it, and has received nothing.
    Wanted {
        answer: oneshot::Sender<HttpResult>,
        /// The path for posted messages, which the first event contains.
        endpoint: String,
    },
    Open(BodyWriter),
    Over,
}

/// Whether a step was the last of a stream.
type IsOver = bool;

impl Stream {
    /// Creates the stream of a GET, and its response. The first event contains the path for posted messages
    /// (2024-11-05, transports).
    pub(super) fn wanted(
        exchange: &HttpExchange,
        endpoint: String,
        recorder: Recorder,
    ) -> (Self, oneshot::Receiver<HttpResult>) {
        let (answer, verdict) = oneshot::channel();
        let state = State::Wanted { answer, endpoint };
        (Self { connection: exchange.connection, recorder, close_mode: exchange.close_mode().clone(), state }, verdict)
    }

    pub(super) fn connection(&self) -> u64 {
        self.connection
    }

    /// Records which side closed the stream.
    pub(super) fn leave(&self, mark: ConnectionEvent) {
        self.recorder.record(FrameParts::event(self.connection, mark));
    }

    /// Executes one step with its faults. The guard detects that the client disconnects.
    pub(super) fn execute(
        &mut self,
        step: Step,
        shape: Option<&WriteFaults>,
        guard: impl FnOnce() -> DisconnectGuard,
    ) -> IsOver {
        if let State::Wanted { .. } = self.state {
            match step {
                Step::Status(status) => return self.refuse(&status),
                Step::ExpireSession => return self.refuse_empty(StatusCode::NOT_FOUND),
                Step::Close | Step::Reset | Step::Exit(_) | Step::Process(_) | Step::Wake(_) => {}
                // All other steps are for the stream.
                _ => {
                    if self.open(shape, guard) {
                        return true;
                    }
                }
            }
        }
        match step {
            Step::Send(message) | Step::Response { message, .. } => {
                self.send("message", message.to_string(), Body::json(message), shape)
            }
            Step::Raw(text) => self.send("message", text.clone(), Body::Text(text), shape),
            Step::Close => self.break_off(Piece::Abort),
            Step::Reset => self.break_off(Piece::Reset),
            // The session ends with its stream.
            Step::ExpireSession => {
                self.leave(ConnectionEvent::ClosedByServer);
                true
            }
            Step::Status(_)
            | Step::Wake(_)
            | Step::Exit(_)
            | Step::End
            | Step::Open
            | Step::Process(_)
            | Step::CloseStream(_)
            | Step::Respond(_) => false,
        }
    }

    /// Opens the stream, and sends the path for posted messages.
    fn open(&mut self, shape: Option<&WriteFaults>, guard: impl FnOnce() -> DisconnectGuard) -> IsOver {
        let State::Wanted { answer, endpoint } = std::mem::replace(&mut self.state, State::Over) else { return false };
        let (writer, body) = body_writer::body(guard(), &self.close_mode);
        let mut response = Response::new(body);
        let content_type = shape.and_then(WriteFaults::content_type);
        let content_type = content_type.unwrap_or(HeaderValue::from_static("text/event-stream"));
        response.headers_mut().insert(header::CONTENT_TYPE, content_type);
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        self.respond(answer, response, Body::Event(ConnectionEvent::Bodiless));
        self.state = State::Open(writer);
        self.send("endpoint", endpoint.clone(), Body::Text(endpoint), shape)
    }

    /// Responds with a status instead of a stream.
    fn refuse(&mut self, status: &HttpStatus) -> IsOver {
        let said = if status.body.is_empty() {
            Body::Event(ConnectionEvent::Bodiless)
        } else {
            Body::Text(status.body.clone())
        };
        self.answer(scripted(status), said)
    }

    fn refuse_empty(&mut self, status: StatusCode) -> IsOver {
        self.answer(empty(status), Body::Event(ConnectionEvent::Bodiless))
    }

    fn answer(&mut self, response: Response<HttpBody>, said: Body) -> IsOver {
        if let State::Wanted { answer, .. } = std::mem::replace(&mut self.state, State::Over) {
            self.respond(answer, response, said);
        }
        true
    }

    /// Recorded before it is sent: the reaction of a fast client must not precede it in the record.
    fn respond(&self, answer: oneshot::Sender<HttpResult>, response: Response<HttpBody>, said: Body) {
        record_response(&self.recorder, self.connection, &response, said);
        if answer.send(Ok(response)).is_err() {
            tracing::debug!("the client disconnected before the response");
        }
    }

    /// Sends bytes with their faults.
    fn send(&self, name: &str, text: String, said: Body, shape: Option<&WriteFaults>) -> IsOver {
        let State::Open(writer) = &self.state else { return false };
        let Some(shape) = shape else {
            self.record(name, said);
            writer.push(Piece::Bytes(wire::event(None, name, &text).into()));
            return false;
        };
        let empty = wire::event(None, name, "");
        let mut rendered = shape.render(text.into_bytes(), said, |payload| Framed::event(&empty, payload));
        // The body lasts as long as the session, so the end of the connection after a message ends the body.
        if let Finish::After(how) = rendered.finish {
            rendered.finish = Finish::Inside(how);
        }
        self.record(name, rendered.body.clone());
        writer.execute(&rendered);
        let over = !matches!(rendered.finish, Finish::Keep);
        if over {
            self.leave(ConnectionEvent::ClosedByServer);
        }
        over
    }

    /// Closes the connection in this mode.
    fn break_off(&mut self, end: Piece) -> IsOver {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Open(writer) => writer.push(end),
            State::Wanted { answer, .. } => {
                if matches!(end, Piece::Reset) {
                    self.close_mode.reset();
                }
                if answer.send(Err(Aborted)).is_err() {
                    tracing::debug!("the client left before the end");
                }
            }
            State::Over => {}
        }
        self.leave(ConnectionEvent::ClosedByServer);
        true
    }

    /// Recorded before it is sent, as above.
    fn record(&self, name: &str, body: Body) {
        self.recorder.record_with(|| {
            let http = Http { status: Some(200), event: Some(name.to_owned()), ..Http::default() };
            FrameParts::sent(self.connection, body).with_http(http)
        });
    }
}
