//! The steps of a scenario, and those for servers, which `crate::peer` executes.

use std::collections::BTreeMap;

use mock_servers::HumanDuration;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    client_step::ClientStep,
    expect::Expect,
    input::{Input, Stop},
    streams::{HttpStep, Listen, Sessions, Together},
    target::Target,
    tasks::TaskCalls,
};

/// The steps of a scenario, for its subject.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(untagged)]
pub enum Steps {
    /// For a client.
    Client(Vec<ClientStep>),
    /// For a server.
    Server(Vec<ServerStep>),
}

impl Default for Steps {
    fn default() -> Self {
        Self::Client(Vec::new())
    }
}

impl Steps {
    /// The steps of a client; none if the subject is a server.
    #[must_use]
    pub fn client(&self) -> &[ClientStep] {
        match self {
            Self::Client(steps) => steps,
            Self::Server(_) => &[],
        }
    }

    /// The steps of a server; none if the subject is a client.
    #[must_use]
    pub fn server(&self) -> &[ServerStep] {
        match self {
            Self::Client(_) => &[],
            Self::Server(steps) => steps,
        }
    }

    /// All steps, whatever the subject is.
    pub fn iter(&self) -> impl Iterator<Item = AnyStep<'_>> {
        self.client().iter().map(AnyStep::Client).chain(self.server().iter().map(AnyStep::Server))
    }

    /// Whether there are no steps.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.client().is_empty() && self.server().is_empty()
    }
}

/// A step of either kind.
#[derive(Debug, Clone, Copy)]
pub enum AnyStep<'a> {
    /// For a client.
    Client(&'a ClientStep),
    /// For a server.
    Server(&'a ServerStep),
}

impl<'a> AnyStep<'a> {
    /// The key of the step in the file.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Client(step) => step.kind(),
            Self::Server(step) => step.kind(),
        }
    }

    /// The expected outcome.
    #[must_use]
    pub fn expect(self) -> &'a Expect {
        match self {
            Self::Client(step) => step.expect(),
            Self::Server(step) => step.expect(),
        }
    }
}

