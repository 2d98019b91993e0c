//! What a script does about a message.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Ask, CloseStream, Fault, Respond, TaskTimes, Tool};
use crate::period::Period;

/// One thing that a mock server does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Answer as if there were no rule.
    Default,
    /// Answer with this result.
    Reply(Reply),
    /// Answer with this JSON-RPC error.
    Error(RpcError),
    /// Send a notification.
    Notify(Notify),
    /// Send `notifications/progress` for the request's progress token; nothing if the request carries none.
    Progress(Progress),
    /// Ask the client, and go on with the next action once it has answered. Up to 2025-11-25 this is a request of the
    /// server's own; in 2026-07-28 it is an `input_required` result, and the client's retry goes on.
    Request(Notify),
    /// Ask the client several things at once, and go on once all of them are answered.
    Ask(Ask),
    /// Refuse the request unless the client declares these capabilities: with -32021 in 2026-07-28, with -32602 before.
    Require(Map<String, Value>),
    /// Go on as a task, for a client that can do with one: the call is answered with the task's handle now, and what is
    /// left to do is done in its name. Without this, a tool whose calls are tasks begins with it.
    Task(TaskTimes),
    /// Give the task another status message; nothing in a call that is no task.
    TaskStatus(String),
    /// Send several notifications as one JSON-RPC batch.
    Batch(Batch),
    /// Change the tools on offer.
    Change(Change),
    /// Switch standing faults on or off.
    Switch(Switch),
    /// Answer in this way over Streamable HTTP, instead of the script's `http.respond`; nothing elsewhere.
    Respond(Respond),
    /// Close the connection that carries the answer, over Streamable HTTP up to 2025-11-25, and go on when the client
    /// comes back for the rest; nothing elsewhere. A stream that cannot be resumed ends.
    CloseStream(CloseStream),
    /// Do something that a good server would not do.
    Fault(Fault),
}

/// The result of a request. Strings may hold `{{arguments.text}}`, `{{id}}`, `{{method}}`, `{{nth}}`,
/// `{{params.some.path}}`: filled from the request, `{{response.some.path}}`: from the client's answer to the last
/// `request` action, and `{{responses.key.some.path}}`: from its answers to `ask` actions. A string that is one such placeholder and nothing else becomes the value itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Reply {
    /// One block of text, for a tool call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// `structuredContent`, for a tool call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// `isError`, for a tool call.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// The whole result, word for word, instead of the fields above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Fields laid over the result that the server would give by default: `{ nextCursor: same }`, say. A null takes
    /// the field away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<Map<String, Value>>,
}

/// A JSON-RPC error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RpcError {
    /// The code.
    pub code: i64,
    /// The message.
    pub message: String,
    /// More, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// A notification, or a request, that the server sends of its own accord.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Notify {
    /// The JSON-RPC method.
    pub method: String,
    /// The parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Value>,
}

/// Messages that are sent as one JSON-RPC batch, which only 2025-03-26 allows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// The notifications in it.
    pub notify: Vec<Notify>,
    /// Whether the request's answer is the last message in it.
    #[serde(default)]
    pub answer: bool,
}

/// The progress of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// How far.
    pub progress: f64,
    /// Out of how much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// In words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// How many such notifications, counting up from `progress` by one; 1 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// How long to wait before each of them; not at all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Period>,
}

/// The standing faults of a name, on or off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// The name of the faults.
    pub fault: String,
    /// Whether they are on from now on.
    pub enabled: bool,
}

/// A change of the tools on offer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Change {
    /// Tools to add at the end, or to put in the place of those of the same name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub put: Vec<Tool>,
    /// Names of tools to take away.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
    /// Whether to send `notifications/tools/list_changed`.
    pub announce: bool,
}
