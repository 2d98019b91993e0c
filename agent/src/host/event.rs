//! Events of a host: those of its servers, and its own decisions.

use std::sync::Weak;

use client::{ClientEvent, ClientEventKind, Status};
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio_util::sync::CancellationToken;

use super::{Host, Inner};
use crate::output::Outcome;

/// An event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostEvent {
    /// An event of a server or its connection.
    Server(ClientEvent),
    /// A call ended, or was rejected.
    Call(CallReport),
    /// An elicitation was declined by a rule, without the user.
    ElicitationDenied {
        /// The server.
        server: String,
        /// The rule.
        reason: String,
    },
    /// A server requests something from the user or the model, and [`Host::requests`] has it.
    UserRequest {
        /// The server.
        server: String,
        /// The number of the request.
        id: u64,
    },
    /// Deferred tools were loaded.
    Loaded {
        /// Their qualified names.
        tools: Vec<String>,
    },
}

/// The end of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallReport {
    /// The qualified name that was called.
    pub name: String,
    /// The server, if the name is known.
    pub server: Option<String>,
    /// `ok`, `tool-error`, or the kind of [`super::HostError`].
    pub outcome: String,
    /// Why a rejected call was not sent.
    pub reason: Option<String>,
    /// Duration in microseconds, with approval.
    pub took_us: u64,
    /// The effect of the output limits.
    pub limit: Option<Outcome>,
}

/// Reads changed lists of tools.
pub(super) async fn follow(
    inner: Weak<Inner>,
    mut events: broadcast::Receiver<ClientEvent>,
    closing: CancellationToken,
) {
    while let Some(received) = next(&mut events, &closing).await {
        let Some(inner) = inner.upgrade() else { return };
        let host = Host { inner };
        match received {
            Received::Event(event) => host.react(&event),
            // Any list may have changed.
            Received::Gap => {
                for server in host.statuses().into_keys() {
                    host.read_tools(&server);
                }
            }
        }
    }
}

/// Passes the events of servers on.
pub(super) async fn pass_on(
    host: broadcast::Sender<HostEvent>,
    mut events: broadcast::Receiver<ClientEvent>,
    closing: CancellationToken,
) {
    while let Some(received) = next(&mut events, &closing).await {
        if let Received::Event(event) = received {
            // An error means that all receivers were dropped.
            drop(host.send(HostEvent::Server(event)));
        }
    }
}

/// What a task received.
enum Received {
    Event(ClientEvent),
    /// Events were lost, because the task lagged.
    Gap,
}

/// Waits for an event until the host closes. Events that wait already come first.
async fn next(events: &mut broadcast::Receiver<ClientEvent>, closing: &CancellationToken) -> Option<Received> {
    let received = tokio::select! {
        biased;
        received = events.recv() => received,
        () = closing.cancelled() => return None,
    };
    match received {
        Ok(event) => Some(Received::Event(event)),
        Err(RecvError::Lagged(_)) => Some(Received::Gap),
        Err(RecvError::Closed) => None,
    }
}

impl Host {
    fn react(&self, event: &ClientEvent) {
        // The first read is under way when the server connects. A server without one is not asked for its tools.
        let is_changed = match &event.kind {
            ClientEventKind::Refreshed { drift } => !drift.is_empty(),
            ClientEventKind::Status { status } => *status == Status::Connected,
            _ => false,
        };
        if is_changed && self.has_read_tools(&event.server) {
            self.read_tools(&event.server);
        }
    }
}
