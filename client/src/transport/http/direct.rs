//! A request that bypasses rmcp's worker: a POST, and its response until the result has arrived.

use std::sync::{Arc, PoisonError};

use futures::{StreamExt, stream::BoxStream};
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{ACCEPT, CONTENT_TYPE},
};
use reqwest::Response;
use rmcp::{
    model::{RequestId, ServerJsonRpcMessage, ServerNotification},
    transport::{
        common::client_side_sse::SseRetryPolicy,
        streamable_http_client::{SseError, StreamableHttpError},
    },
};
use sse_stream::Sse;
use tokio::sync::oneshot;

use super::{ACCEPTED, Address, Backoff, EVENT_STREAM, HttpClient, JSON, Outcome, SESSION_ID, response};
use crate::{
    direct::{NoResponse, RequestHead},
    revision::{Revision, rules},
    tracker::Reply,
    transport::events::{events, is_oversize, response_id},
};

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The head of a request.
#[derive(Debug)]
pub(crate) struct Post {
    headers: HeaderMap,
    session: Option<Arc<str>>,
    /// Whether an interrupted response can be resumed (2025-03-26 to 2025-11-25, transports, "Resumability and
    /// Redelivery").
    resumable: bool,
}

/// Sends direct requests of an established connection.
#[derive(Debug, Clone)]
pub(super) struct DirectSender {
    pub(super) session: Option<Arc<str>>,
    pub(super) revision: HeaderValue,
}

type Events = BoxStream<'static, Result<Sse, SseError>>;

impl HttpClient {
    /// The head of a request that concerns `name`. Returns `None` if rmcp has to send it: while the session is
    /// replaced, or if the name has to be encoded.
    pub(crate) fn prepare(&self, revision: Revision, method: &'static str, name: Option<&str>) -> Option<Post> {
        let mut headers = HeaderMap::with_capacity(12);
        headers.insert(ACCEPT, ACCEPTED);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        let rules = rules(revision);
        let session = if rules.stateless {
            add_request_headers(&mut headers, revision, method, name)?;
            None
        } else {
            let direct = self.shared.direct.read().unwrap_or_else(PoisonError::into_inner).clone()?;
            headers.insert(PROTOCOL_VERSION, direct.revision);
            if let Some(session) = &direct.session {
                headers.insert(SESSION_ID, HeaderValue::from_str(session).ok()?);
            }
            direct.session
        };
        Some(Post { headers, session, resumable: rules.resumable_responses })
    }

    /// URL, socket and all headers of such a request, for a program that sends it itself.
    pub(crate) fn request_head(
        &self,
        revision: Revision,
        method: &'static str,
        name: Option<&str>,
    ) -> Option<RequestHead> {
        let post = self.prepare(revision, method, name)?;
        let address = Address::new(&self.shared.endpoint).ok()?;
        let mut headers = self.shared.headers.read().unwrap_or_else(PoisonError::into_inner).clone();
        headers.extend(post.headers.iter().map(|(name, value)| (name.clone(), value.clone())));
        Some(RequestHead { url: address.url, socket: address.socket, headers })
    }

    /// Sends a request and reads until the response has arrived.
    pub(crate) async fn send_direct(
        self,
        post: Post,
        body: Vec<u8>,
        id: RequestId,
        mut reply: oneshot::Receiver<Reply>,
    ) -> Result<Reply, NoResponse> {
        let outcome = tokio::select! {
            biased;
            // The response may also arrive on the session's own stream.
            reply = &mut reply => return reply.map_err(|_| NoResponse::Cut),
            outcome = self.carry(&post, body, &id) => outcome,
        };
        if let Ok(reply) = reply.try_recv() {
            return Ok(reply);
        }
        Err(match outcome {
            Ok(()) => NoResponse::Cut,
            Err(StreamableHttpError::SessionExpired) => NoResponse::SessionEnded,
            Err(error) => NoResponse::Failed(error.into()),
        })
    }

    /// Sends the request, and delivers all messages of the response.
    async fn carry(&self, post: &Post, body: Vec<u8>, id: &RequestId) -> Outcome<()> {
        let shared = &self.shared;
        // The semaphore is never closed.
        let turn = shared.turns.acquire().await;
        if post.session.is_some() {
            self.until_stream().await;
        }
        let body = bytes::Bytes::from(body);
        let request = || shared.sender.client.post(shared.url.clone()).body(body.clone());
        let response = self.exchange(request, &post.headers).await.map_err(|failure| self.note(failure))?;
        // A stream may stay open during the call; other requests do not wait for it.
        drop(turn);
        let status = response.status();
        if status == StatusCode::NOT_FOUND && post.session.is_some() {
            self.disable_direct(post.session.as_ref());
            return Err(StreamableHttpError::SessionExpired);
        }
        if !status.is_success() {
            let rejection = response::HttpErrorResponse::read(response, &shared.tracker).await;
            if let Some(body) = rejection.message() {
                self.hand_over(shared.tracker.decode(body)).await;
            }
            return Err(rejection.into_error());
        }
        if response::is_of_type(&response, EVENT_STREAM) {
            return self.follow(response, post, id).await;
        }
        if response::is_of_type(&response, JSON) {
            let body = response::read(response, shared.tracker.limits.message_bytes).await?;
            self.hand_over(shared.tracker.decode(&body)).await;
            return Err(response::no_response(&body));
        }
        Err(response::unexpected_type(&response))
    }

