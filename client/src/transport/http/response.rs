//! Reads HTTP responses.

use std::sync::Arc;

use futures::{StreamExt, stream::BoxStream};
use http::{
    StatusCode,
    header::{CONTENT_TYPE, WWW_AUTHENTICATE},
};
use reqwest::Response;
use rmcp::{
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::streamable_http_client::{SseError, StreamableHttpError, StreamableHttpPostResponse},
};
use serde_json::Value;
use sse_stream::Sse;

use super::{EVENT_STREAM, HttpFailure, JSON, Outcome, SESSION_ID, is_probe};
use crate::{
    event::{ClientEventKind, excerpt},
    tracker::{HttpProblem, RequestTracker},
    transport::events::{events, is_oversize, response_id},
};

/// Maximum number of bytes of an error body.
const REFUSAL_BYTES: usize = 64 * 1024;

/// Whether the body has this media type.
pub(super) fn is_of_type(response: &Response, media_type: &str) -> bool {
    let value = response.headers().get(CONTENT_TYPE).map(|value| value.as_bytes()).unwrap_or_default();
    value.len() >= media_type.len() && value[..media_type.len()].eq_ignore_ascii_case(media_type.as_bytes())
}

/// The value of `WWW-Authenticate`.
fn challenge(response: &Response) -> Option<String> {
    response.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// Converts an error response.
pub(super) async fn failure(response: Response) -> HttpFailure {
    let status = response.status().as_u16();
    let challenge = challenge(&response);
    let body = read(response, REFUSAL_BYTES).await.unwrap_or_default();
    HttpFailure::Status { status, body: excerpt(&body), challenge }
}

/// Reads the body, up to the limit.
pub(super) async fn read(response: Response, limit: usize) -> Outcome<Vec<u8>> {
    let mut body = Vec::new();
    let mut stream = response.bytes_stream();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(HttpFailure::from).map_err(StreamableHttpError::Client)?;
        if body.len() + chunk.len() > limit {
            return Err(StreamableHttpError::ResponseBodyTooLarge { max_size: limit });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Reads and discards the body within the limit, so that the connection can be reused.
pub(super) async fn discard(response: Response) {
    let _ = read(response, REFUSAL_BYTES).await;
}

/// Reads the response to a POST.
pub(super) async fn from_post(
    response: Response,
    message: &ClientJsonRpcMessage,
    in_session: bool,
    tracker: &Arc<RequestTracker>,
) -> Outcome<StreamableHttpPostResponse> {
    let status = response.status();
    if status == StatusCode::NOT_FOUND && in_session {
        return Err(StreamableHttpError::SessionExpired);
    }
    if !status.is_success() {
        return rejected(response, message, tracker).await;
    }
    let session = response.headers().get(SESSION_ID).and_then(|id| id.to_str().ok()).map(str::to_owned);
    if !matches!(message, ClientJsonRpcMessage::Request(_)) {
        return accepted(response, tracker).await;
    }
    if is_of_type(&response, EVENT_STREAM) {
        let request_id = match message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone().into_json_value()),
            _ => None,
        };
        let stream = shortened(events(response, tracker.limits.message_bytes), request_id, Arc::clone(tracker));
        return Ok(StreamableHttpPostResponse::Sse(stream, session));
    }
    if is_of_type(&response, JSON) {
        let body = read(response, tracker.limits.message_bytes).await?;
        let Some(decoded) = tracker.decode(&body).into_iter().find(is_response) else {
            return Err(no_response(&body));
        };
        return Ok(StreamableHttpPostResponse::Json(tracker.shorten(decoded), session));
    }
    Err(unexpected_type(&response))
}

/// The error for a body without the response.
pub(super) fn no_response(body: &[u8]) -> StreamableHttpError<HttpFailure> {
    let what = format!("the body has no response to the request: {}", excerpt(body));
    StreamableHttpError::UnexpectedServerResponse(what.into())
}

/// The error for a body that is neither JSON nor an event stream.
pub(super) fn unexpected_type(response: &Response) -> StreamableHttpError<HttpFailure> {
    let media_type = response.headers().get(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()).into());
    StreamableHttpError::UnexpectedContentType(media_type)
}

fn is_response(message: &ServerJsonRpcMessage) -> bool {
    matches!(message, ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_))
}

