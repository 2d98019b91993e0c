//! Events of connections and managed servers.
//!
//! The channel is bounded. A receiver that lags loses the oldest events and learns how many.

use std::sync::{Arc, OnceLock};

use evidence::Transport;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

use crate::{
    drift::Drift,
    manager::Status,
    revision::{Era, Revision},
};

/// Number of events that a receiver may lag behind.
const CAPACITY: usize = 4_096;

/// Identifies one tool call of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub u64);

/// An event of one server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientEvent {
    /// The name of the server.
    pub server: String,
    /// The event.
    pub kind: ClientEventKind,
}

/// The events of a connection or a managed server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
#[non_exhaustive]
pub enum ClientEventKind {
    /// The server is ready.
    Connected {
        /// The negotiated revision.
        revision: Revision,
        /// The era of the revision.
        era: Era,
        /// The selected transport.
        transport: Transport,
        /// The reason for this era and this transport.
        why: String,
    },
    /// The status of a managed server changed.
    Status {
        /// The new status.
        status: Status,
    },
    /// The server announced that its tools changed. The list is stale until it is refreshed.
    ToolsChanged,
    /// The server announced that its prompts changed. Also reported after a gap in which an announcement may have been
    /// lost.
    PromptsChanged,
    /// The server announced that its resources changed. Also reported after such a gap.
    ResourcesChanged,
    /// The server announced that a subscribed resource changed. Also reported after such a gap.
    ResourceUpdated {
        /// The resource, which may be a part of the subscribed one.
        uri: String,
    },
    /// The server reported that an elicitation in URL mode is complete.
    ElicitationCompleted {
        /// The id from the elicitation request.
        elicitation_id: String,
    },
    /// The list of tools was read again.
    Refreshed {
        /// The differences.
        drift: Drift,
    },
    /// The list of tools could not be read again. The old list remains valid.
    RefreshFailed {
        /// The stable kind of the error.
        kind: String,
        /// The error message.
        message: String,
    },
    /// A tool was omitted from the list because it is invalid.
    ToolRejected {
        /// The name, if the tool has one.
        tool: Option<String>,
        /// The reason.
        reason: String,
    },
    /// A tool call was sent.
    CallStarted {
        /// The call.
        call: CallId,
        /// The tool, by the server's own name.
        tool: String,
    },
    /// A tool call ended.
    CallEnded {
        /// The call.
        call: CallId,
        /// `ok`, `tool-error`, or the kind of [`crate::CallError`].
        outcome: String,
        /// Duration in microseconds.
        took_us: u64,
    },
    /// Progress of a tool call.
    Progress {
        /// The call.
        call: CallId,
        /// The value of `progress`.
        progress: f64,
        /// The value of `total`.
        total: Option<f64>,
        /// The value of `message`.
        message: Option<String>,
    },
    /// A log message of the server.
    Log {
        /// The severity, as in the specification.
        level: String,
        /// The logged data.
        data: serde_json::Value,
    },
    /// The server sent an invalid or unexpected message, which was skipped.
    Skipped {
        /// The reason.
        reason: SkipReason,
        /// The beginning of the message.
        excerpt: String,
    },
    /// The HTTP status of the response to a notification was not 202.
    NotificationAnswered {
        /// The status.
        status: u16,
    },
    /// The server limited the rate of requests. The request is sent again after the delay.
    Throttled {
        /// 429 or 503.
        status: u16,
        /// The delay in milliseconds.
        wait_ms: u64,
    },
    /// The session had expired, and a new one was opened.
    SessionRenewed,
    /// The connection ended.
    Disconnected {
        /// The reason.
        reason: String,
    },
}

/// The reason for skipping a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SkipReason {
    /// It is not JSON.
    NotJson,
    /// It is JSON, but not a JSON-RPC message.
    NotJsonRpc,
    /// It responds to a request that was never sent.
    UnknownId,
    /// It responds to a cancelled request.
    LateReply,
    /// It exceeds the size limit, and responds to no pending request.
    TooLong,
}

