//! Expectations of steps and of whole cases. `crate::judge` evaluates them.

use std::collections::BTreeMap;

use mock_servers::HumanDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ByteSize, Revision};

/// The expected outcome of a step. Without `error` and `either`, the step must succeed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Expect {
    /// The text of the result's text blocks, joined by line feeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The kind of the expected error (`timed-out`), or several kinds joined by `|`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The index of an earlier step, which may fail. If it succeeds, this step may succeed too: the client does not check what
    /// both steps are about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_failed: Option<usize>,
    /// The JSON-RPC code of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<i64>,
    /// Whether the step may succeed or fail. If it succeeds, `text` and `values` hold.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub either: bool,
    /// Text in the message of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The step must end within this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<HumanDuration>,
    /// The step must not end before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_before: Option<HumanDuration>,
    /// Expectations on the value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<ValueExpectation>,
}

impl Expect {
    /// Whether the step must only succeed.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// An expectation on a part of a value. It has `path` and exactly one other key.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct ValueExpectation {
    /// The JSONPath (RFC 9535) of the part.
    pub path: String,
    /// The path selects one node, equal to this value. In expectations of steps, `{{revision}}` and `{{transport}}` in a
    /// string are replaced by those of the case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equals: Option<Value>,
    /// The path selects this number of nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<usize>,
    /// The path selects one string that contains this text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// The path selects at least one node, and all are strings that match this regular expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matches: Option<String>,
    /// The path selects at least one node, and all are different. Must be `true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unique: Option<bool>,
    /// The path selects at least one node (`true`) or none (`false`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exists: Option<bool>,
    /// The path selects exactly these nodes, in any order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<Vec<Value>>,
}

/// Expectations on a whole case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Expectations {
    /// Recorded frames.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<FrameExpectation>,
    /// Processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<ProcessExpectation>,
    /// Memory and CPU time of the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageExpectation>,
    /// The whole case must end within this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<HumanDuration>,
    /// Events that the client must report at least once, without an `await` step.
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
    /// The server announced a change of its resources.
    ResourcesChanged,
    /// The server announced a change of its prompts.
    PromptsChanged,
    /// A subscribed resource changed. Detail: `{ uri }`.
    ResourceUpdated,
    /// The server sent a log message. Detail: `{ level, data }`.
    Log,
}

/// The expected number of certain frames. A frame is counted if it matches all given keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct FrameExpectation {
    /// The sender.
    pub from: Sender,
    /// The JSON-RPC method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The tool of a `tools/call`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The server [default: any].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Expectations on the message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<ValueExpectation>,
    /// The expected HTTP envelope. With this key, frames without a message are counted too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpExpectation>,
    /// The exact number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<usize>,
    /// Minimum number [default: 1 without `count` and `at_most`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<usize>,
    /// Maximum number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<usize>,
    /// The latest revision for which it is judged [default: every one].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Revision>,
}

/// The expected HTTP envelope of a frame.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HttpExpectation {
    /// The method of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The status of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Required headers: lower-case names, with regular expressions that match the values. Secret values are redacted.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

/// The sender of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sender {
    /// The client.
    Client,
    /// The server.
    Server,
}

/// Expectations on the processes of a case, in addition to the check `no-process-left`, which always applies.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct ProcessExpectation {
    /// Minimum number of started server processes, as recorded by the mock servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<usize>,
    /// Maximum lifetime of processes after the client exited or was killed [default: 500ms].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone_within: Option<HumanDuration>,
    /// Maximum lifetime of processes after the start of a `disconnect` step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone_after_disconnect: Option<HumanDuration>,
}

/// Limits of what a client uses, with the processes below it and without the mock servers. It is sampled 40 times a second on
/// Linux; other systems skip it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct UsageExpectation {
    /// Maximum memory in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<ByteSize>,
    /// Maximum CPU time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<HumanDuration>,
}
