//! What a script does about a message.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Ask, CloseStream, Content, Fault, Prompt, Resource, ResourceTemplate, Respond, TaskTimes, Tool};
use crate::{human_duration::HumanDuration, one_or_many};

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
    Request(Request),
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
    /// Send `notifications/message`, if the client's log level lets it through.
    Log(Log),
    /// Send `notifications/resources/updated` to those who have subscribed to the resource.
    Update(Update),
    /// Change what is on offer.
    Change(Change),
    /// Switch persistent faults on or off.
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
/// `request` action, and `{{responses.key.some.path}}`: from its answers to `ask` actions; `length` at the end of the
/// path of a list is the number of its items. A string that is one such placeholder and nothing else becomes the value
/// itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Reply {
    /// One block of text, for a tool call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Blocks of content for a tool call: one, or several, after `text`.
    #[serde(with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "one_or_many::OneOrManySchema<Content>")]
    pub content: Vec<Content>,
    /// `structuredContent`, for a tool call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// `isError`, for a tool call.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// `_meta` of the result.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
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

/// A notification that the server sends of its own accord.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Notify {
    /// The JSON-RPC method.
    pub method: String,
    /// The parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Value>,
    /// Send it in any case: a `notifications/resources/updated` also to those who have not subscribed to the resource, and
    /// what the revision spoken does not have.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anyway: bool,
}

/// A request that the server sends of its own accord.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The JSON-RPC method.
    pub method: String,
    /// The parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Value>,
    /// Ask even if the client has not declared that it can answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anyway: bool,
    /// What to do instead, and instead of all that follows, if the client has not declared that it can answer. Absent: an
    /// error that says so (for a tool call up to 2025-11-25, a result that is an error).
    #[serde(default, with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "one_or_many::OneOrManySchema<Action>")]
    pub otherwise: Vec<Action>,
}

/// A log message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// The level: `debug` to `emergency`, or one that does not exist, which is always sent to legacy clients.
    pub level: String,
    /// Who logs; absent: nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logger: Option<String>,
    /// What is logged.
    pub data: Value,
}

/// The news that a resource has changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// The URI of the resource.
    pub uri: String,
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
    pub every: Option<HumanDuration>,
}

/// The persistent faults of a name, on or off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// The name of the faults.
    pub fault: String,
    /// Whether they are on from now on.
    pub enabled: bool,
}

/// A change of what is on offer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Change {
    /// Tools to add at the end, or to put in the place of those of the same name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub put: Vec<Tool>,
    /// Names of tools to take away.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
    /// Changes of the resources, by URI.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<Replace<Resource>>,
    /// Changes of the resource templates, by template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_templates: Option<Replace<ResourceTemplate>>,
    /// Changes of the prompts, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts: Option<Replace<Prompt>>,
    /// Whether to send the notification that the lists concerned have changed: that of the tools, unless only
    /// `resources`, `resource_templates` or `prompts` are written down.
    pub announce: bool,
}

/// A change of one kind of things on offer. An empty one only says which kind is meant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, bound(deserialize = "T: Deserialize<'de>"))]
pub struct Replace<T> {
    /// Things to add at the end, or to put in the place of those of the same key.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub put: Vec<T>,
    /// Keys of things to take away.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
}

impl<T> Default for Replace<T> {
    fn default() -> Self {
        Self { put: Vec::new(), remove: Vec::new() }
    }
}
