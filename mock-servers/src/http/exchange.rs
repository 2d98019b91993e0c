//! One HTTP exchange as the front sees it before the engine does: its head, its place in the record, its refusal.

use axum::body::Body as HttpBody;
use http::{HeaderMap, Response, StatusCode, request::Parts};

use super::{
    responder::{empty, record_response},
    wire,
};
use crate::{
    frame::{Body, Http, Mark},
    record::{Recorder, Sighting},
};

/// One HTTP exchange before its answer.
pub(super) struct Exchange {
    pub(super) connection: u64,
    recorder: Recorder,
    pub(super) headers: HeaderMap,
    pub(super) method: http::Method,
    path: String,
}

impl Exchange {
    pub(super) fn new(connection: u64, recorder: Recorder, head: &Parts) -> Self {
        Self {
            connection,
            recorder,
            headers: head.headers.clone(),
            method: head.method.clone(),
            path: head.uri.path_and_query().map_or_else(|| head.uri.path().to_owned(), ToString::to_string),
        }
    }

    /// Records the request.
    pub(super) fn receive(&self, body: impl FnOnce() -> Body) {
        self.recorder.record_with(|| {
            let http = Http {
                method: Some(self.method.to_string()),
                path: Some(self.path.clone()),
                headers: wire::recorded(&self.headers),
                ..Http::default()
            };
            Sighting::received(self.connection, body()).with_http(http)
        });
    }

    /// Records a request whose body is of no interest.
    pub(super) fn receive_unread(&self) {
        self.receive(|| Body::Mark(Mark::Bodiless));
    }

    /// Answers with this status alone.
    pub(super) fn refuse(&self, status: StatusCode) -> Response<HttpBody> {
        let response = empty(status);
        record_response(&self.recorder, self.connection, &response, Body::Mark(Mark::Bodiless));
        response
    }

    /// The session that the client names.
    pub(super) fn session_id(&self) -> Option<&str> {
        wire::header(&self.headers, "mcp-session-id")
    }
}
