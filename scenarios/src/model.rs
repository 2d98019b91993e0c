//! Scenario format 1: the shape of scenario files. The JSON Schema for editors is generated from these types into
//! `scenarios/schema/scenario-1.schema.json`.
//!
//! [`crate::load`] reads and validates files, [`crate::plan`] turns scenarios into cases, and [`crate::judge`] compares
//! them with the evidence.

use std::collections::BTreeMap;

use mock_servers::{HumanDuration, Script};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

mod agent;
mod authorization;
mod axes;
mod byte_size;
mod client_step;
mod expect;
mod input;
mod load;
mod official;
mod operation;
mod step;
mod streams;
mod target;
mod tasks;
mod user;

pub use agent::{AgentRules, AgentSetup, ServerEntry, ServerPolicy, UserApproval};
pub use authorization::{Authorization, TokenGrant};
pub use axes::{Revision, Subject, Transport};
pub use byte_size::ByteSize;
pub use client_step::{
    Await, Call, ClientStep, Command, Complete, Connect, Finish, GetPrompt, List, LogLevel, Reconnect, ResourceStep,
    Search, SetRoots,
};
pub use expect::{
    EventKind, Expect, Expectations, FrameExpectation, HttpExpectation, ProcessExpectation, Sender, UsageExpectation,
    ValueExpectation,
};
pub use input::{Input, Responses, Stop};
pub use load::{Arrivals, Closed, Driver, Load, LoadExpect, Open, Shape, Stage};
pub use official::{OFFICIAL_TAG, Official};
pub use operation::{
    CallOperation, CancelOperation, HoldOperation, ListKind, LoadOperation, MixEntry, PromptOperation, ReadOperation,
    RequestOperation, SessionOperation,
};
pub use step::{
    AnyStep, ArgumentKind, CallTools, GetPrompts, Pages, Raw, ReadTemplates, Request, ServerStep, Steps, User, Wait,
};
pub use streams::{ConcurrentRequest, HttpStep, Listen, ListenSession, Sessions, Together};
pub use target::Target;
pub use tasks::TaskCalls;
pub(crate) use tasks::{TASKS_EXTENSION, UNKNOWN_TASK};
pub use user::{FormAction, Root, UrlAction, UserSetup};

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
    /// The equivalent scenario of the official conformance suite, if there is one.
    #[serde(default)]
    pub official: Option<Official>,
    /// Tags to select by.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Whether the scenario runs only if a name, an area or a tag selects it: for one that takes long [default: false].
    #[serde(default)]
    pub only_if_selected: bool,
    /// The requirement that the expectations test: an id of `scenarios/requirements/register` [default: none, so a failed
    /// expectation cites the scenario itself].
    #[serde(default)]
    pub requirement: Option<String>,
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
    /// The authorization server that protects the mock server, if there is one.
    #[serde(default)]
    pub authorization: Option<Authorization>,
    /// The setup of the client.
    #[serde(default)]
    pub client: ClientSetup,
    /// A capability that the server must declare for the scenario to apply (subject `server`): `tools`,
    /// `resources.subscribe`.
    #[serde(default)]
    pub needs: Option<String>,
    /// Whether the scenario applies only to servers that support no revision with a handshake (subject `server`).
    #[serde(default)]
    pub without_handshake: bool,
    /// Names and values in the steps that no server has (subject `server`). Checks find the requests by them.
    #[serde(default)]
    pub unknown: UnknownNames,
    /// Whether the scenario can share its process or session with others (subject `server`) [default: own].
    #[serde(default)]
    pub session: SessionUse,
    /// A scenario that leaves a session which this one can use (subject `server`). Over stdio this one runs after it in the same
    /// process, which saves a start, unless that scenario failed or declared other features of a client.
    #[serde(default)]
    pub continues: Option<String>,
    /// The client capabilities that are declared to the server (subject `server`) [default: none].
    #[serde(default)]
    pub capabilities: Map<String, Value>,
    /// Whether to run only in the newest revision of each era that the server supports (subject `server`): for rules on
    /// processes and framing, which no revision changes.
    #[serde(default)]
    pub once: bool,
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
            official: self.official,
            tags: self.tags,
            only_if_selected: self.only_if_selected,
            requirement: self.requirement,
            revisions: self.revisions,
            transports: self.transports,
            limit: self.limit,
            server: self.server,
            servers: self.servers,
            authorization: self.authorization,
            client: self.client,
            needs: self.needs,
            without_handshake: self.without_handshake,
            unknown: self.unknown,
            session: self.session,
            continues: self.continues,
            capabilities: self.capabilities,
            once: self.once,
            steps: convert(self.steps),
            expect: self.expect,
            checks: self.checks,
            load: self.load,
        }
    }
}

