//! The stream of one session: wanted by a GET, then open, then over.

use axum::body::Body as HttpBody;
use http::{HeaderValue, Response, StatusCode, header};
use tokio::sync::oneshot;

use crate::{
    engine::Step,
    faults::{Finish, Framed, Shape},
    frame::{Body, Http, Mark},
    http::{
        responder::{Presence, Verdict, empty, record_response, scripted},
        wire,
    },
    listen::{
        exchange::Exchange,
        outlet::{self, Outlet, Piece},
        serving::Aborted,
        socket::Ending,
    },
    record::{Recorder, Sighting},
    script::HttpStatus,
};

/// The stream of one session.
pub(super) struct Stream {
    connection: u64,
    recorder: Recorder,
    ending: Ending,
    state: State,
}

enum State {
    /// A client has asked for it, and hears nothing so far.
    Wanted {
        answer: oneshot::Sender<Verdict>,
        /// Where to post, which is what the stream begins with.
        endpoint: String,
    },
    Open(Outlet),
    Over,
}

/// Whether a step was the last one of a stream.
type IsOver = bool;

impl Stream {
    /// A stream that this GET asks for, and the answer to it. The first event tells where to post (2024-11-05, transports).
    pub(super) fn wanted(
        exchange: &Exchange,
        endpoint: String,
        recorder: Recorder,
    ) -> (Self, oneshot::Receiver<Verdict>) {
        let (answer, verdict) = oneshot::channel();
        let state = State::Wanted { answer, endpoint };
        (Self { connection: exchange.connection, recorder, ending: exchange.ending().clone(), state }, verdict)
    }

    pub(super) fn connection(&self) -> u64 {
        self.connection
    }

    /// Notes by whom the stream was ended.
    pub(super) fn leave(&self, mark: Mark) {
        self.recorder.record(Sighting::mark(self.connection, mark));
    }

    /// Plays one step, as these faults want it. The guard tells when the client leaves.
    pub(super) fn play(&mut self, step: Step, shape: Option<&Shape>, guard: impl FnOnce() -> Presence) -> IsOver {
        if let State::Wanted { .. } = self.state {
            match step {
                Step::Status(status) => return self.refuse(&status),
                Step::ExpireSession => return self.refuse_empty(StatusCode::NOT_FOUND),
                Step::Close | Step::Reset | Step::Exit(_) | Step::Process(_) | Step::Wake(_) => {}
                // Whatever else it is, it is about a stream.
                _ => {
                    if self.open(shape, guard) {
                        return true;
                    }
                }
            }
        }
        match step {
            Step::Send(message) | Step::Answer { message, .. } => {
                self.say("message", message.to_string(), Body::Json(message), shape)
            }
            Step::Raw(text) => self.say("message", text.clone(), Body::Text(text), shape),
            Step::Close => self.break_off(Piece::Abort),
            Step::Reset => self.break_off(Piece::Reset),
            // The session is as long as its stream, so the one ends with the other.
            Step::ExpireSession => {
                self.leave(Mark::ClosedByServer);
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

    /// Opens the stream, and says where to post.
    fn open(&mut self, shape: Option<&Shape>, guard: impl FnOnce() -> Presence) -> IsOver {
        let State::Wanted { answer, endpoint } = std::mem::replace(&mut self.state, State::Over) else { return false };
        let (outlet, body) = outlet::body(guard(), &self.ending);
        let mut response = Response::new(body);
        let content_type = shape.and_then(Shape::content_type);
        let content_type = content_type.unwrap_or(HeaderValue::from_static("text/event-stream"));
        response.headers_mut().insert(header::CONTENT_TYPE, content_type);
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        self.respond(answer, response, Body::Mark(Mark::Bodiless));
        self.state = State::Open(outlet);
        self.say("endpoint", endpoint.clone(), Body::Text(endpoint), shape)
    }

    /// Answers with a status in the stream's place.
    fn refuse(&mut self, status: &HttpStatus) -> IsOver {
        let said = if status.body.is_empty() { Body::Mark(Mark::Bodiless) } else { Body::Text(status.body.clone()) };
        self.answer(scripted(status), said)
    }

    fn refuse_empty(&mut self, status: StatusCode) -> IsOver {
        self.answer(empty(status), Body::Mark(Mark::Bodiless))
    }

    fn answer(&mut self, response: Response<HttpBody>, said: Body) -> IsOver {
        if let State::Wanted { answer, .. } = std::mem::replace(&mut self.state, State::Over) {
            self.respond(answer, response, said);
        }
        true
    }

    /// Recorded before it is sent: what a fast client says in return must not come before it in the record.
    fn respond(&self, answer: oneshot::Sender<Verdict>, response: Response<HttpBody>, said: Body) {
        record_response(&self.recorder, self.connection, &response, said);
        if answer.send(Ok(response)).is_err() {
            tracing::debug!("the client left before the answer");
        }
    }

    /// Says something, as these faults want it.
    fn say(&self, name: &str, text: String, said: Body, shape: Option<&Shape>) -> IsOver {
        let State::Open(outlet) = &self.state else { return false };
        let Some(shape) = shape else {
            self.record(name, said);
            outlet.push(Piece::Bytes(wire::event(None, name, &text).into()));
            return false;
        };
        let empty = wire::event(None, name, "");
        let mut rendered = shape.render(text.into_bytes(), said, |payload| Framed::event(&empty, payload));
        // The body goes on for as long as the session, so what ends the connection after a message ends the body.
        if let Finish::After(how) = rendered.finish {
            rendered.finish = Finish::Amid(how);
        }
        self.record(name, rendered.said.clone());
        outlet.play(&rendered);
        let over = !matches!(rendered.finish, Finish::Keep);
        if over {
            self.leave(Mark::ClosedByServer);
        }
        over
    }

    /// Ends the connection in this way.
    fn break_off(&mut self, end: Piece) -> IsOver {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Open(outlet) => outlet.push(end),
            State::Wanted { answer, .. } => {
                if matches!(end, Piece::Reset) {
                    self.ending.reset();
                }
                if answer.send(Err(Aborted)).is_err() {
                    tracing::debug!("the client left before the end");
                }
            }
            State::Over => {}
        }
        self.leave(Mark::ClosedByServer);
        true
    }

    /// Recorded before it is sent, as above.
    fn record(&self, name: &str, body: Body) {
        self.recorder.record_with(|| {
            let http = Http { status: Some(200), event: Some(name.to_owned()), ..Http::default() };
            Sighting::sent(self.connection, body).with_http(http)
        });
    }
}
