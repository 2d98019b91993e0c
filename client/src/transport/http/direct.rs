//! One request past rmcp's worker: a POST, and whatever its response brings until the answer is there.

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

use super::{ACCEPTED, Backoff, EVENT_STREAM, HttpClient, JSON, Outcome, SESSION_ID, response};
use crate::{
    direct::Unanswered,
    ledger::Reply,
    revision::{Era, Revision},
    transport::events::{answered, events, is_oversize},
};

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The head of a request.
#[derive(Debug)]
pub(crate) struct Post {
    headers: HeaderMap,
    session: Option<Arc<str>>,
    /// Whether a response that breaks off can be taken up again (2025-03-26 to 2025-11-25, transports, "Resumability and
    /// Redelivery"; 2026-07-28 has nothing of the kind).
    resumable: bool,
}

/// How requests are sent past rmcp, once it has made the connection.
#[derive(Debug, Clone)]
pub(super) struct Way {
    pub(super) session: Option<Arc<str>>,
    pub(super) revision: HeaderValue,
}

type Events = BoxStream<'static, Result<Sse, SseError>>;

impl HttpClient {
    /// The head of a request that concerns `name`. `None` if rmcp has to send it: between two sessions, or because the name
    /// cannot stand in a header as it is.
    pub(crate) fn prepare(&self, era: Era, method: &'static str, name: &str) -> Option<Post> {
        let mut headers = HeaderMap::with_capacity(12);
        headers.insert(ACCEPT, ACCEPTED);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        let session = if era == Era::Modern {
            headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(Revision::NEWEST_MODERN.as_str()));
            headers.insert(METHOD, HeaderValue::from_static(method));
            // Others are sent in another form (2026-07-28, streamable HTTP, "Value Encoding").
            let plain = name.bytes().all(|byte| byte.is_ascii_graphic()) && !name.starts_with("=?");
            headers.insert(NAME, HeaderValue::from_str(name).ok().filter(|_| plain && !name.is_empty())?);
            None
        } else {
            let way = self.shared.way.read().unwrap_or_else(PoisonError::into_inner).clone()?;
            headers.insert(PROTOCOL_VERSION, way.revision);
            if let Some(session) = &way.session {
                headers.insert(SESSION_ID, HeaderValue::from_str(session).ok()?);
            }
            way.session
        };
        Some(Post { headers, session, resumable: era == Era::Legacy })
    }

    /// Sends a request and reads until its answer is there.
    pub(crate) async fn ask(
        self,
        post: Post,
        body: Vec<u8>,
        id: RequestId,
        mut reply: oneshot::Receiver<Reply>,
    ) -> Result<Reply, Unanswered> {
        let outcome = tokio::select! {
            biased;
            // It may also come over the session's own stream.
            reply = &mut reply => return reply.map_err(|_| Unanswered::Cut),
            outcome = self.carry(&post, body, &id) => outcome,
        };
        if let Ok(reply) = reply.try_recv() {
            return Ok(reply);
        }
        Err(match outcome {
            Ok(()) => Unanswered::Cut,
            Err(StreamableHttpError::SessionExpired) => Unanswered::SessionEnded,
            Err(error) => Unanswered::Failed(error.into()),
        })
    }

    /// Sends it, and hands over everything that the response holds.
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
        // A stream may stay open for as long as its call takes, and others need not wait for that.
        drop(turn);
        let status = response.status();
        if status == StatusCode::NOT_FOUND && post.session.is_some() {
            self.forget(post.session.as_ref());
            return Err(StreamableHttpError::SessionExpired);
        }
        if !status.is_success() {
            let refusal = response::Refusal::read(response, &shared.ledger).await;
            if let Some(body) = refusal.message() {
                self.hand_over(shared.ledger.decode(body)).await;
            }
            return Err(refusal.into_error());
        }
        if response::is_of_type(&response, EVENT_STREAM) {
            return self.follow(response, post, id).await;
        }
        if response::is_of_type(&response, JSON) {
            let body = response::read(response, shared.ledger.limits.message_bytes).await?;
            self.hand_over(shared.ledger.decode(&body)).await;
            return Err(response::no_answer(&body));
        }
        Err(response::unexpected_type(&response))
    }

    /// Reads a stream to its end, and takes it up where it broke off.
    async fn follow(&self, response: Response, post: &Post, id: &RequestId) -> Outcome<()> {
        let limit = self.shared.ledger.limits.message_bytes;
        let mut stream: Events = events(response, limit);
        let (mut last, mut pause, mut tries) = (None, None, 0);
        loop {
            while let Some(Ok(event)) = stream.next().await {
                last = event.id.clone().or(last);
                pause = event.retry.map(std::time::Duration::from_millis).or(pause);
                // Whoever sends something is there; whoever only opens streams is asked no oftener than one that opens none.
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
        let ledger = &self.shared.ledger;
        let messages = if is_oversize(&event) {
            ledger.too_long(answered(&event, Some(id.clone().into_json_value()))).into_iter().collect()
        } else {
            let data = event.data.as_deref().unwrap_or_default();
            let is_message = matches!(event.event.as_deref(), None | Some("" | "message"));
            if !is_message || data.trim().is_empty() {
                return;
            }
            ledger.decode(data.as_bytes())
        };
        self.hand_over(messages).await;
    }

    /// Notifications are heard here and now, in their order; the rest is rmcp's.
    async fn hand_over(&self, messages: Vec<ServerJsonRpcMessage>) {
        for message in messages {
            match message {
                ServerJsonRpcMessage::Notification(notification)
                    if !matches!(notification.notification, ServerNotification::CancelledNotification(_)) =>
                {
                    self.shared.ledger.hear(notification.notification);
                }
                message => {
                    if let Some(aside) = self.shared.aside.get() {
                        // Where nobody receives any more, the connection is over.
                        let _ = aside.send(message).await;
                    }
                }
            }
        }
    }

    /// rmcp has made a connection, or made it anew.
    pub(super) fn open_way(&self, session: Option<&Arc<str>>, headers: &super::Headers) {
        let Some(revision) = headers.get(&PROTOCOL_VERSION).cloned() else { return };
        let way = Way { session: session.cloned(), revision };
        *self.shared.way.write().unwrap_or_else(PoisonError::into_inner) = Some(way);
    }

    /// The server has forgotten the session: rmcp is to open another one, and need not find out by itself.
    fn forget(&self, session: Option<&Arc<str>>) {
        let mut way = self.shared.way.write().unwrap_or_else(PoisonError::into_inner);
        if way.as_ref().is_some_and(|way| way.session.as_ref() == session) {
            *way = None;
            *self.shared.ended.lock().unwrap_or_else(PoisonError::into_inner) = session.cloned();
        }
    }

    /// Whether this session is known to have ended.
    pub(super) fn has_ended(&self, session: Option<&Arc<str>>) -> bool {
        session.is_some() && self.shared.ended.lock().unwrap_or_else(PoisonError::into_inner).as_ref() == session
    }
}
