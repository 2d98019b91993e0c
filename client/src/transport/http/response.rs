//! Reading what a server answers over HTTP.

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

use super::{EVENT_STREAM, HttpFailure, JSON, Outcome, SESSION_ID, worker::is_probe};
use crate::{
    event::{Happening, excerpt},
    ledger::{HttpProblem, Ledger},
    transport::events::{answered, events, is_oversize},
};

/// Of the body of a refusal no more than this is read.
const REFUSAL_BYTES: usize = 64 * 1024;

/// Whether the body is of this media type.
pub(super) fn is_of_type(response: &Response, media_type: &str) -> bool {
    let value = response.headers().get(CONTENT_TYPE).map(|value| value.as_bytes()).unwrap_or_default();
    value.len() >= media_type.len() && value[..media_type.len()].eq_ignore_ascii_case(media_type.as_bytes())
}

/// What the server asks for instead, if it says so.
fn challenge(response: &Response) -> Option<String> {
    response.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// What a refused exchange amounts to.
pub(super) async fn failure(response: Response) -> HttpFailure {
    let status = response.status().as_u16();
    let challenge = challenge(&response);
    let body = read(response, REFUSAL_BYTES).await.unwrap_or_default();
    HttpFailure::Status { status, body: excerpt(&body), challenge }
}

/// The body, if it is no longer than the limit.
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

/// Reads a body that means nothing, within bounds, so that the connection can be used again.
pub(super) async fn discard(response: Response) {
    let _ = read(response, REFUSAL_BYTES).await;
}

/// The answer to a POST.
pub(super) async fn of_post(
    response: Response,
    message: &ClientJsonRpcMessage,
    in_session: bool,
    ledger: &Arc<Ledger>,
) -> Outcome<StreamableHttpPostResponse> {
    let status = response.status();
    if status == StatusCode::NOT_FOUND && in_session {
        return Err(StreamableHttpError::SessionExpired);
    }
    if !status.is_success() {
        return refused(response, message, ledger).await;
    }
    let session = response.headers().get(SESSION_ID).and_then(|id| id.to_str().ok()).map(str::to_owned);
    if !matches!(message, ClientJsonRpcMessage::Request(_)) {
        return accepted(response, ledger).await;
    }
    if is_of_type(&response, EVENT_STREAM) {
        let asked = match message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone().into_json_value()),
            _ => None,
        };
        let stream = shortened(events(response, ledger.limits.message_bytes), asked, Arc::clone(ledger));
        return Ok(StreamableHttpPostResponse::Sse(stream, session));
    }
    if is_of_type(&response, JSON) {
        let body = read(response, ledger.limits.message_bytes).await?;
        let Some(answer) = ledger.decode(&body).into_iter().find(is_answer) else {
            return Err(no_answer(&body));
        };
        return Ok(StreamableHttpPostResponse::Json(ledger.shorten(answer), session));
    }
    Err(unexpected_type(&response))
}

/// The body is a message, but not the answer.
pub(super) fn no_answer(body: &[u8]) -> StreamableHttpError<HttpFailure> {
    let what = format!("the body holds no answer to the request: {}", excerpt(body));
    StreamableHttpError::UnexpectedServerResponse(what.into())
}

/// The body is neither JSON nor an event stream.
pub(super) fn unexpected_type(response: &Response) -> StreamableHttpError<HttpFailure> {
    let media_type = response.headers().get(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()).into());
    StreamableHttpError::UnexpectedContentType(media_type)
}

fn is_answer(message: &ServerJsonRpcMessage) -> bool {
    matches!(message, ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_))
}

/// A notification is to be answered with 202 and no body (2025-03-26, transports, "Sending Messages to the Server").
/// Servers that answer otherwise are let pass and reported.
async fn accepted(response: Response, ledger: &Ledger) -> Outcome<StreamableHttpPostResponse> {
    let status = response.status();
    // The body is read, so that the connection can be used again.
    let body = read(response, REFUSAL_BYTES).await.unwrap_or_default();
    let usual = matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT);
    if !usual || !body.is_empty() {
        ledger.reporter.report(|| Happening::NotificationAnswered { status: status.as_u16() });
    }
    Ok(StreamableHttpPostResponse::Accepted)
}

