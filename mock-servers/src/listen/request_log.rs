//! Log of handled HTTP requests: one entry per request, with the reason of a rejection.
//!
//! An entry is complete when the head of the response is known. A stream can last longer, and its messages have no entries.

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use axum::body::{Body as HttpBody, to_bytes};
use http::{Response, StatusCode, header, request::Parts};
use hyper::body::Body as _;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::response::{Aborted, HttpResult, Reason};

/// Maximum size in bytes of a response body that is searched for the reason of an error.
const MAX_ERROR_BODY: u64 = 64 * 1024;

/// One handled HTTP request.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LoggedRequest {
    /// The HTTP method.
    pub method: String,
    /// The path, without the query, which can contain secrets.
    pub path: String,
    /// The JSON-RPC message in the body.
    #[serde(flatten)]
    pub message: LoggedMessage,
    /// The HTTP status; `None` if the connection was closed without a response.
    pub status: Option<u16>,
    /// The time until the head of the response.
    #[serde(rename = "duration_ms", serialize_with = "milliseconds")]
    pub duration: Duration,
    /// Why the request was rejected, in one sentence, or the error of the JSON-RPC response.
    pub reason: Option<String>,
}

/// Method and id of a JSON-RPC message.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LoggedMessage {
    /// The JSON-RPC method; `None` for responses, batches and bodies that are not JSON.
    pub rpc_method: Option<String>,
    /// The id; `None` for notifications.
    pub id: Option<Value>,
}

/// `POST /mcp tools/call id=3 200 0.4 ms`, and the reason after a colon.
impl fmt::Display for LoggedRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, path, message, status, duration, reason } = self;
        write!(formatter, "{method} {path}")?;
        if let Some(rpc_method) = &message.rpc_method {
            write!(formatter, " {rpc_method}")?;
        }
        if let Some(id) = &message.id {
            write!(formatter, " id={id}")?;
        }
        match status {
            Some(status) => write!(formatter, " {status}")?,
            None => formatter.write_str(" -")?,
        }
        write!(formatter, " {:.1} ms", duration.as_secs_f64() * 1_000.0)?;
        reason.as_ref().map_or(Ok(()), |reason| write!(formatter, ": {reason}"))
    }
}

/// Receives an entry for each handled request. Clones share the receiver.
#[derive(Clone)]
pub struct RequestLog(Arc<dyn Fn(&LoggedRequest) + Send + Sync>);

impl RequestLog {
    /// A log that calls this function from the tasks of the connections, so it must not block for long.
    pub fn new(receive: impl Fn(&LoggedRequest) + Send + Sync + 'static) -> Self {
        Self(Arc::new(receive))
    }

    /// Begins the entry of a request.
    pub(super) fn begin(&self, head: &Parts) -> PendingEntry {
        let entry = LoggedRequest {
            method: head.method.to_string(),
            path: head.uri.path().to_owned(),
            message: LoggedMessage::default(),
            status: None,
            duration: Duration::ZERO,
            reason: Some("the client disconnected before the response".to_owned()),
        };
        PendingEntry { entry, message: MessageSlot::default(), begun: Instant::now(), log: self.clone() }
    }
}

impl fmt::Debug for RequestLog {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("RequestLog")
    }
}

/// The message of a request, as soon as its body is read.
#[derive(Debug, Clone, Default)]
pub(super) struct MessageSlot(Arc<OnceLock<LoggedMessage>>);

impl MessageSlot {
    /// Stores method and id of the message. Bodies that are not JSON objects have neither.
    pub(super) fn fill(&self, body: &[u8]) {
        let message: Value = serde_json::from_slice(body).unwrap_or_default();
        let rpc_method = message.get("method").and_then(Value::as_str).map(str::to_owned);
        // A request has one body.
        let _ = self.0.set(LoggedMessage { rpc_method, id: message.get("id").cloned() });
    }
}

/// The entry of a request that has no response yet. Dropping it logs that the client disconnected.
pub(super) struct PendingEntry {
    entry: LoggedRequest,
    pub(super) message: MessageSlot,
    begun: Instant,
    log: RequestLog,
}

impl PendingEntry {
    /// Logs the result, and returns it unchanged.
    pub(super) async fn finish(mut self, result: HttpResult) -> HttpResult {
        let (reason, result) = match result {
            Ok(response) => {
                self.entry.status = Some(response.status().as_u16());
                let (reason, response) = reason(&self.entry, response).await;
                (reason, Ok(response))
            }
            Err(Aborted) => (Some("the script closed the connection without a response".to_owned()), Err(Aborted)),
        };
        self.entry.reason = reason;
        result
    }
}

impl Drop for PendingEntry {
    fn drop(&mut self) {
        self.entry.duration = self.begun.elapsed();
        if let Some(message) = self.message.0.get() {
            self.entry.message = message.clone();
        }
        (self.log.0)(&self.entry);
    }
}

/// Why the request was rejected: the extension of the response, the error in its body, or what its status means.
async fn reason(entry: &LoggedRequest, response: Response<HttpBody>) -> (Option<String>, Response<HttpBody>) {
    let status = response.status();
    if let Some(Reason(reason)) = response.extensions().get() {
        return (Some(reason.clone().into_owned()), response);
    }
    let (head, body) = response.into_parts();
    // Only a body in memory has an exact size; reading one that is written piece by piece would delay it.
    if body.size_hint().exact().is_none_or(|size| size == 0 || size > MAX_ERROR_BODY) {
        let reason = match head.headers.get(header::ALLOW).and_then(|methods| methods.to_str().ok()) {
            Some(methods) => Some(format!("method {} is not allowed, only {methods}", entry.method)),
            None if status == StatusCode::NOT_FOUND => Some(format!("the path {} is unknown", entry.path)),
            None => None,
        };
        return (reason, Response::from_parts(head, body));
    }
    // Reading a body in memory cannot fail.
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let error = serde_json::from_slice::<Value>(&bytes).ok().and_then(|body| error_in(&body));
    let text = || String::from_utf8_lossy(&bytes).into_owned();
    let reason = error.or_else(|| (status.is_client_error() || status.is_server_error()).then(text));
    (reason, Response::from_parts(head, HttpBody::from(bytes)))
}

/// The error of a JSON-RPC response or of an OAuth response (RFC 6749, section 5.2).
fn error_in(body: &Value) -> Option<String> {
    match body.get("error")? {
        Value::Object(error) => {
            let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
            Some(format!("error {}: {message}", error.get("code").unwrap_or(&Value::Null)))
        }
        Value::String(error) => Some(match body.get("error_description").and_then(Value::as_str) {
            Some(description) => format!("{error}: {description}"),
            None => error.clone(),
        }),
        _ => None,
    }
}

fn milliseconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((duration.as_secs_f64() * 1_000_000.0).round() / 1_000.0)
}
