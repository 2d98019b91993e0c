//! The connection to a master: one ZeroMQ socket, which is replaced when the connection is lost.

use std::time::Duration;

use futures::{StreamExt as _, channel::mpsc};
use tokio::time::timeout;
use zeromq::{DealerSocket, Socket as _, SocketEvent, SocketOptions, SocketRecv as _, SocketSend as _, ZmqMessage};

use super::message::{FromMaster, ToMaster};

/// Timeout of one attempt to connect. The socket itself retries a refused connection within it.
const CONNECT: Duration = Duration::from_secs(2);

/// Timeout of queueing a message. The queue is full if the master reads nothing.
const SEND: Duration = Duration::from_secs(5);

/// Maximum length of the name of this machine in a node id. An identity has at most 255 bytes.
const MAX_HOST: usize = 100;

/// A connection.
pub(super) struct Link {
    socket: DealerSocket,
    events: mpsc::Receiver<SocketEvent>,
    node_id: String,
}

/// The connection does not work.
#[derive(Debug, thiserror::Error)]
#[error("the connection to the master was lost: {0}")]
pub(super) struct Lost(pub(super) String);

impl Link {
    /// Connects with a new identity, which is also the node id: the master sends to identities, and drops a second
    /// connection with one that it still has.
    pub(super) async fn connect(master: &str) -> Result<Self, Lost> {
        let node_id = node_id();
        let mut options = SocketOptions::default();
        options.peer_identity(node_id.parse().map_err(lost)?);
        options.connect_timeout(CONNECT);
        let mut socket = DealerSocket::with_options(options);
        let events = socket.monitor();
        socket.connect(&format!("tcp://{master}")).await.map_err(lost)?;
        Ok(Self { socket, events, node_id })
    }

    /// The id of this worker.
    pub(super) fn node_id(&self) -> &str {
        &self.node_id
    }

    /// Queues a message.
    pub(super) async fn send(&mut self, message: &ToMaster) -> Result<(), Lost> {
        tracing::trace!(kind = message.kind(), "to the master");
        let frame = ZmqMessage::from(message.encode(&self.node_id));
        match timeout(SEND, self.socket.send(frame)).await {
            Ok(sent) => sent.map_err(lost),
            Err(_) => Err(Lost("the master reads nothing".to_owned())),
        }
    }

    /// Waits for the next message. Invalid ones are ignored. Can be cancelled without losing a message.
    pub(super) async fn receive(&mut self) -> Result<FromMaster, Lost> {
        loop {
            tokio::select! {
                received = self.socket.recv() => {
                    // Locust sends one frame, without a delimiter.
                    let message = received.map_err(lost)?;
                    match message.get(0).map(|frame| FromMaster::decode(frame)) {
                        Some(Ok(message)) => return Ok(message),
                        Some(Err(cause)) => tracing::warn!(%cause, "ignored an invalid message of the master"),
                        None => {}
                    }
                }
                // The socket itself would wait forever: it does not connect again.
                event = self.events.next() => match event {
                    Some(SocketEvent::Disconnected(_) | SocketEvent::Closed) | None => {
                        return Err(Lost("it was closed".to_owned()));
                    }
                    Some(_) => {}
                },
            }
        }
    }
}

fn lost(cause: impl std::fmt::Display) -> Lost {
    Lost(cause.to_string())
}

/// An id that no other worker has: the name of this machine and 32 random digits.
fn node_id() -> String {
    // The name is for the list of workers; the digits make it unique. Only Linux has this file.
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host: String = host.chars().filter(char::is_ascii_graphic).take(MAX_HOST).collect();
    format!("{host}_{:032x}", rand::random::<u128>())
}
