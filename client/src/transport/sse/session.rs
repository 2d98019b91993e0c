//! A session of HTTP+SSE: its stream, its URL for messages, and the handshake of later sessions.

use futures::{StreamExt, stream::BoxStream};
use http::header::{ACCEPT, CONTENT_TYPE};
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, InitializedNotification, ServerJsonRpcMessage};
use sse_stream::{Error as SseError, Sse};
use url::Url;

use super::{super::http::JSON, SseTarget};
use crate::{
    error::ConnectFailure,
    event::excerpt,
    tracker::RepeatedHandshake,
    transport::{
        events::events,
        http::{connect_failure, discard, rejection},
    },
};

/// The events of a stream.
pub(super) type Events = BoxStream<'static, Result<Sse, SseError>>;

/// A stream, and the URL for messages.
pub(super) struct Session {
    pub(super) events: Events,
    pub(super) post_to: Url,
}

/// A later session, and the messages that arrived during its handshake.
pub(super) struct Renewed {
    pub(super) session: Session,
    pub(super) received: Vec<ServerJsonRpcMessage>,
}

fn protocol(detail: String) -> ConnectFailure {
    ConnectFailure::Protocol { detail }
}

impl Session {
    /// Opens the stream and waits for the `endpoint` event.
    pub(super) async fn open(target: &SseTarget) -> Result<Self, ConnectFailure> {
        let get = |client: &reqwest::Client| client.get(target.base.clone()).header(ACCEPT, "text/event-stream");
        let response = target.client.send(get).await.map_err(connect_failure)?;
        if !response.status().is_success() {
            return Err(rejection(response).await);
        }
        let content_type = response.headers().get(CONTENT_TYPE).map(|value| value.as_bytes()).unwrap_or_default();
        if !content_type.starts_with(b"text/event-stream") {
            let detail = format!("the response to GET has type `{}` instead of an event stream", excerpt(content_type));
            return Err(protocol(detail));
        }
        let mut events = events(response, target.tracker.limits.message_bytes);
        let post_to = named_endpoint(&mut events, &target.base).await?;
        Ok(Self { events, post_to })
    }

    /// Opens a later session and repeats the handshake, which rmcp does not know.
    pub(super) async fn renew(
        target: &SseTarget,
        initialize: &ClientJsonRpcMessage,
    ) -> Result<Renewed, ConnectFailure> {
        let ClientJsonRpcMessage::Request(request) = initialize else {
            return Err(protocol("no handshake to repeat".into()));
        };
        let id = request.id.clone();
        let session = Self::open(target).await?;
        let _again = RepeatedHandshake::enter(&target.tracker, &id);
        session.initialize(target, initialize, &id).await
    }

    async fn initialize(
        mut self,
        target: &SseTarget,
        initialize: &ClientJsonRpcMessage,
        id: &rmcp::model::RequestId,
    ) -> Result<Renewed, ConnectFailure> {
        post(target, &self.post_to, initialize).await?;
        let mut received = Vec::new();
        'answered: loop {
            let event = self.events.next().await.ok_or(ConnectFailure::Closed)?;
            let event = event.map_err(|error| ConnectFailure::Transport { source: error.into() })?;
            for message in target.tracker.decode(event.data.unwrap_or_default().as_bytes()) {
                match message {
                    ServerJsonRpcMessage::Response(response) if response.id == *id => break 'answered,
                    ServerJsonRpcMessage::Error(error) if error.id.as_ref() == Some(id) => {
                        let error = error.error;
                        let (code, message) = (error.code.0.into(), error.message.into_owned());
                        return Err(ConnectFailure::Rpc { code, message, data: error.data });
                    }
                    other => received.push(other),
                }
            }
        }
        let initialized = ClientNotification::InitializedNotification(InitializedNotification::default());
        post(target, &self.post_to, &ClientJsonRpcMessage::notification(initialized)).await?;
        Ok(Renewed { session: self, received })
    }
}

async fn post(target: &SseTarget, url: &Url, message: &ClientJsonRpcMessage) -> Result<(), ConnectFailure> {
    let body = serde_json::to_vec(message).map_err(|error| ConnectFailure::Transport { source: error.into() })?;
    let body = bytes::Bytes::from(body);
    let post = |client: &reqwest::Client| client.post(url.clone()).header(CONTENT_TYPE, JSON).body(body.clone());
    let response = target.client.send(post).await.map_err(connect_failure)?;
    if !response.status().is_success() {
        return Err(rejection(response).await);
    }
    discard(response).await;
    Ok(())
}

/// The URL in the `endpoint` event. It must have the configured origin, because messages and the user's headers are
/// sent there.
async fn named_endpoint(events: &mut Events, base: &Url) -> Result<Url, ConnectFailure> {
    while let Some(event) = events.next().await {
        let event = event.map_err(|error| ConnectFailure::Transport { source: error.into() })?;
        if event.event.as_deref() != Some("endpoint") {
            continue;
        }
        let named = event.data.unwrap_or_default();
        let url = base
            .join(named.trim())
            .map_err(|error| protocol(format!("the endpoint `{named}` is not a URL: {error}")))?;
        if url.origin() != base.origin() {
            return Err(protocol(format!("the endpoint `{url}` has another origin than `{base}`")));
        }
        return Ok(url);
    }
    Err(protocol("the stream ended before an `endpoint` event".into()))
}
