//! What rmcp's Streamable HTTP worker asks of an HTTP client.

use std::sync::{Arc, atomic::Ordering};

use futures::stream::BoxStream;
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{ACCEPT, CONTENT_TYPE},
};
use rmcp::{
    model::{ClientJsonRpcMessage, ClientNotification, ClientRequest, ServerJsonRpcMessage},
    transport::streamable_http_client::{
        SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    },
};
use sse_stream::Sse;

use super::{ACCEPTED, EVENT_STREAM, Headers, HttpClient, HttpFailure, JSON, Outcome, SESSION_ID, response};
use crate::{event::Happening, ledger::Again, transport::events::events};

impl HttpClient {
    async fn post(
        &self,
        message: &ClientJsonRpcMessage,
        session: Option<&str>,
        headers: &Headers,
    ) -> Outcome<StreamableHttpPostResponse> {
        let body = bytes::Bytes::from(serde_json::to_vec(message)?);
        let request = || {
            let request = self.shared.sender.client.post(self.shared.url.clone()).header(ACCEPT, ACCEPTED);
            request.header(CONTENT_TYPE, JSON).body(body.clone())
        };
        let response =
            self.exchange(request, &with_session(headers, session)).await.map_err(|failure| self.note(failure))?;
        response::of_post(response, message, session.is_some(), &self.shared.ledger).await
    }

    /// rmcp sends the handshake again, under its old id, where the server has forgotten the session. The books have closed
    /// that id long ago.
    async fn renew(
        &self,
        posted: impl Future<Output = Outcome<StreamableHttpPostResponse>>,
        id: &rmcp::model::RequestId,
    ) -> Outcome<StreamableHttpPostResponse> {
        let ledger = &self.shared.ledger;
        let again = Again::enter(ledger, id);
        let renewed = whole(posted).await;
        drop(again);
        if let Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Response(_), _)) = &renewed {
            ledger.reporter.report(|| Happening::SessionRenewed);
            // Whatever changed in between was told to nobody.
            ledger.missed_changes();
        }
        renewed
    }

    /// A server that keeps silent on a probe is of the legacy era, as it is over stdio. rmcp waits for the answer to its
    /// first request before it sends another, so the limit is kept here, and the answer is read to its end.
    async fn probe(
        &self,
        posted: impl Future<Output = Outcome<StreamableHttpPostResponse>>,
        message: &ClientJsonRpcMessage,
    ) -> Outcome<StreamableHttpPostResponse> {
        let (shared, never) = (&self.shared, std::future::pending::<()>);
        let answered = tokio::select! {
            biased;
            answered = whole(posted) => Ok(answered),
            _ = async { tokio::join!(
                shared.ledger.pause.timeout(shared.probe_limit, never()),
                shared.put_off.timeout(shared.probe_limit, never()),
            ) } => Err(()),
        };
        match (answered, message) {
            (Err(_), ClientJsonRpcMessage::Request(request)) => {
                let answer =
                    self.shared.ledger.legacy(request.id.clone(), "`server/discover` was not answered in time");
                Ok(StreamableHttpPostResponse::Json(answer, None))
            }
            (Ok(outcome), _) => outcome,
            (Err(_), _) => Err(StreamableHttpError::UnexpectedEndOfStream),
        }
    }
}

/// An answer read to its end, in whichever form it comes.
async fn whole(
    posted: impl Future<Output = Outcome<StreamableHttpPostResponse>>,
) -> Outcome<StreamableHttpPostResponse> {
    let (answer, session) = posted.await?.expect_initialized().await?;
    Ok(StreamableHttpPostResponse::Json(answer, session))
}

/// The headers of a request of rmcp.
fn with_session(headers: &Headers, session: Option<&str>) -> HeaderMap {
    let mut all: HeaderMap = headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    if let Some(session) = session.and_then(|session| HeaderValue::from_str(session).ok()) {
        all.insert(SESSION_ID, session);
    }
    all
}

fn is_initialized(message: &ClientJsonRpcMessage) -> bool {
    let ClientJsonRpcMessage::Notification(notification) = message else { return false };
    matches!(notification.notification, ClientNotification::InitializedNotification(_))
}

pub(super) fn is_probe(message: &ClientJsonRpcMessage) -> bool {
    let ClientJsonRpcMessage::Request(request) = message else { return false };
    matches!(request.request, ClientRequest::DiscoverRequest(_))
}

impl StreamableHttpClient for HttpClient {
    type Error = HttpFailure;

    async fn post_message(
        &self,
        _: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        headers: Headers,
    ) -> Outcome<StreamableHttpPostResponse> {
        let posted = self.post(&message, session_id.as_deref(), &headers);
        match &message {
            message if is_probe(message) && self.shared.ledger.wanted.both_eras => self.probe(posted, message).await,
            ClientJsonRpcMessage::Request(request)
                if matches!(request.request, ClientRequest::InitializeRequest(_))
                    && self.shared.greeted.swap(true, Ordering::AcqRel) =>
            {
                self.renew(posted, &request.id).await
            }
            ClientJsonRpcMessage::Request(_) if self.has_ended(session_id.as_ref()) => {
                Err(StreamableHttpError::SessionExpired)
            }
            ClientJsonRpcMessage::Request(_) if session_id.is_some() => {
                self.until_stream().await;
                posted.await
            }
            message if is_initialized(message) => {
                let posted = posted.await?;
                self.open_way(session_id.as_ref(), &headers);
                Ok(posted)
            }
            _ => posted.await,
        }
    }

    async fn delete_session(
        &self,
        _: Arc<str>,
        session_id: Arc<str>,
        _: Option<String>,
        headers: Headers,
    ) -> Outcome<()> {
        let request = || self.shared.sender.client.delete(self.shared.url.clone());
        let response = self
            .exchange(request, &with_session(&headers, Some(&session_id)))
            .await
            .map_err(StreamableHttpError::Client)?;
        // A server may refuse to let clients end sessions (2025-03-26, transports, "Session Management").
        if response.status() == StatusCode::METHOD_NOT_ALLOWED || response.status().is_success() {
            return Ok(());
        }
        Err(StreamableHttpError::Client(response::failure(response).await))
    }

    async fn get_stream(
        &self,
        _: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _: Option<String>,
        headers: Headers,
    ) -> Outcome<BoxStream<'static, Result<Sse, SseError>>> {
        let headers = with_session(&headers, session_id.as_deref());
        let response = self.stream(session_id, last_event_id, headers).await;
        self.shared.answers_stream.send_replace(true);
        let response = response?;
        if !response::is_of_type(&response, EVENT_STREAM) {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        let ledger = &self.shared.ledger;
        Ok(response::shortened(events(response, ledger.limits.message_bytes), None, Arc::clone(ledger)))
    }
}
