//! HTTP+SSE, the transport of 2024-11-05 (transports, "HTTP with SSE"): a GET opens the stream on which the server first
//! names the URL that takes POSTs, and then sends every message.

use std::{collections::VecDeque, sync::Arc};

use futures::{StreamExt, stream::BoxStream};
use http::{
    HeaderMap,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};
use rmcp::{
    RoleClient,
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::Transport,
};
use sse_stream::{Error as SseError, Sse};
use url::Url;

use super::{
    events::{answered, events, is_oversize},
    http::{
        HttpFailure, Sender,
        headers::configured,
        of_failure,
        pool::{self, Address},
    },
};
use crate::{
    auth::Authorize,
    config::HttpEndpoint,
    error::ConnectFailure,
    event::excerpt,
    ledger::{Failure, Ledger},
};

/// The transport.
pub(crate) struct SseTransport {
    sender: Sender,
    headers: HeaderMap,
    post_to: Url,
    events: BoxStream<'static, Result<Sse, SseError>>,
    read: VecDeque<ServerJsonRpcMessage>,
    ledger: Arc<Ledger>,
}

impl SseTransport {
    /// Opens the stream and waits for the `endpoint` event.
    pub(crate) async fn open(
        endpoint: &HttpEndpoint,
        ledger: &Arc<Ledger>,
        authorizer: Option<&Arc<dyn Authorize>>,
    ) -> Result<Self, ConnectFailure> {
        let address = Address::of(endpoint)?;
        let headers = configured(endpoint, ledger.reporter.server()).await?;
        let (client, base) = (pool::client(&address, &headers)?, address.url);
        let sender = Sender::new(client, authorizer, headers.contains_key(AUTHORIZATION), ledger);
        let request = sender.client.get(base.clone()).headers(headers.clone()).header(ACCEPT, "text/event-stream");
        let response = sender.send(request).await.map_err(of_failure)?;
        let status = response.status();
        if !status.is_success() {
            return Err(super::http::refusal(response).await);
        }
        let content_type = response.headers().get(CONTENT_TYPE).map(|value| value.as_bytes()).unwrap_or_default();
        if !content_type.starts_with(b"text/event-stream") {
            let detail = format!("GET was answered with `{}` instead of an event stream", excerpt(content_type));
            return Err(ConnectFailure::Protocol { detail });
        }
        let mut events = events(response, ledger.limits.message_bytes);
        let post_to = named_endpoint(&mut events, &base).await?;
        Ok(Self { sender, headers, post_to, events, read: VecDeque::new(), ledger: Arc::clone(ledger) })
    }
}

/// The URL that the server names. It must be of the origin that the user has chosen: messages, and the headers that the
/// user has configured, go there.
async fn named_endpoint(
    events: &mut BoxStream<'static, Result<Sse, SseError>>,
    base: &Url,
) -> Result<Url, ConnectFailure> {
    let protocol = |detail: String| ConnectFailure::Protocol { detail };
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

impl Transport<RoleClient> for SseTransport {
    type Error = HttpFailure;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let request = self.sender.client.post(self.post_to.clone()).headers(self.headers.clone()).json(&message);
        let sender = self.sender.clone();
        async move {
            let response = sender.send(request).await?;
            if response.status().is_success() {
                // The body means nothing here; it is read so that the connection can be used again.
                super::http::discard(response).await;
                return Ok(());
            }
            Err(super::http::failure_of(response).await)
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            if let Some(message) = self.read.pop_front() {
                return Some(message);
            }
            match self.events.next().await? {
                Ok(event) if is_oversize(&event) => self.read.extend(self.ledger.too_long(answered(&event, None))),
                Ok(Sse { event, data: Some(data), .. }) if matches!(event.as_deref(), None | Some("message")) => {
                    self.read.extend(self.ledger.decode(data.as_bytes()));
                }
                Ok(_) => {}
                Err(error) => {
                    self.ledger.fail(Failure::Transport(format!("the event stream broke: {error}")));
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.events = futures::stream::empty().boxed();
        Ok(())
    }
}