/// One step that the workbench takes against a server under test. The handshake of the revision comes first, unless the
/// first step is `raw`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ServerStep {
    /// Send a request and wait for the response. Value: the result; with `either` the whole response, with `times`
    /// `{ answers: [..] }`, with `until` the parameters of that notification.
    ///
    /// In parameters, `{{x*3}}` is three times `x`, and `{{$.item.uriTemplate | expand x}}` is a URI template whose
    /// variables have the value `x`, and `{{$.item.uri | replace-last x}}` a URI with `x` instead of its last segment.
    /// `{{$.steps[0].items[*].uri | list}}` has all values that the path finds, `| shorten` drops the last
    /// character, and `| swap-case` changes the case of letters.
    ///
    /// A parameter that is a string of the form `{{$.steps[0].items[0].uri}}` is replaced by the first node that this
    /// JSONPath selects in the values of the earlier steps. If it selects none, the step is skipped. With `each` the
    /// request is sent once per item, and `{{$.item.uri}}` selects in the item. Value: `{ answers: [..] }`.
    /// `{{$.revision}}` is the revision of the session.
    Request(Request),
    /// Send a notification.
    Notify(Request),
    /// Write this text unchanged, then wait for messages for `within` [default: 1s]. Value: `{ replies: [..] }`.
    Raw(Raw),
    /// Read every page of a list. Value: `{ items: [..], pages: N, cursors: [..], variables: [{ template, name }] }`, with
    /// the variables of resource templates.
    Pages(Pages),
    /// Call every tool that may be called, with generated arguments. Read-only tools may be called, and those that
    /// `--call-tools` permits. Value: `{ calls: [{ tool, arguments, violates, response, log_level, progress }], not_called: [{ tool, reason }] }`.
    CallTools(CallTools),
    /// Call tools that support tasks as tasks (2025-11-25): read the status until the end, the result, and both once more.
    /// The tools are those that `call-tools` may call. Value: `{ tasks: [{ tool, id }] }`.
    TaskCalls(TaskCalls),
    /// Request every prompt, with a value for each required argument. Value: `{ answers: [..] }`.
    GetPrompts(GetPrompts),
    /// Read a resource of each template, with the first value that the server suggests for each variable. Value: `{ answers: [..] }`.
    ReadTemplates(ReadTemplates),
    /// Make one HTTP exchange. Value: `{ status, headers, body }`.
    Http(HttpStep),
    /// Close standard input, or the session. Value: `{ exited, code, elapsed_ms, left }`.
    Close(Target),
    /// Wait, and record what the server sends. Value: null.
    Wait(Wait),
    /// Send SIGTERM to the server and wait for its exit (stdio only, skipped elsewhere). Value: that of `close`.
    Terminate(Target),
    /// Send a request for each item with all client capabilities, and answer the input requests in the results
    /// (2026-07-28). Value: `{ answers: [..] }`, with the last response for each item.
    Input(Input),
    /// Cancel a request that was left open with `as`. Value: null.
    Stop(Stop),
    /// Send several requests before the first response, then wait for all responses. Value: `{ answers: [..] }`.
    Together(Together),
    /// Open a stream of events with GET, and record it until the end of the case (Streamable HTTP only, skipped
    /// elsewhere). Value: `{ status, content_type }`.
    Listen(Listen),
    /// Call a tool that does not exist, without authorization and with an invalid token, and read the metadata of the
    /// protected resource (Streamable HTTP only, skipped elsewhere). Value: `{ without: { status, challenge },
    /// invalid, with, metadata: [{ url, named, status, document }] }`, with `with` if the user gave authorization.
    Unauthorized(Target),
    /// Connect to the port of a server on this machine at another of its addresses (HTTP at a loopback address only, skipped
    /// elsewhere). Value: `{ address, connected }`.
    OtherAddress(Target),
    /// Open further sessions and close them (Streamable HTTP only, skipped elsewhere). Value: `{ assigned, distinct,
    /// bits }`, with `bits` an estimate of the variety of their ids.
    Sessions(Sessions),
}

impl ServerStep {
    /// The keys of all steps.
    pub const KINDS: [&str; 19] = [
        "request",
        "notify",
        "raw",
        "pages",
        "call-tools",
        "task-calls",
        "get-prompts",
        "read-templates",
        "http",
        "close",
        "wait",
        "terminate",
        "input",
        "stop",
        "together",
        "listen",
        "unauthorized",
        "other-address",
        "sessions",
    ];

    /// The key of the step in the file.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Request(_) => "request",
            Self::Notify(_) => "notify",
            Self::Raw(_) => "raw",
            Self::Pages(_) => "pages",
            Self::CallTools(_) => "call-tools",
            Self::TaskCalls(_) => "task-calls",
            Self::GetPrompts(_) => "get-prompts",
            Self::ReadTemplates(_) => "read-templates",
            Self::Http(_) => "http",
            Self::Close(_) => "close",
            Self::Wait(_) => "wait",
            Self::Terminate(_) => "terminate",
            Self::Input(_) => "input",
            Self::Stop(_) => "stop",
            Self::Together(_) => "together",
            Self::Listen(_) => "listen",
            Self::Unauthorized(_) => "unauthorized",
            Self::OtherAddress(_) => "other-address",
            Self::Sessions(_) => "sessions",
        }
    }

    /// Whether it is taken only in the newest revision of each era.
    #[must_use]
    pub fn once(&self) -> bool {
        match self {
            Self::CallTools(step) => step.once,
            Self::Together(step) => step.once,
            _ => false,
        }
    }

    /// The expected outcome.
    #[must_use]
    pub fn expect(&self) -> &Expect {
        match self {
            Self::Request(step) | Self::Notify(step) => &step.expect,
            Self::Raw(step) => &step.expect,
            Self::Pages(step) => &step.expect,
            Self::CallTools(step) => &step.expect,
            Self::TaskCalls(step) => &step.expect,
            Self::GetPrompts(step) => &step.expect,
            Self::ReadTemplates(step) => &step.expect,
            Self::Http(step) => &step.expect,
            Self::Wait(step) => &step.expect,
            Self::Close(step) | Self::Terminate(step) | Self::Unauthorized(step) | Self::OtherAddress(step) => {
                &step.expect
            }
            Self::Input(step) => &step.expect,
            Self::Stop(step) => &step.expect,
            Self::Together(step) => &step.expect,
            Self::Listen(step) => &step.expect,
            Self::Sessions(step) => &step.expect,
        }
    }
}

