//! The answer to one HTTP request where faults have a say about its bytes.

use axum::body::Body as HttpBody;
use http::{HeaderValue, Response, StatusCode, header};
use serde_json::Value;

use super::responder::{Presence, Responder, give};
use crate::{
    engine::Step,
    faults::{Finish, Framed, Shape},
    frame::Body,
    listen::outlet,
};

impl Responder {
    /// Plays a step that says something, as these faults want it.
    pub(super) fn play_shaped(&mut self, step: Step, shape: &Shape, guard: impl FnOnce() -> Presence) {
        if self.is_done() {
            return;
        }
        self.content_type = shape.content_type().or(self.content_type.take());
        if shape.leaves_out_ids() {
            // Nobody can come back to a stream that has no ids to come back with.
            self.manner.resumable = None;
        }
        match step {
            Step::Answer { message, status } if self.is_undecided() && !self.streams_answer(status) => {
                self.answer_shaped(message, status, shape);
            }
            Step::Answer { message, .. } => {
                self.open_stream(guard);
                if let Some(stream) = self.stream() {
                    stream.say_shaped(message.to_string(), Body::Json(message), shape);
                    stream.end();
                }
            }
            Step::Send(message) => {
                self.open_stream(guard);
                if let Some(stream) = self.stream() {
                    stream.say_shaped(message.to_string(), Body::Json(message), shape);
                }
            }
            Step::Raw(text) => {
                self.open_stream(guard);
                if let Some(stream) = self.stream() {
                    stream.say_shaped(text.clone(), Body::Text(text), shape);
                }
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
        let Some(sender) = self.decide() else { return };
        let rendered = shape.render(message.to_string().into_bytes(), Body::Json(message), Framed::body);
        let (pieces, body) = outlet::body((), &self.ending);
        let mut response: Response<HttpBody> = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
        self.dress(&mut response, "application/json");
        // The length that was promised is what shows the client that something is missing.
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(rendered.promised));
        self.record_response(&response, rendered.said.clone());
        pieces.play(&rendered);
        if matches!(rendered.finish, Finish::Amid(_)) {
            self.note_end();
        }
        give(sender, Ok(response));
    }
}
