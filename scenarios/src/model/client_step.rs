//! The steps of a client under test. `crate::drive` executes them with the built-in client.

use std::collections::BTreeMap;

use mock_servers::HumanDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    expect::{EventKind, Expect},
    target::Target,
    user::Root,
};

/// One step of a client under test. It first connects to every server, unless a `connect` step is present, and at the end
/// disconnects from the servers that are still connected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClientStep {
    /// Connect to one server. Value: `{ server, revision, transport, server_info, capabilities, instructions }`.
    /// Without a name, where there are several servers: connect to all at once. Value: `{ connected: [..], failed:
    /// [{ server, kind, message }] }`.
    Connect(Connect),
    /// List the tools of one server, or of all. Value: `{ tools: [{ name, server, qualified, ... }],
    /// rejected: [{ name, reason }] }`. Of an agent: only the tools whose definitions the model gets.
    List(List),
    /// Call a tool and wait for the result. Value: the result of the call, or of an agent the content that the model gets:
    /// `{ content: [..], isError }`.
    Call(Call),
    /// Start a call and continue.
    Start(Call),
    /// Wait for the result of a started call. Value: the result of the call.
    Finish(Finish),
    /// Cancel a started call and wait for its end, which is the error `cancelled`.
    Cancel(Finish),
    /// Wait for an event. Value: the event.
    Await(Await),
    /// Read the tool catalog again and compare. Value: `{ breaking: [..], compatible: [..], cosmetic: [..] }`,
    /// each with `{ tool, what }`.
    Refresh(Target),
    /// Disconnect from one server, or all. Value: `{ ended }`, whose content no rule prescribes.
    Disconnect(Target),
    /// Disconnect, then connect to the same server again. Value: that of `connect`.
    Reconnect(Reconnect),
    /// Replace the user's roots. Value: null.
    Roots(SetRoots),
    /// List the resources of a server, all pages. Value: `{ resources: [..] }`, as the server sent them.
    Resources(Target),
    /// List the resource templates of a server, all pages. Value: `{ resourceTemplates: [..] }`.
    ResourceTemplates(Target),
    /// List the prompts of a server, all pages. Value: `{ prompts: [..] }`.
    Prompts(Target),
    /// Read a resource. Value: the result.
    Read(ResourceStep),
    /// Subscribe to the changes of a resource, and wait until the server confirms it. Value: null.
    Subscribe(ResourceStep),
    /// End the subscription to a resource. Value: null.
    Unsubscribe(ResourceStep),
    /// Get a prompt. Value: the result.
    Prompt(GetPrompt),
    /// Complete an argument of a prompt or a variable of a resource template. Value: the result.
    Complete(Complete),
    /// Set the minimum level of log messages. Value: null.
    LogLevel(LogLevel),
    /// Search for tools, as the model of an agent does. Value: `{ tools: [{ name, server, qualified }] }`.
    Search(Search),
    /// Run a prompt as a command of the user, whose values the agent splits. Value: the result of the prompt.
    Command(Command),
    /// Mention a resource in a text of the user. Value: `{ content: [..] }`, as the model gets it.
    Mention(ResourceStep),
    /// The state of each server of an agent. Value: `{ servers: [{ server, state }] }`, where the state is `connected`,
    /// `connecting`, `disconnected`, `failed`, `needs-login`, `disabled` or `not-allowed`.
    Status(PlainStep),
    /// The user logs in at a server of an agent. Value: null.
    LogIn(Target),
    /// The agent ends, and starts again with the same configuration and what it has stored. Value: null.
    Restart(PlainStep),
    /// The client is killed with SIGKILL. No step may follow.
    Die(Target),
}

impl ClientStep {
    /// The keys of all steps.
    pub const KINDS: [&str; 27] = [
        "connect",
        "list",
        "call",
        "start",
        "finish",
        "cancel",
        "await",
        "refresh",
        "disconnect",
        "reconnect",
        "roots",
        "resources",
        "resource-templates",
        "prompts",
        "read",
        "subscribe",
        "unsubscribe",
        "prompt",
        "complete",
        "log-level",
        "search",
        "command",
        "mention",
        "status",
        "log-in",
        "restart",
        "die",
    ];

