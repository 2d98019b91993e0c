//! When a script departs from the default behaviour.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Action;
use crate::one_or_many;

/// What to do when a certain message arrives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Which messages the rule is for.
    pub when: When,
    /// What to do, in this order. Where nothing in it ends the matter (a reply, an error, a silence, an exit), the
    /// default answer follows.
    #[serde(rename = "do", with = "one_or_many")]
    #[schemars(with = "one_or_many::OneOrManySchema<Action>")]
    pub actions: Vec<Action>,
}

/// Which messages a rule is for. Every field given must hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct When {
    /// The JSON-RPC method, exactly. Over HTTP also `GET` (the client opens a stream) and, over Streamable HTTP, `DELETE`
    /// (it ends its session).
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
    /// The revisions in which the message is spoken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revisions: Option<Vec<String>>,
    /// Only the n-th message that the other fields match, counted from 1 for the life of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nth: Option<u64>,
    /// Only the n-th such message and those after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_nth: Option<u64>,
    /// Arguments that a `tools/call` or a `prompts/get` must carry, among others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// The cursor that a list request must carry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Only the n-th session that a client opens, counted from 1: over HTTP the n-th `initialize`, over HTTP+SSE the n-th
    /// stream. Over stdio there is one alone, in 2026-07-28 over HTTP there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<u64>,
    /// Only the n-th run of the server's process (over stdio), counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<u64>,
}

impl When {
    /// Whether the n-th message that the other fields match is one that is meant.
    pub(crate) fn counts(&self, nth: u64) -> bool {
        self.nth.is_none_or(|wanted| wanted == nth) && self.from_nth.is_none_or(|first| first <= nth)
    }
}
