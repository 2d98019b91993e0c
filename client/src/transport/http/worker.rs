//! Implementation of the HTTP client of rmcp's Streamable HTTP worker.

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

use super::{ACCEPTED, EVENT_STREAM, Headers, HttpClient, HttpFailure, JSON, Outcome, SESSION_ID, is_probe, response};
use crate::{event::ClientEventKind, tracker::RepeatedHandshake, transport::events::events};

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
        if let (StatusCode::NOT_FOUND, Some(session)) = (response.status(), session) {
            self.end_session(session);
        }
        response::from_post(response, message, session.is_some(), &self.shared.tracker).await
    }

    /// rmcp repeats the handshake with the same id after the session expired. The tracker has already removed that id.
    async fn renew(
        &self,
        posted: impl Future<Output = Outcome<StreamableHttpPostResponse>>,
        id: &rmcp::model::RequestId,
    ) -> Outcome<StreamableHttpPostResponse> {
        let tracker = &self.shared.tracker;
        let again = RepeatedHandshake::enter(tracker, id);
        let renewed = read_complete(posted).await;
        drop(again);
        if let Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Response(_), _)) = &renewed {
            tracker.reporter.report(|| ClientEventKind::SessionRenewed);
            // Changes in the meantime were not announced.
            tracker.missed_changes();
        }
        renewed
    }

    /// A server that does not respond to the probe is legacy, as over stdio. rmcp waits for the first response before
    /// it sends another request, so the timeout is enforced here and the response is read completely.
    async fn probe(
        &self,
        posted: impl Future<Output = Outcome<StreamableHttpPostResponse>>,
        message: &ClientJsonRpcMessage,
    ) -> Outcome<StreamableHttpPostResponse> {
        let (shared, never) = (&self.shared, std::future::pending::<()>);
        let outcome = tokio::select! {
            biased;
            outcome = read_complete(posted) => Ok(outcome),
            _ = async { tokio::join!(
                shared.tracker.pause.timeout(shared.probe_limit, never()),
                shared.put_off.timeout(shared.probe_limit, never()),
            ) } => Err(()),
        };
        match (outcome, message) {
            (Err(_), ClientJsonRpcMessage::Request(request)) => {
                let message = self.shared.tracker.legacy(request.id.clone(), "`server/discover` timed out");
                Ok(StreamableHttpPostResponse::Json(message, None))
            }
            (Ok(outcome), _) => outcome,
            (Err(_), _) => Err(StreamableHttpError::UnexpectedEndOfStream),
        }
    }
}

/// Reads a response completely, in either format.
async fn read_complete(
    posted: impl Future<Output = Outcome<StreamableHttpPostResponse>>,
) -> Outcome<StreamableHttpPostResponse> {
    let (message, session) = posted.await?.expect_initialized().await?;
    Ok(StreamableHttpPostResponse::Json(message, session))
}

/// The headers of a request from rmcp.
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
            message if is_probe(message) && self.shared.tracker.wanted.both_eras => self.probe(posted, message).await,
            ClientJsonRpcMessage::Request(request)
                if matches!(request.request, ClientRequest::InitializeRequest(_))
                    && self.shared.initialized.swap(true, Ordering::AcqRel) =>
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
                self.enable_direct(session_id.as_ref(), &headers);
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
        // A server may not allow clients to end sessions (2025-03-26, transports, "Session Management").
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
        let tracker = &self.shared.tracker;
        Ok(response::shortened(events(response, tracker.limits.message_bytes), None, Arc::clone(tracker)))
    }
}