/// A request or a notification to a server.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The JSON-RPC method.
    pub method: String,
    /// The parameters. `_meta` is added if the revision requires it.
    #[serde(default)]
    pub params: Option<Map<String, Value>>,
    /// The id, of any type [default: the next number].
    #[serde(default)]
    pub id: Option<Value>,
    /// Whether to omit the metadata that the revision requires in every request.
    #[serde(default)]
    pub bare: bool,
    /// Whether a response with an error counts as success, with `until` also a missing notification. A check then judges
    /// the messages.
    #[serde(default)]
    pub either: bool,
    /// Send the request once for each node that this JSONPath selects in the values of the earlier steps, one after
    /// another. Needs `either`, as each item may have another outcome.
    #[serde(default)]
    pub each: Option<String>,
    /// Maximum number of requests with `each` [default: 20].
    #[serde(default)]
    pub max: Option<usize>,
    /// Send this many requests at once, each with its own id, then wait for all responses.
    #[serde(default)]
    pub times: Option<u16>,
    /// Send this many requests one after another, each with its own id. Value: `{ count, first_us, last_us, first_kb,
    /// last_kb }`, with the shortest durations of the first and last tenth, and the memory of the server after each.
    #[serde(default)]
    pub repeat: Option<u16>,
    /// Wait for a notification with this method instead of the response, then cancel the request.
    #[serde(default)]
    pub until: Option<String>,
    /// A name under which the request stays open after `until`, for the step `stop`, or until `close`.
    #[serde(default, rename = "as")]
    pub name: Option<String>,
    /// HTTP headers that replace those of a conforming client (Streamable HTTP only, skipped elsewhere). An empty value
    /// removes the header. Placeholders are replaced as in parameters. With the session `[session 2]` the request belongs to the session that an earlier step `listen`
    /// opened, and is skipped if there is none.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Lose the connection after this time and resume the stream (Streamable HTTP only, skipped elsewhere).
    #[serde(default)]
    pub lost_after: Option<HumanDuration>,
    /// Whether to write the names of the headers as in `Mcp-Method` instead of `mcp-method` (Streamable HTTP only, skipped
    /// elsewhere).
    #[serde(default)]
    pub title_case: bool,
    /// Timeout for the response [default: 5s].
    #[serde(default)]
    pub within: Option<HumanDuration>,
    /// The expected outcome.
    #[serde(default)]
    pub expect: Expect,
}

/// Text to write unchanged.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Raw {
    /// The text: a line over stdio, a POST body over HTTP. `{{x*3}}` is three times `x`, and `{{0xff}}` is this byte.
    pub text: String,
    /// Write the line or the HTTP body in this many pieces with pauses in between [default: 1].
    #[serde(default)]
    pub pieces: Option<u8>,
    /// How long to wait for messages [default: 1s].
    #[serde(default)]
    pub within: Option<HumanDuration>,
    /// The expected outcome.
    #[serde(default)]
    pub expect: Expect,
}

/// Waiting.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    /// How long.
    #[serde(rename = "for")]
    pub period: HumanDuration,
    /// Wait only if this JSONPath selects something in the values of the earlier steps. Otherwise the step is skipped.
    #[serde(rename = "if", default)]
    pub condition: Option<String>,
    /// The expected outcome.
    #[serde(default)]
    pub expect: Expect,
}

/// Every page of a list.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pages {
    /// The list method, for example `tools/list`.
    pub method: String,
    /// The member of the result with the items, for example `tools`.
    pub items: String,
    /// Whether the server may reject the method. The step is then skipped.
    #[serde(default)]
    pub optional: bool,
    /// Maximum number of pages [default: 100].
    #[serde(default)]
    pub max_pages: Option<usize>,
    /// The expected outcome.
    #[serde(default)]
    pub expect: Expect,
}

