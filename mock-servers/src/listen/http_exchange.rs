//! One HTTP exchange before the engine handles it: its head, its frames, its rejection.

use std::{borrow::Cow, sync::Arc, time::Duration};

use axum::body::{Body as HttpBody, Bytes};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Uri, header, request::Parts};
use hyper::body::Incoming;

use super::{
    request_log::MessageSlot,
    response::{empty, record_response, set_reason},
    socket::CloseMode,
    wire,
};
use evidence::{Body, ConnectionEvent, FrameParts, Http, Recorder};

/// One HTTP exchange before its response.
pub(crate) struct HttpExchange {
    /// The number of the exchange.
    pub(crate) connection: u64,
    recorder: Recorder,
    head: Parts,
    close_mode: CloseMode,
    body_time: Duration,
    /// Where the message is stored for the request log, if there is one.
    logged: Option<MessageSlot>,
}

impl HttpExchange {
    pub(super) fn new(
        connection: u64,
        recorder: Recorder,
        head: Parts,
        close_mode: CloseMode,
        body_time: Duration,
        logged: Option<MessageSlot>,
    ) -> Self {
        Self { connection, recorder, head, close_mode, body_time, logged }
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    pub(crate) fn method(&self) -> &Method {
        &self.head.method
    }

    pub(crate) fn uri(&self) -> &Uri {
        &self.head.uri
    }

    pub(crate) fn path(&self) -> &str {
        self.head.uri.path()
    }

    pub(crate) fn query(&self) -> Option<&str> {
        self.head.uri.query()
    }

    /// The text of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        wire::header(self.headers(), name)
    }

    /// The close mode of the connection.
    pub(crate) fn close_mode(&self) -> &CloseMode {
        &self.close_mode
    }

    /// The whole body of the request, or the response to an invalid one.
    pub(crate) async fn read(&self, body: Incoming) -> Result<Bytes, Response<HttpBody>> {
        let read = tokio::time::timeout(self.body_time, wire::read(body)).await;
        let late = || Err((StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time"));
        let bytes = read.unwrap_or_else(|_| late()).map_err(|(status, reason)| self.reject(status, reason))?;
        if let Some(logged) = &self.logged {
            logged.fill(&bytes);
        }
        Ok(bytes)
    }

    /// Records the request.
    pub(crate) fn receive(&self, body: impl FnOnce() -> Body) {
        self.recorder.record_with(|| {
            let uri = &self.head.uri;
            let http = Http {
                method: Some(self.head.method.to_string()),
                path: Some(uri.path_and_query().map_or_else(|| uri.path().to_owned(), ToString::to_string)),
                headers: Arc::new(wire::recorded(&self.head.headers)),
                ..Http::default()
            };
            FrameParts::received(self.connection, body()).with_http(http)
        });
    }

    /// Records a request without its body.
    pub(crate) fn receive_unread(&self) {
        self.receive(|| Body::Event(ConnectionEvent::Bodiless));
    }

    /// Sends this response, whose body is not recorded.
    pub(crate) fn respond(&self, response: Response<HttpBody>) -> Response<HttpBody> {
        self.respond_with(response, Body::Event(ConnectionEvent::Bodiless))
    }

    /// Sends this response, of which this body is recorded.
    pub(crate) fn respond_with(&self, response: Response<HttpBody>, body: Body) -> Response<HttpBody> {
        record_response(&self.recorder, self.connection, &response, body);
        response
    }

    /// Responds with this status, for a reason that the request log has.
    pub(crate) fn refuse(&self, status: StatusCode, reason: impl Into<Cow<'static, str>>) -> Response<HttpBody> {
        let mut response = empty(status);
        set_reason(&mut response, reason);
        self.respond(response)
    }

    /// Responds with this status, normally 405, that the path supports only these methods (RFC 9110, section 15.5.6).
    pub(crate) fn allow_only(&self, methods: &'static str, status: StatusCode) -> Response<HttpBody> {
        self.receive_unread();
        let mut response = empty(status);
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(methods));
        self.respond(response)
    }

    /// Responds with this status without reading the body.
    pub(crate) fn reject(&self, status: StatusCode, reason: impl Into<Cow<'static, str>>) -> Response<HttpBody> {
        self.receive_unread();
        self.refuse(status, reason)
    }
}
