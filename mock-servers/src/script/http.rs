//! How a server behaves over Streamable HTTP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::human_duration::HumanDuration;

/// How a server behaves over Streamable HTTP, where the protocol leaves it the choice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct HttpScript {
    /// How requests are answered; `auto` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub respond: Option<Respond>,
    /// Whether streams can be resumed, in 2025-03-26 to 2025-11-25: events carry ids, and a GET with `Last-Event-ID` gets
    /// what came after, up to a bound. Absent: they can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumable: Option<bool>,
    /// The `retry` to send at the beginning of each stream of 2025-11-25: how long a client is to wait before it comes
    /// back. Absent: none is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<HumanDuration>,
    /// Whether the handshake revisions do without sessions: no id is given out, none is asked for, and GET and DELETE are
    /// not allowed. What would be remembered of a session is then remembered for all clients of a revision together.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stateless: bool,
}

impl HttpScript {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How a request is answered over Streamable HTTP. An error that has an HTTP status of its own is always one JSON
/// object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Respond {
    /// With one JSON object where the answer is all that is said, and with a stream of events as soon as something else
    /// comes first.
    #[default]
    Auto,
    /// With one JSON object. What else is said goes out on a stream that the client has opened with GET, and is lost in
    /// 2026-07-28, which has none.
    Json,
    /// With a stream of events, opened at once.
    Sse,
}

/// The end of a connection, and not of the stream that it carried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct CloseStream {
    /// How long the client is to wait before it comes back with `Last-Event-ID`. Absent: it is not told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<HumanDuration>,
}