/// Calls of tools with generated arguments.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallTools {
    /// A JSONPath that selects the listed tools in the values of the earlier steps, for example `$.steps[0].items`.
    pub tools: String,
    /// The arguments [default: valid].
    #[serde(default)]
    pub arguments: ArgumentKind,
    /// Whether to cancel a call that has no response at once, and to wait whether a response still arrives.
    #[serde(default)]
    pub cancel: bool,
    /// Whether each call has a progress token, in turn a string and a number [default: true].
    #[serde(default = "yes")]
    pub progress: bool,
    /// Whether each call asks for a task. Only tools without task support are called [default: false].
    #[serde(default)]
    pub task: bool,
    /// What the user and the model do when the server requests something. Only the tools that requested something before are
    /// called [default: all tools are called, and the user declines].
    #[serde(default)]
    pub user: Option<User>,
    /// Whether to make only pairs of calls of a tool that differ in their arguments: one after another, and both at once. Tools
    /// that are slow, or were not called before, are left out [default: false].
    #[serde(default)]
    pub pairs: bool,
    /// Whether to make the calls only in the newest revision of each era that the server supports [default: false].
    #[serde(default)]
    pub once: bool,
    /// The log level in the metadata of each call, in 2026-07-28 [default: none].
    #[serde(default)]
    pub log_level: Option<String>,
    /// Maximum number of tools [default: 30].
    #[serde(default)]
    pub max: Option<usize>,
    /// Timeout of one call [default: 10s].
    #[serde(default)]
    pub within: Option<HumanDuration>,
    /// The expected outcome.
    #[serde(default)]
    pub expect: Expect,
}

fn yes() -> bool {
    true
}

/// What the user and the model do when a server requests something from them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum User {
    /// The user declines forms and links. The model answers, and there are no roots.
    #[default]
    Declines,
    /// The user dismisses forms and links. Sampling and roots get errors (2025-11-25, client/sampling#error-handling).
    Refuses,
    /// Every request gets an error, as from a client that cannot show a form.
    Fails,
    /// The user accepts forms, with valid values, and links.
    Accepts,
    /// No request gets a response in time. A call that is cancelled has a ping before, and the responses follow.
    Absent,
}

/// The arguments of generated calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArgumentKind {
    /// One call per tool with arguments that its input schema allows.
    #[default]
    Valid,
    /// Several calls per tool with arguments that its input schema allows: with and without optional properties, with each
    /// value of an `enum`, with text beyond ASCII, and once with a large string. A slow tool is called once.
    Varied,
    /// One call per tool with all optional properties, numbers at their declared maximum, but at most 1,000, and booleans that
    /// are true. With `cancel`, only tools whose calls were too fast to be cancelled before.
    Most,
    /// One call per kind of rule in the input schema of a tool, with arguments that violate only this rule. One tool is
    /// also called under its name in another case.
    Invalid,
    /// Calls of each tool with parameters that are repeated in HTTP headers (2026-07-28): with valid headers in all forms, and
    /// with headers that are missing, contradict the arguments or are invalid.
    Mirrored,
}

/// Reads of resources that templates describe.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadTemplates {
    /// A JSONPath that selects the listed templates in the values of the earlier steps, for example `$.steps[0].items`.
    pub templates: String,
    /// Maximum number of templates [default: 5].
    #[serde(default)]
    pub max: Option<usize>,
    /// The expected outcome.
    #[serde(default)]
    pub expect: Expect,
}

/// Requests of prompts.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetPrompts {
    /// A JSONPath that selects the listed prompts in the values of the earlier steps, for example `$.steps[0].items`.
    pub prompts: String,
    /// Maximum number of prompts [default: 30].
    #[serde(default)]
    pub max: Option<usize>,
    /// The expected outcome.
    #[serde(default)]
    pub expect: Expect,
}
