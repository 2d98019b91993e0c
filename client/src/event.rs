//! What the client has to tell while it works: one [`ClientEvent`] per happening, to whoever listens.
//!
//! The channel is bounded: a listener that does not keep up loses the oldest events and learns how many.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

use crate::{
    drift::Drift,
    manager::Status,
    revision::{Era, Revision},
};

/// How many events a listener may lag behind before it loses some.
const CAPACITY: usize = 4_096;

/// Identifies one tool call of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub u64);

/// Something that happened on the connection to a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientEvent {
    /// The name of the server.
    pub server: String,
    /// What happened.
    pub what: Happening,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
#[non_exhaustive]
pub enum Happening {
    /// The server is ready.
    Connected {
        /// The revision that both speak.
        revision: Revision,
        /// Its era.
        era: Era,
        /// The transport that was chosen.
        transport: TransportKind,
        /// Why this era and this transport, in words.
        why: String,
    },
    /// A managed server is doing otherwise than before.
    Status {
        /// How it is doing now.
        status: Status,
    },
    /// The server says that its tools have changed; the catalogue is stale until it is refreshed.
    ToolsChanged,
    /// The server says that its prompts have changed, or may have said so while nobody heard it.
    PromptsChanged,
    /// The server says that its list of resources has changed, likewise.
    ResourcesChanged,
    /// The server says that a resource has changed to which this client has subscribed, likewise.
    ResourceUpdated {
        /// The resource; it may be a part of what was subscribed to.
        uri: String,
    },
    /// The server says that the user has done what there was to do at a URL.
    ElicitationCompleted {
        /// The id that it had given the visit.
        elicitation_id: String,
    },
    /// The list of tools was read again.
    Refreshed {
        /// What is different.
        drift: Drift,
    },
    /// The list of tools could not be read again; the old one stays.
    RefreshFailed {
        /// The stable name of the kind of error.
        kind: String,
        /// The error in words.
        message: String,
    },
    /// A tool of the list was left out.
    ToolRejected {
        /// The name of the tool, where it has one.
        tool: Option<String>,
        /// Why.
        reason: String,
    },
    /// A tool call was sent.
    CallStarted {
        /// The call.
        call: CallId,
        /// The tool, in the server's own name.
        tool: String,
    },
    /// A tool call came to its end.
    CallEnded {
        /// The call.
        call: CallId,
        /// `ok`, `tool-error`, or the kind of [`crate::CallError`].
        outcome: String,
        /// How long it took, in microseconds.
        took_us: u64,
    },
    /// A call reports progress.
    Progress {
        /// The call.
        call: CallId,
        /// How far.
        progress: f64,
        /// Out of how much.
        total: Option<f64>,
        /// In words.
        message: Option<String>,
    },
    /// The server logs something.
    Log {
        /// The severity, in the words of the specification.
        level: String,
        /// What it says.
        data: serde_json::Value,
    },
    /// The server sent something that is no message, or no message that belongs here; it was skipped.
    Skipped {
        /// Why.
        reason: SkipReason,
        /// Its beginning.
        excerpt: String,
    },
    /// A notification was answered with a status other than 202.
    NotificationAnswered {
        /// The status.
        status: u16,
    },
    /// The server asked to be left alone for a while; the request is sent again afterwards.
    Throttled {
        /// 429 or 503.
        status: u16,
        /// How long the server is left alone, in milliseconds.
        wait_ms: u64,
    },
    /// The server had forgotten the session, and a new one was opened in its place.
    SessionRenewed,
    /// The connection is over.
    Disconnected {
        /// Why, in words.
        reason: String,
    },
}

/// Why something that the server sent was skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SkipReason {
    /// It is not JSON.
    NotJson,
    /// It is JSON, but no JSON-RPC message.
    NotJsonRpc,
    /// It answers a request that was never made.
    UnknownId,
    /// It answers a request that was cancelled before.
    LateReply,
    /// It is longer than a message may be, and no answer to a request that is known.
    TooLong,
}

/// A way to reach a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransportKind {
    /// Standard input and output of a child process.
    Stdio,
    /// Streamable HTTP.
    StreamableHttp,
    /// HTTP+SSE of 2024-11-05.
    Sse,
}

/// Where events go. Clones share one channel, so one listener can follow several connections.
#[derive(Debug, Clone)]
pub struct EventSink {
    sender: broadcast::Sender<ClientEvent>,
}

impl Default for EventSink {
    fn default() -> Self {
        Self { sender: broadcast::Sender::new(CAPACITY) }
    }
}

impl EventSink {
    /// Everything that happens from now on.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<ClientEvent> {
        self.sender.subscribe()
    }
}

/// An [`EventSink`] that knows which server it speaks for.
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

    /// Tells the listeners, if there are any; building the event is left out where nobody listens.
    pub(crate) fn report(&self, what: impl FnOnce() -> Happening) {
        if self.sink.sender.receiver_count() > 0 {
            // An error means that the last listener went away in between, which is its right.
            let _ = self.sink.sender.send(ClientEvent { server: self.server.to_string(), what: what() });
        }
    }
}

/// The first characters of a text, without control characters, for people to read.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    const LENGTH: usize = 200;
    let end = bytes.len().min(LENGTH * 4);
    let text = String::from_utf8_lossy(&bytes[..end]);
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LENGTH).collect()
}