/// What a server says that refuses a request.
pub(super) struct Refusal {
    status: StatusCode,
    is_json: bool,
    challenge: Option<String>,
    body: Vec<u8>,
}

impl Refusal {
    /// Reads it, and keeps it in the books.
    pub(super) async fn read(response: Response, ledger: &Ledger) -> Self {
        let (status, is_json, challenge) = (response.status(), is_of_type(&response, JSON), challenge(&response));
        let body = read(response, REFUSAL_BYTES).await.unwrap_or_default();
        ledger.note_http_problem(HttpProblem {
            status: status.as_u16(),
            body: excerpt(&body),
            challenge: challenge.clone(),
        });
        Self { status, is_json, challenge, body }
    }

    /// The body, if it may be an answer.
    pub(super) fn message(&self) -> Option<&[u8]> {
        (self.is_json && !self.needs_auth()).then_some(&self.body)
    }

    /// A 401 or 403 stays one, whatever its body says: the way on is authorization.
    fn needs_auth(&self) -> bool {
        matches!(self.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
    }

    /// Whether it says something about the server's era. One that has no time says nothing about itself, nor does a failure of
    /// the server.
    fn is_judgement(&self) -> bool {
        self.status.is_client_error() && !self.needs_auth() && self.status != StatusCode::TOO_MANY_REQUESTS
    }

    pub(super) fn into_error(self) -> StreamableHttpError<HttpFailure> {
        let (status, body) = (self.status.as_u16(), excerpt(&self.body));
        StreamableHttpError::Client(HttpFailure::Status { status, body, challenge: self.challenge })
    }
}

async fn refused(
    response: Response,
    message: &ClientJsonRpcMessage,
    ledger: &Ledger,
) -> Outcome<StreamableHttpPostResponse> {
    let refusal = Refusal::read(response, ledger).await;
    if let ClientJsonRpcMessage::Request(request) = message {
        let answer = refusal.message().and_then(|body| ledger.decode(body).into_iter().find(is_answer));
        if let Some(answer) = answer {
            return Ok(StreamableHttpPostResponse::Json(answer, None));
        }
        // "If the body is empty or is not a recognized modern JSON-RPC error, fall back to `initialize`" (2026-07-28,
        // streamable HTTP, "Backward Compatibility").
        if is_probe(message) && refusal.is_judgement() && ledger.wanted.both_eras {
            let why = format!("`server/discover` was refused with HTTP status {}", refusal.status);
            return Ok(StreamableHttpPostResponse::Json(ledger.legacy(request.id.clone(), &why), None));
        }
    }
    Err(refusal.into_error())
}

/// Events whose answers were replaced by short ones; what is no message is taken out. `asked` is the id of the request
/// whose own stream it is.
pub(super) fn shortened(
    events: BoxStream<'static, Result<Sse, SseError>>,
    asked: Option<Value>,
    ledger: Arc<Ledger>,
) -> BoxStream<'static, Result<Sse, SseError>> {
    let shorten = move |mut event: Sse| {
        let message = if is_oversize(&event) {
            event.event = None;
            ledger.too_long(answered(&event, asked.clone()))
        } else {
            let data = event.data.as_deref().unwrap_or_default();
            if data.trim().is_empty() {
                event.data = None;
                return event;
            }
            // The first message of a batch is all that one event can carry on.
            ledger.decode(data.as_bytes()).into_iter().next()
        };
        event.data = message.and_then(|message| serde_json::to_string(&ledger.shorten(message)).ok());
        event
    };
    // A stream that breaks ends, as far as rmcp knows: it opens one that ended again after a while, but one that broke at
    // once, and for ever.
    let whole = events.take_while(|event| {
        if let Err(error) = event {
            tracing::debug!(%error, "the event stream broke");
        }
        std::future::ready(event.is_ok())
    });
    whole.map(move |event| event.map(&shorten)).boxed()
}
