//! Actions of a script in response to a message.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Ask, CloseStream, Content, Fault, Prompt, Resource, ResourceTemplate, Respond, TaskTimes, Tool};
use crate::{human_duration::HumanDuration, one_or_many};

/// One action of a mock server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Respond as without a rule.
    Default,
    /// Respond with this result.
    Reply(Reply),
    /// Respond with this JSON-RPC error.
    Error(RpcError),
    /// Send a notification.
    Notify(Notify),
    /// Send `notifications/progress` for the request's progress token. Without a token, nothing is sent.
    Progress(Progress),
    /// Send a request to the client, and continue after its response. Up to 2025-11-25 this is a request of the server.
    /// In 2026-07-28 it is an `input_required` result, and the client's retry continues.
    Request(Request),
    /// Send several requests to the client at once, and continue after all responses.
    Ask(Ask),
    /// Reject the request unless the client declares these capabilities: with -32021 in 2026-07-28, with -32602 before.
    Require(Map<String, Value>),
    /// Continue as a task if the client supports it: the call gets the task's handle as its result now, and the task
    /// executes the remaining actions. Without this action, a tool whose calls are tasks begins with it.
    Task(TaskTimes),
    /// Set the status message of the task. Without effect in a call that is not a task.
    TaskStatus(String),
    /// Send several notifications as one JSON-RPC batch.
    Batch(Batch),
    /// Send `notifications/message` if the client's log level allows it.
    Log(Log),
    /// Send `notifications/resources/updated` to the subscribers of the resource.
    Update(Update),
    /// Change the tools, resources, resource templates or prompts.
    Change(Change),
    /// Enable or disable persistent faults.
    Switch(Switch),
    /// Respond in this form over Streamable HTTP, instead of the script's `http.respond`. Without effect over other
    /// transports.
    Respond(Respond),
    /// Close the connection of the response over Streamable HTTP up to 2025-11-25, and continue when the client
    /// reconnects. Without effect over other transports. A stream that cannot be resumed ends.
    CloseStream(CloseStream),
    /// Inject a fault.
    Fault(Fault),
}

/// The result of a request. Strings can contain placeholders. `{{arguments.text}}`, `{{id}}`, `{{method}}`, `{{nth}}`
/// `{{host}}` and `{{params.some.path}}` come from the request, `{{response.some.path}}` from the client's response to the last
/// `request` action, and `{{responses.key.some.path}}` from its responses to `ask` actions. `length` at the end of the
/// path of an array is the number of its items. A string that consists of one placeholder becomes the value itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Reply {
    /// A text block, for a tool call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Content blocks for a tool call: one or several, after `text`.
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
    /// The whole result, instead of the fields above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Members that replace those of the server's default result, such as `{ nextCursor: same }`. A null removes the
    /// member.
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
    /// Additional data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// A notification of the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Notify {
    /// The JSON-RPC method.
    pub method: String,
    /// The parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Value>,
    /// Send it unconditionally: a `notifications/resources/updated` also to clients without a subscription, and methods
    /// that the negotiated revision does not have.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anyway: bool,
}

/// A request of the server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The JSON-RPC method.
    pub method: String,
    /// The parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Value>,
    /// Send it even if the client does not declare the capability.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anyway: bool,
    /// The actions if the client does not declare the capability; they replace all that follow [default: an error
    /// response; for a tool call up to 2025-11-25, a result with `isError`].
    #[serde(default, with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "one_or_many::OneOrManySchema<Action>")]
    pub otherwise: Vec<Action>,
}

/// A log message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// The level: `debug` to `emergency`, or an unknown one, which is always sent to legacy clients.
    pub level: String,
    /// The logger [default: none].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logger: Option<String>,
    /// The logged value.
    pub data: Value,
}

/// A change of a resource.
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
    /// Whether the response to the request is the last message in it.
    #[serde(default)]
    pub answer: bool,
}

/// The progress of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// The progress so far.
    pub progress: f64,
    /// The total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// The progress message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The number of such notifications, counting up from `progress` by one [default: 1].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// The wait before each of them [default: none].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<HumanDuration>,
}

/// Enables or disables the persistent faults of a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// The name of the faults.
    pub fault: String,
    /// Whether they are enabled from now on.
    pub enabled: bool,
}

/// A change of the lists.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Change {
    /// Tools to add at the end, or to replace tools of the same name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub put: Vec<Tool>,
    /// Names of tools to remove.
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
    /// Whether to send the `list_changed` notifications of the changed lists: that of the tools, unless only
    /// `resources`, `resource_templates` or `prompts` are given.
    pub announce: bool,
}

/// A change of one list. An empty one only names the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, bound(deserialize = "T: Deserialize<'de>"))]
pub struct Replace<T> {
    /// Items to add at the end, or to replace items of the same key.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub put: Vec<T>,
    /// Keys of items to remove.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
}

impl<T> Default for Replace<T> {
    fn default() -> Self {
        Self { put: Vec::new(), remove: Vec::new() }
    }
}
