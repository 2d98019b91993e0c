//! The layer between a transport and rmcp. It updates the [`RequestTracker`] and handles messages that rmcp would
//! mishandle:
//!
//! - Responses with unknown ids are dropped. rmcp's handshake would fail on the first one.
//! - A probe without a response in time gets one here. rmcp's own timeout of 10 s leaves no time for the handshake.
//! - Requests of servers without a handshake are dropped. rmcp would respond.
//! - Notifications of subscriptions that are not open are dropped. rmcp does not compare their ids.
//! - Notifications are handled in order. rmcp runs each handler in a separate task.

use std::sync::Arc;

use rmcp::{
    RoleClient,
    model::{
        ClientJsonRpcMessage, ClientNotification, ClientRequest, GetExtensions, GetMeta, RequestId,
        ServerJsonRpcMessage, ServerNotification,
    },
};
use tokio::time::{Instant, sleep_until};

use crate::{
    event::{CallId, SkipReason},
    tracker::{Failure, InFlight, Purpose, RequestTracker},
};

/// Marks a request as a tool call. It is an extension of rmcp's request and is not sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallTag(pub(crate) CallId);

/// A transport whose messages are recorded in the tracker.
#[derive(Debug)]
pub(crate) struct TrackedTransport<T> {
    transport: T,
    tracker: Arc<RequestTracker>,
    /// Timeout of the probe, unless the transport has its own.
    probe_limit: Option<std::time::Duration>,
    /// Whether all messages share one channel, as over stdio.
    one_channel: bool,
    era: DetectedEra,
}

/// The era of a server, as its messages show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DetectedEra {
    Unknown,
    /// The client sent `initialize`.
    Handshake,
    /// A request without a handshake had a result.
    Stateless,
}

impl<T> TrackedTransport<T> {
    pub(crate) fn new(transport: T, tracker: Arc<RequestTracker>, one_channel: bool) -> Self {
        Self { transport, tracker, probe_limit: None, one_channel, era: DetectedEra::Unknown }
    }

    /// Responds to a probe here after this timeout.
    pub(crate) fn with_probe_limit(self, probe_limit: Option<std::time::Duration>) -> Self {
        Self { probe_limit, ..self }
    }

    fn enter(&mut self, message: &ClientJsonRpcMessage) {
        match message {
            ClientJsonRpcMessage::Request(request) => {
                let purpose = purpose(&request.request);
                if matches!(purpose, Purpose::Initialize) {
                    self.era = DetectedEra::Handshake;
                }
                let token = request.request.get_meta().get_progress_token();
                let call = request.request.extensions().get::<CallTag>().map(|tag| tag.0);
                self.tracker.open(request.id.clone(), InFlight { purpose, token, call, progress: Arc::default() });
                if let (Purpose::Discover, Some(limit)) = (purpose, self.probe_limit) {
                    self.tracker.start_probe(request.id.clone(), Instant::now() + limit);
                }
            }
            ClientJsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.tracker.cancel(id);
                }
            }
            _ => {}
        }
    }

    /// Returns the message for rmcp, if it is to receive one.
    fn admit(&mut self, message: ServerJsonRpcMessage) -> Option<ServerJsonRpcMessage> {
        match message {
            ServerJsonRpcMessage::Response(mut response) => {
                let result = self.tracker.restore(&response.id, response.result);
                self.settle(&response.id)?;
                if self.era == DetectedEra::Unknown {
                    self.era = DetectedEra::Stateless;
                }
                response.result = result;
                Some(ServerJsonRpcMessage::Response(response))
            }
            ServerJsonRpcMessage::Error(error) => {
                if let Some(id) = &error.id {
                    self.settle(id)?;
                }
                Some(ServerJsonRpcMessage::Error(error))
            }
            ServerJsonRpcMessage::Notification(notification) => match notification.notification {
                ServerNotification::CancelledNotification(_) => Some(ServerJsonRpcMessage::Notification(notification)),
                other if self.is_foreign(&other) => {
                    tracing::debug!(?other, "dropping a notification of a subscription that is not open");
                    None
                }
                other => {
                    self.tracker.on_notification(other);
                    None
                }
            },
            ServerJsonRpcMessage::Request(mut request) => {
                request.request = self.tracker.restore_request(&request.id, request.request);
                // Clients send no responses (2026-07-28, basic/transports#messages).
                if self.era == DetectedEra::Stateless {
                    tracing::debug!(id = %request.id, "dropping a request of a server without a handshake");
                    return None;
                }
                Some(ServerJsonRpcMessage::Request(request))
            }
        }
    }

    /// Whether a notification belongs to none of the open subscriptions. Over stdio only the id in the metadata shows where
    /// it belongs (2026-07-28, basic/patterns/subscriptions#receiving-notifications).
    fn is_foreign(&self, notification: &ServerNotification) -> bool {
        let of_subscriptions = matches!(
            notification,
            ServerNotification::ToolListChangedNotification(_)
                | ServerNotification::PromptListChangedNotification(_)
                | ServerNotification::ResourceListChangedNotification(_)
                | ServerNotification::ResourceUpdatedNotification(_)
                | ServerNotification::SubscriptionsAcknowledgedNotification(_)
        );
        let is_open = || notification.get_meta().subscription_id().is_some_and(|id| self.tracker.is_pending(&id));
        self.one_channel && self.era == DetectedEra::Stateless && of_subscriptions && !is_open()
    }

    fn settle(&self, id: &RequestId) -> Option<()> {
        let settled = self.tracker.settle(id);
        if settled.is_none() {
            self.tracker.skip(SkipReason::UnknownId, id.to_string().as_bytes());
        }
        settled.map(|_| ())
    }
}

fn purpose(request: &ClientRequest) -> Purpose {
    match request {
        ClientRequest::InitializeRequest(_) => Purpose::Initialize,
        ClientRequest::DiscoverRequest(_) => Purpose::Discover,
        request if request.method() == "tools/list" => Purpose::ListTools,
        _ => Purpose::Other,
    }
}

impl<T: rmcp::transport::Transport<RoleClient>> rmcp::transport::Transport<RoleClient> for TrackedTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.enter(&message);
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let probe = self.tracker.probe();
            let message = tokio::select! {
                biased;
                () = self.tracker.closed.cancelled() => return None,
                message = self.transport.receive() => message,
                id = expired(probe) => {
                    self.tracker.settle(&id);
                    return Some(self.tracker.legacy(id, "`server/discover` timed out"));
                }
            };
            let Some(message) = message else {
                self.tracker.fail(Failure::Closed);
                return None;
            };
            let admitted = self.admit(message);
            // A message can end the connection: an unsupported revision, or one invalid line too many.
            if self.tracker.closed.is_cancelled() {
                return None;
            }
            if admitted.is_some() {
                return admitted;
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.transport.close().await
    }
}

/// Waits for the deadline of a probe, forever without one.
async fn expired(probe: Option<(RequestId, Instant)>) -> RequestId {
    match probe {
        Some((id, deadline)) => {
            sleep_until(deadline).await;
            id
        }
        None => std::future::pending().await,
    }
}
