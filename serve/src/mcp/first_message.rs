//! Filters messages on a pair of streams until the first request determines the era.
//!
//! Before that request, rmcp closes the connection at any notification, and responds to a `ping` of 2026-07-28, a revision
//! without `ping`. This filter skips notifications and unexpected responses, and rejects such a `ping`.

use rmcp::{
    ErrorData, RoleServer,
    model::{ClientJsonRpcMessage, ClientRequest, GetMeta as _, PingRequestMethod, RequestId, ServerJsonRpcMessage},
    transport::{Transport, async_rw::AsyncRwTransport},
};
use tokio::io::{AsyncRead, AsyncWrite};

/// A pair of streams with filtered first messages.
pub(super) struct FirstMessageFilter<R: AsyncRead, W: AsyncWrite> {
    streams: AsyncRwTransport<RoleServer, R, W>,
    /// Whether a request has determined the era; later messages are not filtered.
    settled: bool,
}

/// What to do with a message before the era is known.
enum Action {
    /// Pass it to rmcp; it may determine the era.
    Pass { settles: bool },
    /// Skip it.
    Skip,
    /// Reject it: a `ping` in a revision without one.
    RejectPing(RequestId),
}

impl<R, W> FirstMessageFilter<R, W>
where
    R: Send + AsyncRead + Unpin,
    W: Send + AsyncWrite + Unpin + 'static,
{
    pub(super) fn new(reader: R, writer: W) -> Self {
        Self { streams: AsyncRwTransport::new_server(reader, writer), settled: false }
    }
}

fn action(message: &ClientJsonRpcMessage) -> Action {
    match message {
        ClientJsonRpcMessage::Request(request) => match &request.request {
            ClientRequest::PingRequest(_) => {
                let version = request.request.get_meta().protocol_version();
                if version.is_some_and(|version| !version.has_initialize()) {
                    Action::RejectPing(request.id.clone())
                } else {
                    Action::Pass { settles: false }
                }
            }
            ClientRequest::InitializeRequest(_) => Action::Pass { settles: true },
            ClientRequest::DiscoverRequest(_) => Action::Pass { settles: false },
            // rmcp rejects a request without metadata, and waits for the next one.
            request => Action::Pass { settles: request.get_meta().protocol_version().is_some() },
        },
        _ => Action::Skip,
    }
}

impl<R, W> Transport<RoleServer> for FirstMessageFilter<R, W>
where
    R: Send + AsyncRead + Unpin,
    W: Send + AsyncWrite + Unpin + 'static,
{
    type Error = std::io::Error;

    fn send(&mut self, item: ServerJsonRpcMessage) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.streams.send(item)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let message = self.streams.receive().await?;
            if self.settled {
                return Some(message);
            }
            match action(&message) {
                Action::Pass { settles } => {
                    self.settled = settles;
                    return Some(message);
                }
                Action::Skip => tracing::debug!(?message, "skipped before the era is known"),
                Action::RejectPing(id) => {
                    let error = ErrorData::method_not_found::<PingRequestMethod>();
                    // If sending fails, the streams are closed, which the next read reports.
                    let _ = self.streams.send(ServerJsonRpcMessage::error(error, Some(id))).await;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.streams.close().await
    }
}