    /// The key of the step in the file.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Connect(_) => "connect",
            Self::List(_) => "list",
            Self::Call(_) => "call",
            Self::Start(_) => "start",
            Self::Finish(_) => "finish",
            Self::Cancel(_) => "cancel",
            Self::Await(_) => "await",
            Self::Refresh(_) => "refresh",
            Self::Disconnect(_) => "disconnect",
            Self::Reconnect(_) => "reconnect",
            Self::Roots(_) => "roots",
            Self::Resources(_) => "resources",
            Self::ResourceTemplates(_) => "resource-templates",
            Self::Prompts(_) => "prompts",
            Self::Read(_) => "read",
            Self::Subscribe(_) => "subscribe",
            Self::Unsubscribe(_) => "unsubscribe",
            Self::Prompt(_) => "prompt",
            Self::Complete(_) => "complete",
            Self::LogLevel(_) => "log-level",
            Self::Search(_) => "search",
            Self::Command(_) => "command",
            Self::Mention(_) => "mention",
            Self::Status(_) => "status",
            Self::LogIn(_) => "log-in",
            Self::Restart(_) => "restart",
            Self::Die(_) => "die",
        }
    }

    /// The expected outcome.
    #[must_use]
    pub fn expect(&self) -> &Expect {
        match self {
            Self::Connect(step) => &step.expect,
            Self::List(step) => &step.expect,
            Self::Call(step) | Self::Start(step) => &step.expect,
            Self::Finish(step) | Self::Cancel(step) => &step.expect,
            Self::Await(step) => &step.expect,
            Self::Roots(step) => &step.expect,
            Self::Read(step) | Self::Subscribe(step) | Self::Unsubscribe(step) | Self::Mention(step) => &step.expect,
            Self::Search(step) => &step.expect,
            Self::Command(step) => &step.expect,
            Self::Status(step) | Self::Restart(step) => &step.expect,
            Self::Prompt(step) => &step.expect,
            Self::Complete(step) => &step.expect,
            Self::LogLevel(step) => &step.expect,
            Self::Resources(step) | Self::ResourceTemplates(step) | Self::Prompts(step) => &step.expect,
            Self::Reconnect(step) => &step.expect,
            Self::Refresh(step) | Self::Disconnect(step) | Self::LogIn(step) | Self::Die(step) => &step.expect,
        }
    }

    /// The same step without its expected outcome, which a client under test must not know.
    #[must_use]
    pub(crate) fn without_expect(&self) -> Self {
        let mut step = self.clone();
        *match &mut step {
            Self::Connect(step) => &mut step.expect,
            Self::List(step) => &mut step.expect,
            Self::Call(step) | Self::Start(step) => &mut step.expect,
            Self::Finish(step) | Self::Cancel(step) => &mut step.expect,
            Self::Await(step) => &mut step.expect,
            Self::Roots(step) => &mut step.expect,
            Self::Read(step) | Self::Subscribe(step) | Self::Unsubscribe(step) | Self::Mention(step) => {
                &mut step.expect
            }
            Self::Search(step) => &mut step.expect,
            Self::Command(step) => &mut step.expect,
            Self::Status(step) | Self::Restart(step) => &mut step.expect,
            Self::Prompt(step) => &mut step.expect,
            Self::Complete(step) => &mut step.expect,
            Self::LogLevel(step) => &mut step.expect,
            Self::Resources(step) | Self::ResourceTemplates(step) | Self::Prompts(step) => &mut step.expect,
            Self::Reconnect(step) => &mut step.expect,
            Self::Refresh(step) | Self::Disconnect(step) | Self::LogIn(step) | Self::Die(step) => &mut step.expect,
        } = Expect::default();
        step
    }

    /// The steps that a client gets for this one of a file: [`Reconnect::times`] steps, or the step itself.
    pub(crate) fn repeated(mut self) -> Vec<Self> {
        let times = match &mut self {
            Self::Reconnect(step) => step.times.take(),
            _ => None,
        };
        vec![self; times.unwrap_or(1) as usize]
    }
}

/// Disconnect from one server, and connect to it again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Reconnect {
    /// The server [default: the only one].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// How many such steps the client gets, up to 10,000 [default: 1]. A client never sees this key: each time is a step of
    /// its own, with an index of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// The expected outcome, of each step.
    #[serde(skip_serializing_if = "Expect::is_default")]
    pub expect: Expect,
}