/// The check on a handshake that fails. In other scenarios such a case cannot be judged.
pub const HANDSHAKE_CHECK: &str = "handshake-completes";

impl Scenario {
    /// Whether the scenario judges a handshake that fails.
    #[must_use]
    pub fn judges_handshake(&self) -> bool {
        self.checks.iter().any(|id| id == HANDSHAKE_CHECK)
    }

    /// Whether the scenario tests the authorization of a server, which needs no handshake.
    #[must_use]
    pub fn judges_authorization(&self) -> bool {
        self.steps.server().iter().any(|step| matches!(step, ServerStep::Unauthorized(_)))
    }

    /// How the client obtains tokens; `None` without an authorization server.
    #[must_use]
    pub fn token_grant(&self) -> Option<TokenGrant> {
        self.authorization.as_ref().map(|_| self.client.authorization.unwrap_or_default())
    }

    /// The name by which clients know the scenario: that of the official suite, or else the id.
    #[must_use]
    pub fn client_name(&self) -> &str {
        self.official.as_ref().map_or(&self.scenario, |official| &official.name)
    }

    /// The scripts of the mock servers, by name.
    pub fn scripts(&self) -> impl Iterator<Item = (&str, &Script)> {
        let only = self.server.iter().map(|script| (MOCK_SERVER, script));
        only.chain(self.servers.iter().map(|(name, script)| (name.as_str(), script)))
    }
}

/// Whether a server scenario shares its process or session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SessionUse {
    /// The scenario has a process, or over HTTP a session, of its own.
    #[default]
    Own,
    /// The scenario leaves no state that another one can observe, so it runs in one session with others. Checks that
    /// always apply are not among its own; they judge the whole session.
    Shared,
    /// The scenario has no steps, and judges all messages of the shared session.
    Whole,
}

/// Names and values in the steps that no server has.
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
}

/// Configuration of the client for a scenario.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct ClientSetup {
    /// The revision to use [default: that of the case].
    // Clients under test read this key from version 1 of the contract.
    #[serde(rename(serialize = "protocol"), alias = "protocol", skip_serializing_if = "Option::is_none")]
    pub revision: Option<RevisionChoice>,
    /// Startup timeout of a server [default: that of the client].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup_timeout: Option<HumanDuration>,
    /// Timeout of a call without progress [default: that of the client].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_timeout: Option<HumanDuration>,
    /// Total timeout of a call [default: that of the client].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_ceiling: Option<HumanDuration>,
    /// Maximum number of pages of a list [default: that of the client].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_pages: Option<usize>,
    /// Maximum number of items of a list [default: that of the client].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_items: Option<usize>,
    /// Maximum length of a qualified name in characters: 64 or 128 [default: 64].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name_limit: Option<usize>,
    /// How the client chooses the HTTP transport [default: the transport of the case].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<TransportChoice>,
    /// Headers to send with every HTTP request.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Maximum size of a message in bytes [default: that of the client].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_message: Option<usize>,
    /// How the client obtains tokens [default: with an authorization code, if the scenario has an authorization server].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorization: Option<TokenGrant>,
    /// The user of the client [default: none, so no user features are declared].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<UserSetup>,
    /// Whether the client declares the extension `io.modelcontextprotocol/tasks` (2026-07-28). A call that becomes a task
    /// then returns the result of the task.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tasks: bool,
    /// The agent around the client [default: none, so only the client is tested].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentSetup>,
    /// Grace period between closing a server's input and SIGTERM [default: that of the client].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub close_grace: Option<HumanDuration>,
    /// Grace period between SIGTERM and SIGKILL [default: that of the client].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub term_grace: Option<HumanDuration>,
}

/// How a client chooses the transport for a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TransportChoice {
    /// Detect it.
    Auto,
}

/// How a client chooses the revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RevisionChoice {
    /// Only that of the case.
    Pinned,
    /// Negotiate it.
    Auto,
}

#[cfg(test)]
mod tests {
    use super::RevisionChoice;
    use crate::load::unvalidated;

    #[test]
    fn reads_the_revision_of_the_client_under_its_old_key_too() {
        let scenario = |key: &str| {
            unvalidated(&format!(
                "scenario: a/b\ntitle: t\nsubject: client\nrequirement: r/s\nserver: {{}}\nclient: {{ {key}: auto }}\n"
            ))
        };
        for key in ["revision", "protocol"] {
            let client = scenario(key).client;
            assert_eq!(client.revision, Some(RevisionChoice::Auto), "{key}");
            // The context of a client under test keeps the key.
            assert_eq!(serde_json::to_value(client).expect("JSON"), serde_json::json!({ "protocol": "auto" }));
        }
    }
}
