//! Steps for concurrent requests, HTTP exchanges, streams and sessions of a server.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use mock_servers::HumanDuration;

use super::expect::Expect;

/// Several concurrent requests, and notifications between them.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Together {
    /// The requests.
    pub requests: Vec<ConcurrentRequest>,
    /// Whether to send them only in the newest revision of each era that the server supports [default: false].
    #[serde(default)]
    pub once: bool,
    /// Timeout for each response [default: 5s].
    #[serde(default)]
    pub within: Option<HumanDuration>,
    /// The expected outcome.
    #[serde(default)]
    pub expect: Expect,
}

/// One of several concurrent requests.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConcurrentRequest {
    /// The JSON-RPC method. `notifications/…` is sent as a notification.
    pub method: String,
    /// The parameters. `_meta` is added if the revision requires it.
    #[serde(default)]
    pub params: Option<Map<String, Value>>,
    /// The id of a request, of any type [default: the next number].
    #[serde(default)]
    pub id: Option<Value>,
    /// HTTP headers that replace those of a conforming client (Streamable HTTP only). With the session `[session 2]` the
    /// request belongs to the session that an earlier step `listen` opened, and is not sent if there is none. With `[client 2]` the
    /// request is one of the client that this step introduced, also if the server has no sessions.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

/// A stream that the client opens with GET.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Listen {
    /// The session of the stream [default: current].
    #[serde(default)]
    pub session: ListenSession,
    /// Whether to resume the first stream whose events had ids, after its first event.
    #[serde(default)]
    pub resume: bool,
    /// The expected outcome.
    #[serde(default)]
    pub expect: Expect,
}

/// The session of a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ListenSession {
    /// That of the case.
    #[default]
    Current,
    /// A new one, in which nothing else happens.
    New,
}

/// Further sessions.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sessions {
    /// Number of sessions.
    pub count: u8,
    /// The expected outcome.
    #[serde(default)]
    pub expect: Expect,
}

/// One HTTP exchange (Streamable HTTP, and GET over HTTP+SSE; skipped elsewhere).
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpStep {
    /// The HTTP method.
    pub method: String,
    /// Headers that replace those of a conforming client. An empty value removes the header.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// A JSON body.
    #[serde(default)]
    pub json: Option<Value>,
    /// A text body.
    #[serde(default)]
    pub text: Option<String>,
    /// The expected outcome.
    #[serde(default)]
    pub expect: Expect,
}
