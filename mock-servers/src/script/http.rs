//! Behavior over Streamable HTTP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::human_duration::HumanDuration;

/// Behavior over Streamable HTTP where the specification allows a choice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct HttpScript {
    /// The form of responses [default: `auto`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub respond: Option<Respond>,
    /// Whether streams can be resumed, in 2025-03-26 to 2025-11-25: events have ids, and a GET with `Last-Event-ID`
    /// gets the events after it, up to a limit [default: true].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumable: Option<bool>,
    /// The `retry` at the beginning of each stream of 2025-11-25, the wait of a client before it reconnects [default:
    /// none is sent].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<HumanDuration>,
    /// Whether the handshake revisions have no sessions: no session id is sent or required, and GET and DELETE are not
    /// allowed. All clients of a revision share one state.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stateless: bool,
}

impl HttpScript {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The form of a response over Streamable HTTP. An error with its own HTTP status is always one JSON object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Respond {
    /// One JSON object if the response is the only message, an event stream if another message precedes it.
    #[default]
    Auto,
    /// One JSON object. Other messages are sent on the client's GET stream, and are lost in 2026-07-28, which has none.
    Json,
    /// An event stream that is opened at once.
    Sse,
}

/// Closes a connection without ending its stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct CloseStream {
    /// The wait of the client before it reconnects with `Last-Event-ID` [default: none is sent].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<HumanDuration>,
}
