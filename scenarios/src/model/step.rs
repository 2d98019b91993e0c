//! What the subject of a scenario is made to do. The meaning of each step is given where it is carried out:
//! `crate::drive` for clients, `crate::peer` for servers.

use std::collections::BTreeMap;

use mock_servers::Period;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{axes::Subject, expect::Expect, user::Root};

/// One thing that the subject is made to do.
///
/// A client first connects to every server (unless a `connect` step is written out) and at the end disconnects from
/// those that are still connected. A server is first greeted as the revision asks (unless the first step is `raw`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Client: connect to one server. Value: `{ server, revision, transport, server_info, capabilities, instructions }`.
    /// Where there are several servers and none is named: to all at the same time. Value: `{ connected: [..], failed:
    /// [{ server, kind, message }] }`.
    Connect(Connect),
    /// Client: list the tools of one server, or of all. Value: `{ tools: [{ name, server, qualified, ... }],
    /// rejected: [{ name, reason }] }`.
    List(List),
    /// Client: call a tool and wait for the end. Value: the call's result.
    Call(Call),
    /// Client: begin a call and go on.
    Start(Call),
    /// Client: wait for the end of a call that was begun. Value: the call's result.
    Finish(Finish),
    /// Client: give up a call that was begun.
    Cancel(Finish),
    /// Client: wait until it has noticed something. Value: the event.
    Await(Await),
    /// Client: read the catalogue again and compare. Value: `{ breaking: [..], compatible: [..], cosmetic: [..] }`,
    /// each with `{ tool, what }`.
    Refresh(Target),
    /// Client: disconnect from one server, or all. Value: `{ ended, elapsed_ms }`.
    Disconnect(Target),
    /// Client: disconnect, then connect to the same server again. Value: as of `connect`.
    Reconnect(Target),
    /// Client: the user works elsewhere from now on. Value: null.
    Roots(SetRoots),
    /// Client: it is killed with SIGKILL, here and now. No step may follow.
    Die(Target),
    /// Server: send a request and wait for the answer. Value: the result; with `either` the whole response, with `times`
    /// `{ answers: [..] }`, with `until` the parameters of that notification.
    ///
    /// A string in the parameters that is `{{$.steps[0].items[0].uri}}`, and nothing else, stands for what this JSONPath
    /// finds first in the values of the steps before. Where it finds nothing the step is skipped.
    Request(Request),
    /// Server: send a notification.
    Notify(Request),
    /// Server: write this text as it is, then wait for what comes back for `within` (absent: 1 s). Value:
    /// `{ replies: [..] }`.
    Raw(Raw),
    /// Server: follow every page of a list. Value: `{ items: [..], pages: N, cursors: [..] }`.
    Pages(Pages),
    /// Server: make an HTTP exchange by hand. Value: `{ status, headers, body }`.
    Http(HttpStep),
    /// Server: close its standard input, or the session. Value: `{ exited, code, elapsed_ms, left }`.
    Close(Target),
}

impl Step {
    /// The key under which it is written.
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
            Self::Die(_) => "die",
            Self::Request(_) => "request",
            Self::Notify(_) => "notify",
            Self::Raw(_) => "raw",
            Self::Pages(_) => "pages",
            Self::Http(_) => "http",
            Self::Close(_) => "close",
        }
    }

    /// Whose step it is.
    #[must_use]
    pub fn subject(&self) -> Subject {
        match self {
            Self::Request(_) | Self::Notify(_) | Self::Raw(_) | Self::Pages(_) | Self::Http(_) | Self::Close(_) => {
                Subject::Server
            }
            _ => Subject::Client,
        }
    }

    /// What its outcome must be.
    #[must_use]
    pub fn expect(&self) -> &Expect {
        match self {
            Self::Connect(step) => &step.expect,
            Self::List(step) => &step.expect,
            Self::Call(step) | Self::Start(step) => &step.expect,
            Self::Finish(step) | Self::Cancel(step) => &step.expect,
            Self::Await(step) => &step.expect,
            Self::Roots(step) => &step.expect,
            Self::Refresh(step)
            | Self::Disconnect(step)
            | Self::Reconnect(step)
            | Self::Die(step)
            | Self::Close(step) => &step.expect,
            Self::Request(step) | Self::Notify(step) => &step.expect,
            Self::Raw(step) => &step.expect,
            Self::Pages(step) => &step.expect,
            Self::Http(step) => &step.expect,
        }
    }
}

