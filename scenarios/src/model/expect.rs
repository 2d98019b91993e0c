//! What must come of a step, and of a whole case. Judged in `crate::judge`.

use std::collections::BTreeMap;

use mock_servers::HumanDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What must come of a step. With nothing said of an error, the step must succeed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Expect {
    /// The text of the result's text blocks, joined by line feeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The step must fail, with an error of this kind (`timed-out`), or of one of several kinds joined by `|`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The error's JSON-RPC code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<i64>,
    /// Whether a failure is as good as success: what matters is told elsewhere.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub either: bool,
    /// What the error's message must contain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The step must end within this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<HumanDuration>,
    /// The step must not end before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_before: Option<HumanDuration>,
    /// What the value must hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<ValueExpectation>,
}

impl Expect {
    /// Whether nothing is said, so that the step must just succeed.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What a place in a value must hold. Exactly one of the fields beside `path` is given.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct ValueExpectation {
    /// A JSONPath (RFC 9535) into the step's value.
    pub path: String,
    /// It selects one node, equal to this. In a string, `{{revision}}` and `{{transport}}` stand for those of the case
    /// (in the expectations of steps).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equals: Option<Value>,
    /// It selects so many nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<usize>,
    /// It selects one string that contains this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// Each node that it selects is a string that matches this regular expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matches: Option<String>,
    /// No two of the nodes that it selects are equal (true), and there is at least one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unique: Option<bool>,
    /// It selects at least one node (true), or none (false).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exists: Option<bool>,
    /// The nodes that it selects are these, in whatever order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<Vec<Value>>,
}

/// What must be seen in the whole case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Expectations {
    /// Frames on the wire.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<FrameExpectation>,
    /// Processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<ProcessExpectation>,
    /// The whole case must end within this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<HumanDuration>,
    /// What the client must have noticed at least once, without being asked to wait for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<EventKind>,
}

/// An event that a client can report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// The server announced a change of its tools.
    ToolsChanged,
    /// The connection was closed.
    Disconnected,
    /// A call made progress.
    Progress,
    /// Bytes that are not a message arrived.
    Garbage,
}

/// Frames that must, or must not, have crossed the wire. Every field given must hold of a frame for it to count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct FrameExpectation {
    /// Who sent them.
    pub from: Sender,
    /// The JSON-RPC method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The tool of a `tools/call`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// With which server; absent: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What the message must hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<ValueExpectation>,
    /// What its HTTP envelope must be. Frames without a message count too where this is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpExpectation>,
    /// Just so many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<usize>,
    /// At least so many; 1 if neither `count` nor `at_most` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<usize>,
    /// At most so many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<usize>,
}

/// What the HTTP envelope of a frame must be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HttpExpectation {
    /// The request's method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The status of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Headers that are there, by their names in lower case, and the regular expressions that their values match. Secret
    /// values were scrubbed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

/// One end of the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sender {
    /// The client.
    Client,
    /// The server.
    Server,
}

/// What must be true of the processes of a case. That none is left behind is always checked; see the check
/// `no-process-left`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct ProcessExpectation {
    /// At least so many processes of servers were started, as the mock servers recorded themselves: proof that the case
    /// had something to lose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<usize>,
    /// How long after the client's end, or its death, the last of them may live; absent: 500 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone_within: Option<HumanDuration>,
    /// How long after a `disconnect` step began the last process below the client may live.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone_after_disconnect: Option<HumanDuration>,
}
