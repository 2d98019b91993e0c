//! Responses whose bytes are changed by faults.

use axum::body::Body as HttpBody;
use http::{HeaderValue, Response, StatusCode, header};
use serde_json::Value;

use super::responder::Responder;
use crate::{
    engine::Step,
    faults::{Finish, Framed, WriteFaults},
    listen::{
        body_writer,
        response::{DisconnectGuard, send_result},
    },
};
use evidence::Body;

impl Responder {
    /// Executes a step that sends bytes, with its faults.
    pub(super) fn execute_with_faults(
        &mut self,
        step: Step,
        shape: &WriteFaults,
        guard: impl FnOnce() -> DisconnectGuard,
    ) {
        if self.is_done() {
            return;
        }
        self.take_head(shape);
        if shape.omits_event_ids() {
            // A stream without ids cannot be resumed.
            self.mode.resumable = None;
        }
        match step {
            Step::Response { message, status } if self.is_undecided() && !self.streams_response(status) => {
                self.respond_with_faults(message, status, shape);
            }
            Step::Response { message, .. } => {
                self.open_stream(guard);
                if let Some(stream) = self.stream() {
                    stream.send_with_faults(message.to_string(), Body::json(message), shape);
                }
                self.finish_stream();
            }
            Step::Send(message) => {
                self.open_stream(guard);
                if let Some(stream) = self.stream() {
                    stream.send_with_faults(message.to_string(), Body::json(message), shape);
                }
            }
            Step::Raw(text) => {
                self.open_stream(guard);
                if let Some(stream) = self.stream() {
                    stream.send_with_faults(text.clone(), Body::Text(text), shape);
                }
            }
            Step::Open => self.open_stream(guard),
            _ => {}
        }
    }

    /// Stores the changes of the HTTP head until it is sent.
    pub(super) fn take_head(&mut self, shape: &WriteFaults) {
        self.content_type = shape.content_type().or(self.content_type.take());
        for head in shape.http_heads() {
            if !self.heads.contains(head) {
                self.heads.push(head.clone());
            }
        }
    }

    /// Changes the head of a response as the faults require.
    pub(super) fn change_head(&self, response: &mut Response<HttpBody>) {
        let mut status = response.status();
        self.heads.iter().for_each(|head| head.apply(&mut status, response.headers_mut()));
        *response.status_mut() = status;
    }

    /// Sends the response as one JSON object.
    fn respond_with_faults(&mut self, message: Value, status: u16, shape: &WriteFaults) {
        if message.get("result").is_none() {
            self.session_header = None;
        }
        let Some(sender) = self.decide() else { return };
        let rendered = shape.render(message.to_string().into_bytes(), Body::json(message), Framed::body);
        let (pieces, body) = body_writer::body((), &self.close_mode);
        let mut response: Response<HttpBody> = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
        self.add_headers(&mut response, "application/json");
        self.change_head(&mut response);
        // The announced length shows the client that bytes are missing.
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(rendered.promised));
        self.record_response(&response, rendered.body.clone());
        pieces.execute(&rendered);
        if matches!(rendered.finish, Finish::Inside(_)) {
            self.note_end();
        }
        send_result(sender, Ok(response));
    }
}