    /// Reads a stream to its end, and resumes it if it was interrupted.
    async fn follow(&self, response: Response, post: &Post, id: &RequestId) -> Outcome<()> {
        let limit = self.shared.tracker.limits.message_bytes;
        let mut stream: Events = events(response, limit);
        let (mut last, mut pause, mut tries) = (None, None, 0);
        loop {
            while let Some(Ok(event)) = stream.next().await {
                last = event.id.clone().or(last);
                pause = event.retry.map(std::time::Duration::from_millis).or(pause);
                // Only streams without events count as failed attempts.
                tries = 0;
                self.take(event, id).await;
            }
            let Some(last) = last.clone().filter(|_| post.resumable) else { return Ok(()) };
            // "The client MUST respect the `retry` field" (2025-11-25, transports, "Sending Messages to the Server").
            let Some(wait) = pause.take().or_else(|| Backoff.retry(tries)) else { return Ok(()) };
            tokio::time::sleep(wait).await;
            tries += 1;
            match self.stream(post.session.clone(), Some(last), post.headers.clone()).await {
                Ok(response) if response::is_of_type(&response, EVENT_STREAM) => {
                    stream = events(response, limit);
                }
                Ok(_) | Err(StreamableHttpError::ServerDoesNotSupportSse) => return Ok(()),
                Err(_) => stream = futures::stream::empty().boxed(),
            }
        }
    }

    async fn take(&self, event: Sse, id: &RequestId) {
        let tracker = &self.shared.tracker;
        let messages = if is_oversize(&event) {
            tracker.too_long(response_id(&event, Some(id.clone().into_json_value()))).into_iter().collect()
        } else {
            let data = event.data.as_deref().unwrap_or_default();
            let is_message = matches!(event.event.as_deref(), None | Some("" | "message"));
            if !is_message || data.trim().is_empty() {
                return;
            }
            tracker.decode(data.as_bytes())
        };
        self.hand_over(messages).await;
    }

    /// Handles notifications in order, and passes other messages to rmcp.
    async fn hand_over(&self, messages: Vec<ServerJsonRpcMessage>) {
        for message in messages {
            match message {
                ServerJsonRpcMessage::Notification(notification)
                    if !matches!(notification.notification, ServerNotification::CancelledNotification(_)) =>
                {
                    self.shared.tracker.on_notification(notification.notification);
                }
                message => {
                    if let Some(to_sdk) = self.shared.to_sdk.get() {
                        // An error means that the connection has ended.
                        let _ = to_sdk.send(message).await;
                    }
                }
            }
        }
    }

    /// Enables direct requests after rmcp opened or replaced a session.
    pub(super) fn enable_direct(&self, session: Option<&Arc<str>>, headers: &super::Headers) {
        let Some(revision) = headers.get(&PROTOCOL_VERSION).cloned() else { return };
        let direct = DirectSender { session: session.cloned(), revision };
        *self.shared.direct.write().unwrap_or_else(PoisonError::into_inner) = Some(direct);
    }

    /// Disables direct requests after the session expired, until rmcp has opened another one.
    fn disable_direct(&self, session: Option<&Arc<str>>) {
        let mut direct = self.shared.direct.write().unwrap_or_else(PoisonError::into_inner);
        if direct.as_ref().is_some_and(|direct| direct.session.as_ref() == session) {
            *direct = None;
            *self.shared.ended.lock().unwrap_or_else(PoisonError::into_inner) = session.cloned();
        }
    }

    /// Records that the session expired.
    pub(super) fn end_session(&self, session: &str) {
        *self.shared.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(session.into());
    }

    /// Whether this session has expired.
    pub(super) fn has_ended(&self, session: Option<&Arc<str>>) -> bool {
        session.is_some() && self.shared.ended.lock().unwrap_or_else(PoisonError::into_inner).as_ref() == session
    }
}

/// Adds the headers of a stateless request, with a name if the method has one. Returns `None` if the name has to be
/// encoded (2026-07-28, streamable HTTP, "Value Encoding").
fn add_request_headers(
    headers: &mut HeaderMap,
    revision: Revision,
    method: &'static str,
    name: Option<&str>,
) -> Option<()> {
    headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(revision.as_str()));
    headers.insert(METHOD, HeaderValue::from_static(method));
    let Some(name) = name else { return Some(()) };
    let plain = name.bytes().all(|byte| byte.is_ascii_graphic()) && !name.starts_with("=?");
    headers.insert(NAME, HeaderValue::from_str(name).ok().filter(|_| plain && !name.is_empty())?);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_names_the_negotiated_revision() {
        for revision in Revision::ALL {
            let mut headers = HeaderMap::new();
            add_request_headers(&mut headers, revision, "tools/call", Some("echo")).unwrap();
            assert_eq!(headers[PROTOCOL_VERSION], revision.as_str());
        }
    }
}
