//! Rules of a script.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Action;
use crate::one_or_many;

/// Actions for certain messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The messages of the rule.
    pub when: When,
    /// The actions, in this order. If none of them ends the request (a reply, an error, a silence, an exit), the
    /// default response follows.
    #[serde(rename = "do", with = "one_or_many")]
    #[schemars(with = "one_or_many::OneOrManySchema<Action>")]
    pub actions: Vec<Action>,
}

/// A condition for messages. All given fields must match.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct When {
    /// The JSON-RPC method, exactly. Over HTTP also `GET` (the client opens a stream) and, over Streamable HTTP,
    /// `DELETE` (it ends its session). `invalid-json` is text that is not JSON, and `invalid-message` is JSON that is not
    /// a JSON-RPC message. `response` is a response of the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The tool of a `tools/call`, exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The prompt of a `prompts/get`, exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The resource of a `resources/read`, `resources/subscribe` or `resources/unsubscribe`, exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// The revisions of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revisions: Option<Vec<String>>,
    /// Only the n-th message that the other fields match, counted from 1 since the start of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nth: Option<u64>,
    /// Only the n-th such message and those after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_nth: Option<u64>,
    /// Arguments of a `tools/call` or a `prompts/get`; further ones are allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// The cursor of a list request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Whether the `GET` has `Last-Event-ID`: the client resumes a stream instead of opening a further one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumed: Option<bool>,
    /// Only the n-th session of the server, counted from 1: over HTTP the n-th `initialize`, over HTTP+SSE the n-th
    /// stream. Over stdio there is only one, and 2026-07-28 over HTTP has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<u64>,
    /// Only the n-th run of the server's process (over stdio), counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<u64>,
}

impl When {
    /// Whether the counters include the n-th message that the other fields match.
    pub(crate) fn counts(&self, nth: u64) -> bool {
        self.nth.is_none_or(|wanted| wanted == nth) && self.from_nth.is_none_or(|first| first <= nth)
    }
}