/// The channels for events. Clones share them, so that one receiver can follow several connections.
///
/// A channel exists once something receives from it: its thousands of slots would be a large part of the time of a connection.
#[derive(Debug, Clone, Default)]
pub struct EventSink(Arc<Channels>);

#[derive(Debug, Default)]
struct Channels {
    all: OnceLock<broadcast::Sender<ClientEvent>>,
    lists: OnceLock<broadcast::Sender<ClientEvent>>,
}

impl EventSink {
    /// Receives all events from now on.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<ClientEvent> {
        subscribe(&self.0.all)
    }

    /// Receives the events after which a list may be another one: of tools [`ClientEventKind::Status`] and
    /// [`ClientEventKind::Refreshed`], of resources and prompts [`ClientEventKind::ResourcesChanged`],
    /// [`ClientEventKind::PromptsChanged`] and [`ClientEventKind::Disconnected`]. Calls do not wake the receiver, and cost
    /// no event.
    #[must_use]
    pub fn subscribe_to_lists(&self) -> broadcast::Receiver<ClientEvent> {
        subscribe(&self.0.lists)
    }
}

fn subscribe(channel: &OnceLock<broadcast::Sender<ClientEvent>>) -> broadcast::Receiver<ClientEvent> {
    channel.get_or_init(|| broadcast::Sender::new(CAPACITY)).subscribe()
}

/// The channel, if something receives from it.
fn received(channel: &OnceLock<broadcast::Sender<ClientEvent>>) -> Option<&broadcast::Sender<ClientEvent>> {
    channel.get().filter(|sender| sender.receiver_count() > 0)
}

/// An [`EventSink`] with the name of a server.
#[derive(Debug, Clone)]
pub(crate) struct Reporter {
    server: Arc<str>,
    sink: EventSink,
}

impl Reporter {
    pub(crate) fn new(server: &str, sink: EventSink) -> Self {
        Self { server: server.into(), sink }
    }

    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    pub(crate) fn sink(&self) -> &EventSink {
        &self.sink
    }

    /// Sends an event. The closure is only called for a receiver, and each call has events.
    pub(crate) fn report(&self, kind: impl FnOnce() -> ClientEventKind) {
        if let Some(all) = received(&self.sink.0.all) {
            // An error means that the last receiver was dropped in between.
            let _ = all.send(self.event(kind()));
        }
    }

    /// Sends an event after which a list may be another one, also to those that receive only these
    /// ([`EventSink::subscribe_to_lists`]).
    pub(crate) fn report_of_lists(&self, kind: ClientEventKind) {
        if let Some(lists) = received(&self.sink.0.lists) {
            let _ = lists.send(self.event(kind.clone()));
        }
        self.report(|| kind);
    }

    fn event(&self, kind: ClientEventKind) -> ClientEvent {
        ClientEvent { server: self.server.to_string(), kind }
    }
}

/// The beginning of a message for logs, without control characters.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    const LENGTH: usize = 200;
    let end = bytes.len().min(LENGTH * 4);
    let text = String::from_utf8_lossy(&bytes[..end]);
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LENGTH).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_of_list_events_costs_calls_nothing_and_misses_no_change() {
        let sink = EventSink::default();
        let reporter = Reporter::new("one", sink.clone());
        let mut lists = sink.subscribe_to_lists();
        reporter.report(|| unreachable!("nothing receives events of calls"));
        reporter.report_of_lists(ClientEventKind::PromptsChanged);
        let mut all = sink.subscribe();
        reporter.report_of_lists(ClientEventKind::ResourcesChanged);
        reporter.report(|| ClientEventKind::SessionRenewed);

        let kinds = |receiver: &mut broadcast::Receiver<ClientEvent>| {
            std::iter::from_fn(|| receiver.try_recv().ok()).map(|event| event.kind).collect::<Vec<_>>()
        };
        assert_eq!(kinds(&mut lists), [ClientEventKind::PromptsChanged, ClientEventKind::ResourcesChanged]);
        assert_eq!(kinds(&mut all), [ClientEventKind::ResourcesChanged, ClientEventKind::SessionRenewed]);
    }
}
