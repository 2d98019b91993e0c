//! The beginning of a conversation over streams, before rmcp knows which era it is of.
//!
//! There rmcp ends the conversation at any notification, and answers a `ping` of 2026-07-28, a revision that has none. Here
//! notifications and answers that nobody asked for are passed over until the first request that settles the era, and such a
//! `ping` is refused.

use rmcp::{
    ErrorData, RoleServer,
    model::{ClientJsonRpcMessage, ClientRequest, GetMeta as _, PingRequestMethod, RequestId, ServerJsonRpcMessage},
    transport::{Transport, async_rw::AsyncRwTransport},
};
use tokio::io::{AsyncRead, AsyncWrite};

/// A pair of streams whose beginning is watched over.
pub(super) struct Opening<R: AsyncRead, W: AsyncWrite> {
    streams: AsyncRwTransport<RoleServer, R, W>,
    /// Whether a request has settled the era: from then on all goes through.
    settled: bool,
}

/// What becomes of a message at the beginning.
enum Fate {
    /// It goes on to rmcp, and may settle the era.
    Goes { settles: bool },
    /// It is passed over.
    PassedOver,
    /// It is a `ping` in a revision without one.
    NoSuchPing(RequestId),
}

impl<R, W> Opening<R, W>
where
    R: Send + AsyncRead + Unpin,
    W: Send + AsyncWrite + Unpin + 'static,
{
    pub(super) fn new(reader: R, writer: W) -> Self {
        Self { streams: AsyncRwTransport::new_server(reader, writer), settled: false }
    }
}

fn fate(message: &ClientJsonRpcMessage) -> Fate {
    match message {
        ClientJsonRpcMessage::Request(request) => match &request.request {
            ClientRequest::PingRequest(_) => {
                let version = request.request.get_meta().protocol_version();
                if version.is_some_and(|version| !version.has_initialize()) {
                    Fate::NoSuchPing(request.id.clone())
                } else {
                    Fate::Goes { settles: false }
                }
            }
            ClientRequest::InitializeRequest(_) => Fate::Goes { settles: true },
            ClientRequest::DiscoverRequest(_) => Fate::Goes { settles: false },
            // Without its metadata rmcp refuses it, and goes on waiting for what settles the era.
            request => Fate::Goes { settles: request.get_meta().protocol_version().is_some() },
        },
        _ => Fate::PassedOver,
    }
}

impl<R, W> Transport<RoleServer> for Opening<R, W>
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
            match fate(&message) {
                Fate::Goes { settles } => {
                    self.settled = settles;
                    return Some(message);
                }
                Fate::PassedOver => tracing::debug!(?message, "passed over before the era is settled"),
                Fate::NoSuchPing(id) => {
                    let error = ErrorData::method_not_found::<PingRequestMethod>();
                    // If it cannot be sent, the streams are closed, and the next message says so.
                    let _ = self.streams.send(ServerJsonRpcMessage::error(error, Some(id))).await;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.streams.close().await
    }
}