/// Connect to one server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Connect {
    /// The server [default: the only one, or all at once].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Timeout [default: that of `client`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<HumanDuration>,
    /// The expected outcome.
    #[serde(skip_serializing_if = "Expect::is_default")]
    pub expect: Expect,
}

/// List tools.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// The server [default: all].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The expected outcome.
    #[serde(skip_serializing_if = "Expect::is_default")]
    pub expect: Expect,
}

/// Call a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The tool: its own name, or with `qualified` its name in the client's tool catalog.
    pub tool: String,
    /// The server [default: the only one].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Whether `tool` is a qualified name, which the client resolves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub qualified: bool,
    /// The arguments [default: none].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// Timeout without progress [default: that of `client`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<HumanDuration>,
    /// Total timeout [default: that of `client`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<HumanDuration>,
    /// A name for `finish` and `cancel` (step `start` only).
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The expected outcome.
    #[serde(default, skip_serializing_if = "Expect::is_default")]
    pub expect: Expect,
}

/// A started call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finish {
    /// The name from `as` of the `start` step.
    pub call: String,
    /// The expected outcome.
    #[serde(default, skip_serializing_if = "Expect::is_default")]
    pub expect: Expect,
}

/// Wait for an event of the client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Await {
    /// The event.
    pub event: EventKind,
    /// The server [default: any].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Timeout [default: 2s].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<HumanDuration>,
    /// The expected outcome.
    #[serde(default, skip_serializing_if = "Expect::is_default")]
    pub expect: Expect,
}

/// Replace the user's roots.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetRoots {
    /// The new roots.
    pub roots: Vec<Root>,
    /// The expected outcome.
    #[serde(default, skip_serializing_if = "Expect::is_default")]
    pub expect: Expect,
}

/// A resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResourceStep {
    /// Its URI.
    pub uri: String,
    /// The server [default: the only one].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The expected outcome.
    #[serde(default, skip_serializing_if = "Expect::is_default")]
    pub expect: Expect,
}

/// A prompt with values of its arguments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetPrompt {
    /// The name of the prompt.
    pub name: String,
    /// The arguments [default: none].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, String>,
    /// The server [default: the only one].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The expected outcome.
    #[serde(default, skip_serializing_if = "Expect::is_default")]
    pub expect: Expect,
}

/// A value to complete. It has either `prompt` or `template`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Complete {
    /// The name of the prompt with the argument.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The resource template with the variable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// The name of the argument or variable.
    pub argument: String,
    /// The beginning of its value [default: empty].
    #[serde(default)]
    pub value: String,
    /// Values of other arguments (since 2025-06-18) [default: none].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub context: BTreeMap<String, String>,
    /// The server [default: the only one].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The expected outcome.
    #[serde(default, skip_serializing_if = "Expect::is_default")]
    pub expect: Expect,
}

impl Complete {
    /// The `ref` of the request.
    #[must_use]
    pub fn reference(&self) -> Value {
        match (&self.prompt, &self.template) {
            (Some(prompt), _) => json!({ "type": "ref/prompt", "name": prompt }),
            (None, template) => json!({ "type": "ref/resource", "uri": template }),
        }
    }
}

/// A level of log messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogLevel {
    /// `debug` to `emergency`.
    pub level: String,
    /// The server [default: the only one].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The expected outcome.
    #[serde(default, skip_serializing_if = "Expect::is_default")]
    pub expect: Expect,
}

/// Search for tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// Words that describe the wanted tools.
    pub query: String,
    /// Maximum number of tools [default: that of the agent].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// The expected outcome.
    #[serde(default, skip_serializing_if = "Expect::is_default")]
    pub expect: Expect,
}

/// A step without settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PlainStep {
    /// The expected outcome.
    #[serde(skip_serializing_if = "Expect::is_default")]
    pub expect: Expect,
}

/// Run a prompt as a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// The name of the prompt.
    pub prompt: String,
    /// The values of its arguments as typed: separated by whitespace, in quotes if they contain whitespace [default: none].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub values: String,
    /// The server [default: the only one].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The expected outcome.
    #[serde(default, skip_serializing_if = "Expect::is_default")]
    pub expect: Expect,
}
