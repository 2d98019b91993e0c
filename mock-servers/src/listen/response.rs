//! Responses of all HTTP transports, and their frames.

use std::{borrow::Cow, sync::Arc};

use axum::body::Body as HttpBody;
use http::{HeaderName, HeaderValue, Response, StatusCode};
use thiserror::Error;
use tokio::sync::oneshot;

use super::wire;
use crate::script::HttpStatus;
use evidence::{Body, FrameParts, Http, Recorder};

/// The connection is closed without a response.
#[derive(Debug, Error)]
#[error("the script drops the connection")]
pub(crate) struct Aborted;

/// A response, or a dropped connection.
pub(crate) type HttpResult = Result<Response<HttpBody>, Aborted>;

/// Calls a function when it is dropped: the client has disconnected or needs nothing more.
pub(crate) struct DisconnectGuard(Option<Box<dyn FnOnce() + Send>>);

impl DisconnectGuard {
    pub(crate) fn new(gone: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(gone)))
    }

    /// Drops the guard without the call.
    pub(crate) fn dismiss(mut self) {
        self.0 = None;
    }
}

impl Drop for DisconnectGuard {
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
        let headers = Arc::new(wire::recorded(response.headers()));
        FrameParts::sent(connection, body).with_http(Http { status, headers, ..Http::default() })
    });
}

/// The reason of a rejection without a body, as an extension of its response.
#[derive(Debug, Clone)]
pub(super) struct Reason(pub(super) Cow<'static, str>);

/// Adds the reason of a rejection to its response. Clients do not see it.
pub(crate) fn set_reason<B>(response: &mut Response<B>, reason: impl Into<Cow<'static, str>>) {
    response.extensions_mut().insert(Reason(reason.into()));
}

/// A response without a body.
pub(crate) fn empty(status: StatusCode) -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::empty());
    *response.status_mut() = status;
    response
}

/// The response of a script. Values that HTTP cannot represent are omitted.
pub(crate) fn scripted(wanted: &HttpStatus) -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::from(wanted.body.clone()));
    *response.status_mut() = StatusCode::from_u16(wanted.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    set_reason(&mut response, "the script set this status");
    for (name, value) in &wanted.headers {
        match (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
            (Ok(name), Ok(value)) => drop(response.headers_mut().append(name, value)),
            _ => tracing::warn!(name, "the script words a header that HTTP cannot express"),
        }
    }
    response
}

pub(crate) fn send_result(sender: oneshot::Sender<HttpResult>, result: HttpResult) {
    if sender.send(result).is_err() {
        tracing::debug!("the client disconnected before the response");
    }
}
