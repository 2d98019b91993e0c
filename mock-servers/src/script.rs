//! What a mock server does, as people write it: the `server:` part of a scenario, or a script file of its own.
//!
//! This module owns the format and nothing else. [`crate::engine`] gives it meaning.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{one_or_many, period::Period};

/// A mock server: what it offers, and where it departs from good behaviour.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Script {
    /// The name that the server gives itself in `serverInfo`; `mcp-workbench-mock` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The protocol revisions that the server supports, newest preferred. Absent: the one that the case is run with.
    /// A handshake revision and 2026-07-28 together make a dual-era server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revisions: Option<Vec<String>>,
    /// The capabilities to declare. Absent: what the rest of the script implies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Map<String, Value>>,
    /// The `instructions` to give to the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The tools to offer, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    /// More tools, made up: `tool-00000`, `tool-00001` and so on, after those of `tools`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generate: Option<Generate>,
    /// How many items a page of a list holds; absent: all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_size: Option<usize>,
    /// Caching hints of 2026-07-28 on list results (`ttlMs`); absent: 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Period>,
    /// Departures from the default behaviour. The first rule that matches a message decides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub on: Vec<Rule>,
    /// How the server's process behaves, over stdio.
    #[serde(skip_serializing_if = "ProcessScript::is_default")]
    pub process: ProcessScript,
}

/// A tool of a mock server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Tool {
    /// The name, of whatever shape: a mock may offer illegal ones.
    pub name: String,
    /// The description; absent: none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The title; absent: none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The input schema; absent: an object with one optional string, `text`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
    /// The output schema; absent: none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// The annotations; absent: none are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Value>,
    /// What a call answers unless a rule says otherwise; absent: the text `<name>: <arguments as JSON>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Reply>,
}

/// Tools that nobody wants to write down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Generate {
    /// How many tools.
    pub tools: usize,
}

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
    /// The JSON-RPC method, exactly. Over Streamable HTTP also `GET` (the client opens a stream) and `DELETE` (it ends
    /// its session).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The tool of a `tools/call`, exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Only the n-th message that the other fields match, counted from 1 for the life of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nth: Option<u64>,
    /// Only the n-th such message and those after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_nth: Option<u64>,
    /// Arguments that a `tools/call` must carry, among others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// The cursor that a list request must carry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Only the n-th run of the server's process (over stdio), counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<u64>,
}

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
    /// Change the tools on offer.
    Change(Change),
    /// Do something that a good server would not do.
    Fault(Fault),
}

/// The result of a request. Strings may hold `{{arguments.text}}`, `{{id}}`, `{{method}}`, `{{nth}}`,
/// `{{params.some.path}}`: filled from the request, and `{{response.some.path}}`: from the client's answer to the last
/// `request` action. A string that is one such placeholder and nothing else becomes the value itself.
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

/// Something that a good server would not do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// Never answer.
    Silence,
    /// Wait, then go on with the next action.
    Delay(Period),
    /// Write this text where a message belongs, then go on.
    Garbage(String),
    /// Answer under an id that nobody asked with, and never under the right one.
    WrongId,
    /// Answer by default, twice.
    Duplicate,
    /// Close the connection without an answer: standard output over stdio, the exchange over HTTP.
    Close,
    /// End the server's process without an answer (over HTTP: close every connection and refuse new ones).
    Exit(Exit),
    /// Answer with this HTTP status instead of a JSON-RPC message (over stdio: as `silence`).
    HttpStatus(HttpStatus),
    /// Send only the first bytes of the default answer, then close the connection.
    Truncate(usize),
    /// Wait, then go on with the next action, and answer even if the request is cancelled meanwhile.
    LateReply(Period),
}

/// How the server's process ends.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Exit {
    /// The exit code.
    pub code: u8,
    /// Whether it dies by SIGKILL instead.
    pub kill: bool,
}

/// An HTTP answer that carries no JSON-RPC message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpStatus {
    /// The status, 200 to 599.
    pub status: u16,
    /// The headers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The body.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
}

/// How the process of a stdio server behaves.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct ProcessScript {
    /// How long it sleeps before it reads its first message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_delay: Option<Period>,
    /// Text that it writes to standard output before anything else (a banner, say).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub banner: Option<String>,
    /// Text that it writes to standard error at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// It ends with this code at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_at_start: Option<u8>,
    /// It lives on when its standard input is closed.
    pub ignore_stdin_close: bool,
    /// It lives on when it receives SIGTERM.
    pub ignore_sigterm: bool,
    /// How long after the end of its input, or SIGTERM, it takes to end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linger: Option<Period>,
    /// Processes that it starts and never looks after.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<ChildScript>,
    /// What stands between the client and the server's process.
    #[serde(skip_serializing_if = "Wrapper::is_none")]
    pub wrapper: Wrapper,
    /// A command to launch instead of the mock, as the client will be told it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
}

impl ProcessScript {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A process that a stdio server starts and never looks after. It sleeps until it is killed, and for 60 s at most.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct ChildScript {
    /// It leaves the server's session and process group.
    pub setsid: bool,
    /// It lives on when it receives SIGTERM.
    pub ignore_sigterm: bool,
    /// It starts with an empty environment.
    pub clear_env: bool,
    /// It keeps the server's standard output open.
    pub hold_stdout: bool,
}

/// What stands between the client and the server's process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Wrapper {
    /// Nothing: the client starts the server itself.
    #[default]
    None,
    /// A shell that stays while the server runs, as `npx` and `uvx` do.
    Shell,
}

impl Wrapper {
    fn is_none(&self) -> bool {
        *self == Self::None
    }
}
