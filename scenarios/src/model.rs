//! Scenario format 1: what a scenario file may say. This module is the source; the JSON Schema that editors use is
//! generated from it into `scenarios/schema/scenario-1.schema.json`.
//!
//! It owns shapes only. [`crate::load`] reads files into it and refuses what makes no sense, [`crate::plan`] turns it
//! into cases, and [`crate::judge`] compares it with what was recorded.

use std::collections::BTreeMap;

use mock_servers::{Period, Script};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod axes;
mod expect;
mod load;
mod step;
mod user;

pub use axes::{Revision, Subject, Transport};
pub use expect::{
    Expect, Expectations, FrameExpectation, HttpExpectation, Party, ProcessExpectation, ValueExpectation,
};
pub use load::{Closed, Load, Open, Shape};
pub use step::{Await, Call, Connect, EventKind, Finish, HttpStep, List, Pages, Raw, Request, SetRoots, Step, Target};
pub use user::{FormAnswer, Root, UrlAnswer, UserSetup};

/// One behaviour that a client or a server must show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The stable id, `<area>/<name>`: also the place of the file in the catalogue.
    pub scenario: String,
    /// What it shows, in one sentence.
    pub title: String,
    /// Who is judged.
    pub subject: Subject,
    /// Words to select by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The requirement (an id of `scenarios/requirements/requirements.yaml`) that the expectations stand for.
    pub requirement: String,
    /// The protocol revisions to run with; absent: 2025-11-25 and 2026-07-28.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revisions: Option<Vec<Revision>>,
    /// The transports to run over; absent: all that the revision has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transports: Option<Vec<Transport>>,
    /// How long a case may take; absent: 10 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Period>,
    /// The mock server that a client is run against, where there is one: its name is `mock`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Script>,
    /// The mock servers, by name, where there are several.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub servers: BTreeMap<String, Script>,
    /// How the client is set up.
    #[serde(default, skip_serializing_if = "ClientSetup::is_default")]
    pub client: ClientSetup,
    /// A capability that a server must declare, or the scenario does not apply (subject `server`): `tools`,
    /// `resources.subscribe`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<String>,
    /// What the subject is made to do, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// What must be seen in the whole case, beside what the steps expect.
    #[serde(default, skip_serializing_if = "Expectations::is_default")]
    pub expect: Expectations,
    /// The checks that apply, by id, beside those that always do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// A load to put on the subject instead of steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
}

/// How the client is set up for a scenario.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct ClientSetup {
    /// Which revision it is told to speak; absent: the one of the case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<ProtocolSetup>,
    /// How long a server may take to start; absent: the client's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup_timeout: Option<Period>,
    /// How long a call may take without progress; absent: the client's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_timeout: Option<Period>,
    /// How long a call may take in all; absent: the client's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_ceiling: Option<Period>,
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
    pub transport: Option<TransportSetup>,
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
    pub close_grace: Option<Period>,
    /// How long it waits after SIGTERM before it sends SIGKILL; absent: the client's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub term_grace: Option<Period>,
}

impl ClientSetup {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Over which transport a client is told to speak with a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TransportSetup {
    /// Whatever it finds out.
    Auto,
}

/// Which revision a client is told to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProtocolSetup {
    /// That of the case, and no other.
    Pinned,
    /// Whatever it finds out.
    Auto,
}
