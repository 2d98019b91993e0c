//! The last layer between a transport and rmcp: it keeps the [`Ledger`] and takes out of the stream what rmcp would
//! mishandle.
//!
//! - Answers to requests that are not under way are dropped (rmcp's handshake would fail on the first wrong id).
//! - A probe that is not answered in time is answered here (rmcp's own limit of 10 s leaves nothing for the handshake).
//! - Notifications are handled here, in order (rmcp runs each handler in a task of its own).

use std::sync::Arc;

use rmcp::{
    RoleClient,
    model::{
        ClientJsonRpcMessage, ClientNotification, ClientRequest, GetExtensions, GetMeta, RequestId,
        ServerJsonRpcMessage, ServerNotification,
    },
    transport::Transport,
};
use tokio::time::{Instant, sleep_until};

use crate::{
    event::{CallId, SkipReason},
    ledger::{Failure, InFlight, Ledger, Purpose},
};

/// Marks a request as a tool call of this id. It travels in rmcp's extensions, never on the wire.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallTag(pub(crate) CallId);

/// A transport whose traffic is entered in the books.
#[derive(Debug)]
pub(crate) struct Link<T> {
    transport: T,
    ledger: Arc<Ledger>,
    /// How long a probe may take, where the transport does not see to that itself.
    probe_limit: Option<std::time::Duration>,
}

impl<T> Link<T> {
    pub(crate) fn new(transport: T, ledger: Arc<Ledger>, probe_limit: Option<std::time::Duration>) -> Self {
        Self { transport, ledger, probe_limit }
    }

    fn enter(&self, message: &ClientJsonRpcMessage) {
        match message {
            ClientJsonRpcMessage::Request(request) => {
                let purpose = purpose(&request.request);
                let token = request.request.get_meta().get_progress_token();
                let call = request.request.extensions().get::<CallTag>().map(|tag| tag.0);
                self.ledger.open(request.id.clone(), InFlight { purpose, token, call, progress: Arc::default() });
                if let (Purpose::Discover, Some(limit)) = (purpose, self.probe_limit) {
                    self.ledger.start_probe(request.id.clone(), Instant::now() + limit);
                }
            }
            ClientJsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.ledger.cancel(id);
                }
            }
            _ => {}
        }
    }

    /// What rmcp gets to see of a message.
    fn admit(&self, message: ServerJsonRpcMessage) -> Option<ServerJsonRpcMessage> {
        match message {
            ServerJsonRpcMessage::Response(mut response) => {
                let result = self.ledger.restore(&response.id, response.result);
                self.settle(&response.id)?;
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
                other => {
                    self.ledger.hear(other);
                    None
                }
            },
            ServerJsonRpcMessage::Request(mut request) => {
                request.request = self.ledger.reword(&request.id, request.request);
                Some(ServerJsonRpcMessage::Request(request))
            }
        }
    }

    fn settle(&self, id: &RequestId) -> Option<()> {
        let settled = self.ledger.settle(id);
        if settled.is_none() {
            self.ledger.skip(SkipReason::UnknownId, id.to_string().as_bytes());
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

impl<T: Transport<RoleClient>> Transport<RoleClient> for Link<T> {
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
            let probe = self.ledger.probe();
            let message = tokio::select! {
                biased;
                () = self.ledger.over.cancelled() => return None,
                message = self.transport.receive() => message,
                id = expired(probe) => {
                    self.ledger.settle(&id);
                    return Some(self.ledger.legacy(id, "`server/discover` was not answered in time"));
                }
            };
            let Some(message) = message else {
                self.ledger.fail(Failure::Closed);
                return None;
            };
            let admitted = self.admit(message);
            // What a message says may itself be the end: an unknown revision, or one line of garbage too many.
            if self.ledger.over.is_cancelled() {
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

/// Waits for the end of a probe's time; for ever if there is no probe.
async fn expired(probe: Option<(RequestId, Instant)>) -> RequestId {
    match probe {
        Some((id, deadline)) => {
            sleep_until(deadline).await;
            id
        }
        None => std::future::pending().await,
    }
}