/// The response to a notification has status 202 and no body (2025-03-26, transports, "Sending Messages to the
/// Server"). Other responses are accepted and reported.
async fn accepted(response: Response, tracker: &RequestTracker) -> Outcome<StreamableHttpPostResponse> {
    let status = response.status();
    // The body is read so that the connection can be reused.
    let body = read(response, REFUSAL_BYTES).await.unwrap_or_default();
    let usual = matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT);
    if !usual || !body.is_empty() {
        tracker.reporter.report(|| ClientEventKind::NotificationAnswered { status: status.as_u16() });
    }
    Ok(StreamableHttpPostResponse::Accepted)
}

/// An error response.
pub(super) struct HttpErrorResponse {
    status: StatusCode,
    is_json: bool,
    challenge: Option<String>,
    body: Vec<u8>,
}

impl HttpErrorResponse {
    /// Reads an error response and records it in the tracker.
    pub(super) async fn read(response: Response, tracker: &RequestTracker) -> Self {
        let (status, is_json, challenge) = (response.status(), is_of_type(&response, JSON), challenge(&response));
        let body = read(response, REFUSAL_BYTES).await.unwrap_or_default();
        tracker.note_http_problem(HttpProblem {
            status: status.as_u16(),
            body: excerpt(&body),
            challenge: challenge.clone(),
        });
        Self { status, is_json, challenge, body }
    }

    /// The body, if it may be a JSON-RPC response.
    pub(super) fn message(&self) -> Option<&[u8]> {
        (self.is_json && !self.needs_auth()).then_some(&self.body)
    }

    /// 401 and 403 require authorization, whatever the body contains.
    fn needs_auth(&self) -> bool {
        matches!(self.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
    }

    /// Whether the response reveals the era of the server. A rate limit or a server error does not.
    fn reveals_era(&self) -> bool {
        self.status.is_client_error() && !self.needs_auth() && self.status != StatusCode::TOO_MANY_REQUESTS
    }

    pub(super) fn into_error(self) -> StreamableHttpError<HttpFailure> {
        let (status, body) = (self.status.as_u16(), excerpt(&self.body));
        StreamableHttpError::Client(HttpFailure::Status { status, body, challenge: self.challenge })
    }
}

async fn rejected(
    response: Response,
    message: &ClientJsonRpcMessage,
    tracker: &RequestTracker,
) -> Outcome<StreamableHttpPostResponse> {
    let rejection = HttpErrorResponse::read(response, tracker).await;
    if let ClientJsonRpcMessage::Request(request) = message {
        let decoded = rejection.message().and_then(|body| tracker.decode(body).into_iter().find(is_response));
        if let Some(decoded) = decoded {
            return Ok(StreamableHttpPostResponse::Json(decoded, None));
        }
        // "If the body is empty or is not a recognized modern JSON-RPC error, fall back to `initialize`" (2026-07-28,
        // streamable HTTP, "Backward Compatibility").
        if is_probe(message) && rejection.reveals_era() && tracker.wanted.both_eras {
            let why = format!("`server/discover` failed with HTTP status {}", rejection.status);
            return Ok(StreamableHttpPostResponse::Json(tracker.legacy(request.id.clone(), &why), None));
        }
    }
    Err(rejection.into_error())
}

/// Events whose responses were shortened, without invalid messages. `asked` is the id of the request of the stream.
pub(super) fn shortened(
    events: BoxStream<'static, Result<Sse, SseError>>,
    request_id: Option<Value>,
    tracker: Arc<RequestTracker>,
) -> BoxStream<'static, Result<Sse, SseError>> {
    let shorten = move |mut event: Sse| {
        let message = if is_oversize(&event) {
            event.event = None;
            tracker.too_long(response_id(&event, request_id.clone()))
        } else {
            let data = event.data.as_deref().unwrap_or_default();
            if data.trim().is_empty() {
                event.data = None;
                return event;
            }
            // An event can carry only one message of a batch.
            tracker.decode(data.as_bytes()).into_iter().next()
        };
        event.data = message.and_then(|message| serde_json::to_string(&tracker.shorten(message)).ok());
        event
    };
    // A failed stream is reported to rmcp as ended: rmcp reopens an ended stream after a delay, but a failed one
    // immediately and without limit.
    let complete = events.take_while(|event| {
        if let Err(error) = event {
            tracing::debug!(%error, "the event stream failed");
        }
        std::future::ready(event.is_ok())
    });
    complete.map(move |event| event.map(&shorten)).boxed()
}
