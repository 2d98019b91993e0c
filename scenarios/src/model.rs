//! Scenario format 1: the shape of scenario files. The JSON Schema for editors is generated from these types into
//! `scenarios/schema/scenario-1.schema.json`.
//!
//! [`crate::load`] reads and validates files, [`crate::plan`] turns scenarios into cases, and [`crate::judge`] compares
//! them with the evidence.

use std::collections::BTreeMap;

use mock_servers::{HumanDuration, Script};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod axes;
mod expect;
mod load;
mod step;
mod user;

pub use axes::{Revision, Subject, Transport};
pub use expect::{
    EventKind, Expect, Expectations, FrameExpectation, HttpExpectation, ProcessExpectation, Sender, ValueExpectation,
};
pub use load::{Closed, Load, Open, Shape};
pub use step::{
    AnyStep, Await, Call, ClientStep, Connect, Finish, HttpStep, List, Pages, Raw, Request, ServerStep, SetRoots,
    Steps, Target,
};
pub use user::{FormAnswer, Root, UrlAnswer, UserSetup};

/// The name of the mock server of a scenario with the key `server`.
pub const MOCK_SERVER: &str = "mock";

/// One behavior that a client or a server must have.
///
/// `S` is the type of the steps: [`Steps`], or while a file is read the steps of its subject.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound(deserialize = "S: Deserialize<'de> + Default"))]
#[schemars(bound = "S: JsonSchema + Default")]
pub struct Scenario<S = Steps> {
    /// The stable id, `<area>/<name>`, which is also the path of the file in the catalog.
    pub scenario: String,
    /// The tested behavior, in one sentence.
    pub title: String,
    /// The subject: a client or a server.
    pub subject: Subject,
    /// Tags to select by.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The requirement that the expectations test: an id of `scenarios/requirements/register`.
    pub requirement: String,
    /// The protocol revisions to run with [default: 2025-11-25 and 2026-07-28].
    #[serde(default)]
    pub revisions: Option<Vec<Revision>>,
    /// The transports to run over [default: every transport of the revision].
    #[serde(default)]
    pub transports: Option<Vec<Transport>>,
    /// Timeout of one case [default: 10s].
    #[serde(default)]
    pub limit: Option<HumanDuration>,
    /// The mock server that a client is run against, if there is one. Its name is `mock`.
    #[serde(default)]
    pub server: Option<Script>,
    /// The mock servers by name, if there are several.
    #[serde(default)]
    pub servers: BTreeMap<String, Script>,
    /// The setup of the client.
    #[serde(default)]
    pub client: ClientSetup,
    /// A capability that the server must declare for the scenario to apply (subject `server`): `tools`,
    /// `resources.subscribe`.
    #[serde(default)]
    pub needs: Option<String>,
    /// Names and values in the steps that no server has (subject `server`). Checks find the requests by them.
    #[serde(default)]
    pub unknown: UnknownNames,
    /// The steps, in order. The subject decides which steps there are.
    #[serde(default)]
    pub steps: S,
    /// Expectations about the whole case, in addition to those of the steps.
    #[serde(default)]
    pub expect: Expectations,
    /// The checks that apply, by id, in addition to those that always apply.
    #[serde(default)]
    pub checks: Vec<String>,
    /// A load to put on the subject, instead of steps.
    #[serde(default)]
    pub load: Option<Load>,
}

impl<S> Scenario<S> {
    /// The same scenario with its steps converted.
    pub(crate) fn map_steps<T>(self, convert: impl FnOnce(S) -> T) -> Scenario<T> {
        Scenario {
            scenario: self.scenario,
            title: self.title,
            subject: self.subject,
            tags: self.tags,
            requirement: self.requirement,
            revisions: self.revisions,
            transports: self.transports,
            limit: self.limit,
            server: self.server,
            servers: self.servers,
            client: self.client,
            needs: self.needs,
            unknown: self.unknown,
            steps: convert(self.steps),
            expect: self.expect,
            checks: self.checks,
            load: self.load,
        }
    }
}

impl Scenario {
    /// The scripts of the mock servers, by name.
    pub fn scripts(&self) -> impl Iterator<Item = (&str, &Script)> {
        let only = self.server.iter().map(|script| (MOCK_SERVER, script));
        only.chain(self.servers.iter().map(|(name, script)| (name.as_str(), script)))
    }
}

/// Names and values that a scenario sends and no server has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct UnknownNames {
    /// A JSON-RPC method.
    pub method: Option<String>,
    /// A protocol revision.
    pub revision: Option<String>,
    /// The name of a tool.
    pub tool: Option<String>,
    /// The name of a prompt.
    pub prompt: Option<String>,
    /// The URI of a resource.
    pub resource: Option<String>,
    /// A cursor.
    pub cursor: Option<String>,
    /// A log level.
    pub log_level: Option<String>,
}

/// How the client is set up for a scenario.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct ClientSetup {
    /// Which revision it is told to speak; absent: the one of the case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<RevisionChoice>,
    /// How long a server may take to start; absent: the client's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup_timeout: Option<HumanDuration>,
    /// How long a call may take without progress; absent: the client's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_timeout: Option<HumanDuration>,
    /// How long a call may take in all; absent: the client's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_ceiling: Option<HumanDuration>,
    /// The most pages of a list that it reads; absent: the client's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_pages: Option<usize>,
    /// The most items of a list that it keeps; absent: the client's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_items: Option<usize>,
    /// How long the longest qualified name may be: 64 or 128; absent: 64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name_limit: Option<usize>,
    /// How it is told to find a server over HTTP; absent: it is told which transport the server speaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<TransportChoice>,
    /// Headers to send with every HTTP request.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The longest message that it takes, in bytes; absent: the client's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_message: Option<usize>,
    /// Who sits in front of it; absent: nobody who could be asked anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<UserSetup>,
    /// Whether it waits for calls that become tasks (the extension `io.modelcontextprotocol/tasks`, 2026-07-28): such a call
    /// ends with the result of its task. Absent: it does not declare the extension.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tasks: bool,
    /// How long it waits after closing a server's input before it sends SIGTERM; absent: the client's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub close_grace: Option<HumanDuration>,
    /// How long it waits after SIGTERM before it sends SIGKILL; absent: the client's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub term_grace: Option<HumanDuration>,
}

/// Over which transport a client is told to speak with a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TransportChoice {
    /// Whatever it finds out.
    Auto,
}

/// Which revision a client is told to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RevisionChoice {
    /// That of the case, and no other.
    Pinned,
    /// Whatever it finds out.
    Auto,
}
