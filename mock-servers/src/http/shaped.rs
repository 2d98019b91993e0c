//! The answer to one HTTP request where faults have a say about its bytes.

use axum::body::Body as HttpBody;
use http::{HeaderValue, Response, StatusCode, header};
use serde_json::Value;

use super::{
    responder::{Presence, Responder, State, give},
    wire,
};
use crate::{
    engine::Step,
    faults::{Finish, Framed, Rendered, Shape},
    frame::{Body, Mark},
    listen::outlet,
    record::Sighting,
};

impl Responder {
    /// Plays a step that says something, as these faults want it.
    pub(crate) fn play_shaped(&mut self, step: Step, shape: &Shape, guard: impl FnOnce() -> Presence) {
        if self.is_done() {
            return;
        }
        self.content_type = shape.content_type().or(self.content_type.take());
        match step {
            Step::Send(message) => {
                self.open_stream(guard);
                self.push_shaped(message.to_string(), Body::Json(message), shape);
            }
            Step::Raw(text) => {
                self.open_stream(guard);
                self.push_shaped(text.clone(), Body::Text(text), shape);
            }
            Step::Answer { message, status } if self.is_undecided() => self.answer_shaped(message, status, shape),
            Step::Answer { message, .. } => {
                self.push_shaped(message.to_string(), Body::Json(message), shape);
                self.end_stream();
            }
            Step::Open => self.open_stream(guard),
            _ => {}
        }
    }

    /// Gives the final answer as one JSON object.
    fn answer_shaped(&mut self, message: Value, status: u16, shape: &Shape) {
        if message.get("result").is_none() {
            self.session_header = None;
        }
        let State::Undecided(sender) = std::mem::replace(&mut self.state, State::Done) else { return };
        let rendered = shape.render(message.to_string().into_bytes(), Body::Json(message), Framed::body);
        let (pieces, body) = outlet::body((), &self.ending);
        let mut response: Response<HttpBody> = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
        // The length that was promised is what shows the client that something is missing.
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(rendered.promised));
        self.dress(&mut response, "application/json");
        self.record_response(&response, rendered.said.clone());
        pieces.play(&rendered);
        self.note_end(&rendered);
        give(sender, Ok(response));
    }

    fn push_shaped(&mut self, text: String, said: Body, shape: &Shape) {
        let State::Stream(pieces) = &self.state else { return };
        let rendered =
            shape.render(text.into_bytes(), said, |payload| Framed::event(&wire::event("message", ""), payload));
        // Recorded before it is sent: what a fast client says in return must not come before it in the record.
        self.record_event(rendered.said.clone());
        pieces.play(&rendered);
        if matches!(rendered.finish, Finish::Amid(_)) {
            self.state = State::Done;
        }
        self.note_end(&rendered);
    }

    fn note_end(&self, rendered: &Rendered) {
        if matches!(rendered.finish, Finish::Amid(_)) {
            self.recorder.record(Sighting::mark(self.connection, Mark::ClosedByServer));
        }
    }
}
