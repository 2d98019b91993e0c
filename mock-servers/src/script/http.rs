//! Behavior over Streamable HTTP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::human_duration::HumanDuration;

/// Behavior over Streamable HTTP and HTTP+SSE where the specification allows a choice.
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
    /// Whether a lost connection cancels its request in the handshake revisions too, although "disconnection SHOULD NOT be
    /// interpreted as the client cancelling its request" (2025-11-25, basic/transports). In 2026-07-28 it always does.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cancel_on_disconnect: bool,
    /// Whether event streams stay open after their response.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub keep_streams_open: bool,
    /// The form of the URI for messages over HTTP+SSE [default: `path`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<EndpointForm>,
    /// The handling of invalid HTTP requests [default: rejected as the specification requires].
    #[serde(skip_serializing_if = "Validation::is_default")]
    pub validation: Validation,
}

/// The handling of invalid HTTP requests. Each key is one kind of invalid request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Validation {
    /// An `Origin` or `Host` header that is not allowed [default: rejected with 403].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<InvalidRequest>,
    /// An `Accept` header without the necessary types [default: rejected with 406].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept: Option<InvalidRequest>,
    /// A `Content-Type` other than JSON [default: rejected with 415].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<InvalidRequest>,
    /// A request without a session id [default: rejected with 400]. If skipped, the newest session is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing_session: Option<InvalidRequest>,
    /// An unknown session id [default: rejected with 404]. If skipped, the newest session is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown_session: Option<InvalidRequest>,
    /// An unsupported `MCP-Protocol-Version` up to 2025-11-25 [default: rejected with 400].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision_header: Option<InvalidRequest>,
    /// Headers of 2026-07-28 that are missing or contradict the body [default: rejected with 400].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_headers: Option<InvalidRequest>,
    /// An integer of 2026-07-28 in a parameter header with another spelling than in the body, such as `42.0` [default:
    /// accepted].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub integer_spelling: Option<InvalidRequest>,
    /// A method that the endpoint does not support [default: rejected with 405]. If skipped, it gets 204.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub methods: Option<InvalidRequest>,
}

impl Validation {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The handling of one kind of invalid HTTP request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InvalidRequest {
    /// The request is handled as a valid one.
    Skip,
    /// The request is rejected with this HTTP status.
    Status(u16),
}

impl InvalidRequest {
    /// The status of a request that is rejected with `default` unless the script decides otherwise; `None` if it is not
    /// rejected.
    pub(crate) fn status(handling: Option<Self>, default: u16) -> Option<u16> {
        match handling {
            None => Some(default),
            Some(Self::Skip) => None,
            Some(Self::Status(status)) => Some(status),
        }
    }
}

impl HttpScript {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The form of the URI for messages over HTTP+SSE (RFC 3986 section 4).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EndpointForm {
    /// A path: `/messages`.
    #[default]
    Path,
    /// Relative to the URL of the stream: `messages`.
    Relative,
    /// With scheme and host, as the `Host` header has it: `http://127.0.0.1:8080/messages`.
    Uri,
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