/// Connect to one server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Connect {
    /// Which; absent: the only one, or all at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// How long it may take; absent: as in `client`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Period>,
    /// What must come of it.
    #[serde(skip_serializing_if = "Expect::is_default")]
    pub expect: Expect,
}

/// List tools.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// Of which server; absent: of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What must come of it.
    #[serde(skip_serializing_if = "Expect::is_default")]
    pub expect: Expect,
}

/// Call a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The tool: its own name, or with `qualified` the name in the client's catalogue.
    pub tool: String,
    /// Of which server; absent: of the only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Whether `tool` is a qualified name, to be resolved by the client.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub qualified: bool,
    /// The arguments; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// How long it may take without progress; absent: as in `client`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Period>,
    /// How long it may take in all; absent: as in `client`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Period>,
    /// A name for `finish` and `cancel` (step `start` only).
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What must come of it.
    #[serde(default, skip_serializing_if = "Expect::is_default")]
    pub expect: Expect,
}

/// A call that was begun.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finish {
    /// The name that `start` gave it.
    pub call: String,
    /// What must come of it.
    #[serde(default, skip_serializing_if = "Expect::is_default")]
    pub expect: Expect,
}

/// Something that the client notices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Await {
    /// What.
    pub event: EventKind,
    /// From which server; absent: from any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// How long to wait at most; absent: 2 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Period>,
    /// What must come of it.
    #[serde(default, skip_serializing_if = "Expect::is_default")]
    pub expect: Expect,
}

/// The user works elsewhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetRoots {
    /// Where.
    pub roots: Vec<Root>,
    /// What must come of it.
    #[serde(default, skip_serializing_if = "Expect::is_default")]
    pub expect: Expect,
}

/// What a client can notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// The server said that its tools changed.
    ToolsChanged,
    /// The connection ended.
    Disconnected,
    /// A call made progress.
    Progress,
    /// Something that is no message arrived where a message belongs.
    Garbage,
}

/// A step that needs no more than a server's name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Target {
    /// Which server; absent: the only one, or all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What must come of it.
    #[serde(skip_serializing_if = "Expect::is_default")]
    pub expect: Expect,
}

/// A request or a notification to a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The JSON-RPC method.
    pub method: String,
    /// The parameters; `_meta` is added where the revision asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Map<String, Value>>,
    /// The id, of whatever type; absent: the next number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Value>,
    /// Whether to leave out what the revision asks every request to carry.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bare: bool,
    /// Whether an error is as good an answer as a result: a check judges which it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub either: bool,
    /// Send so many at once, each with an id of its own, then wait for all of the answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u16>,
    /// Wait for a notification with this method instead of the answer, then give the request up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// How long to wait for the answer; absent: 5 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Period>,
    /// What must come of it.
    #[serde(default, skip_serializing_if = "Expect::is_default")]
    pub expect: Expect,
}

/// Text to write as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Raw {
    /// The text: a line over stdio, a POST body over HTTP.
    pub text: String,
    /// How long to wait for what comes back; absent: 1 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Period>,
    /// What must come of it.
    #[serde(default, skip_serializing_if = "Expect::is_default")]
    pub expect: Expect,
}

/// Every page of a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pages {
    /// The list method: `tools/list`, say.
    pub method: String,
    /// The member of the result that holds the items: `tools`, say.
    pub items: String,
    /// The most pages to read; absent: 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_pages: Option<usize>,
    /// What must come of it.
    #[serde(default, skip_serializing_if = "Expect::is_default")]
    pub expect: Expect,
}

/// An HTTP exchange by hand (Streamable HTTP only; skipped elsewhere).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpStep {
    /// The HTTP method.
    pub method: String,
    /// Headers laid over those that a good client sends; an empty value takes one away.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// A JSON body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<Value>,
    /// A body of text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What must come of it.
    #[serde(default, skip_serializing_if = "Expect::is_default")]
    pub expect: Expect,
}
