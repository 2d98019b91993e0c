//! One session of HTTP+SSE: the stream and the URL that it names, and the handshake of every session after the first.

use futures::{StreamExt, stream::BoxStream};
use http::header::{ACCEPT, CONTENT_TYPE};
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, InitializedNotification, ServerJsonRpcMessage};
use sse_stream::{Error as SseError, Sse};
use url::Url;

use super::{super::http::JSON, Way};
use crate::{
    error::ConnectFailure,
    event::excerpt,
    ledger::Again,
    transport::{
        events::events,
        http::{discard, of_failure, refusal},
    },
};

/// The events of a stream.
pub(super) type Events = BoxStream<'static, Result<Sse, SseError>>;

/// A stream, and where messages go.
pub(super) struct Session {
    pub(super) events: Events,
    pub(super) post_to: Url,
}

/// A session after the first, and what was said in it during the handshake.
pub(super) struct Renewed {
    pub(super) session: Session,
    pub(super) heard: Vec<ServerJsonRpcMessage>,
}

fn protocol(detail: String) -> ConnectFailure {
    ConnectFailure::Protocol { detail }
}

impl Session {
    /// Opens the stream and waits for the `endpoint` event.
    pub(super) async fn open(way: &Way) -> Result<Self, ConnectFailure> {
        let get = |client: &reqwest::Client| client.get(way.base.clone()).header(ACCEPT, "text/event-stream");
        let response = way.client.send(get).await.map_err(of_failure)?;
        if !response.status().is_success() {
            return Err(refusal(response).await);
        }
        let content_type = response.headers().get(CONTENT_TYPE).map(|value| value.as_bytes()).unwrap_or_default();
        if !content_type.starts_with(b"text/event-stream") {
            let detail = format!("GET was answered with `{}` instead of an event stream", excerpt(content_type));
            return Err(protocol(detail));
        }
        let mut events = events(response, way.ledger.limits.message_bytes);
        let post_to = named_endpoint(&mut events, &way.base).await?;
        Ok(Self { events, post_to })
    }

    /// Opens another session and makes the handshake again. rmcp knows nothing of it: the books are told of the request, and
    /// close it again.
    pub(super) async fn renew(way: &Way, hello: &ClientJsonRpcMessage) -> Result<Renewed, ConnectFailure> {
        let ClientJsonRpcMessage::Request(request) = hello else {
            return Err(protocol("there was no handshake".into()));
        };
        let id = request.id.clone();
        let session = Self::open(way).await?;
        let _again = Again::enter(&way.ledger, &id);
        session.greet(way, hello, &id).await
    }

    async fn greet(
        mut self,
        way: &Way,
        hello: &ClientJsonRpcMessage,
        id: &rmcp::model::RequestId,
    ) -> Result<Renewed, ConnectFailure> {
        post(way, &self.post_to, hello).await?;
        let mut heard = Vec::new();
        'answered: loop {
            let event = self.events.next().await.ok_or(ConnectFailure::Closed)?;
            let event = event.map_err(|error| ConnectFailure::Transport { source: error.into() })?;
            for message in way.ledger.decode(event.data.unwrap_or_default().as_bytes()) {
                match message {
                    ServerJsonRpcMessage::Response(response) if response.id == *id => break 'answered,
                    ServerJsonRpcMessage::Error(error) if error.id.as_ref() == Some(id) => {
                        let error = error.error;
                        let (code, message) = (error.code.0.into(), error.message.into_owned());
                        return Err(ConnectFailure::Rpc { code, message, data: error.data });
                    }
                    other => heard.push(other),
                }
            }
        }
        let initialized = ClientNotification::InitializedNotification(InitializedNotification::default());
        post(way, &self.post_to, &ClientJsonRpcMessage::notification(initialized)).await?;
        Ok(Renewed { session: self, heard })
    }
}

async fn post(way: &Way, url: &Url, message: &ClientJsonRpcMessage) -> Result<(), ConnectFailure> {
    let body = serde_json::to_vec(message).map_err(|error| ConnectFailure::Transport { source: error.into() })?;
    let body = bytes::Bytes::from(body);
    let post = |client: &reqwest::Client| client.post(url.clone()).header(CONTENT_TYPE, JSON).body(body.clone());
    let response = way.client.send(post).await.map_err(of_failure)?;
    if !response.status().is_success() {
        return Err(refusal(response).await);
    }
    discard(response).await;
    Ok(())
}

/// The URL that the server names. It must be of the origin that the user has chosen: messages, and the headers that the
/// user has configured, go there.
async fn named_endpoint(events: &mut Events, base: &Url) -> Result<Url, ConnectFailure> {
    while let Some(event) = events.next().await {
        let event = event.map_err(|error| ConnectFailure::Transport { source: error.into() })?;
        if event.event.as_deref() != Some("endpoint") {
            continue;
        }
        let named = event.data.unwrap_or_default();
        let url =
            base.join(named.trim()).map_err(|error| protocol(format!("the endpoint `{named}` is no URL: {error}")))?;
        if url.origin() != base.origin() {
            return Err(protocol(format!("the endpoint `{url}` is of another origin than `{base}`")));
        }
        return Ok(url);
    }
    Err(protocol("the stream ended before an `endpoint` event".into()))
}
