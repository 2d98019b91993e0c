//! What was recorded in a case: everything that a check may look at, and nothing that it may not.
//!
//! Evidence is plain data. It can be saved, sent to someone else, and judged again with the same verdict. Times are
//! microseconds since the start of the case.

use mock_servers::Frame;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{EventKind, Revision, Scenario, Transport};

/// What was recorded in one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The scenario that was run.
    pub scenario: String,
    /// The transport.
    pub transport: Transport,
    /// The revision.
    pub revision: Revision,
    /// Every frame, of all servers, in order of time; `seq` counts from 0.
    pub frames: Vec<Frame>,
    /// What came of each step, as far as the subject's driver reported.
    pub steps: Vec<StepOutcome>,
    /// What the client noticed.
    pub events: Vec<Noticed>,
    /// The process under test (the client, or a stdio server); absent where there was none, as with a server's URL.
    pub process: Option<ProcessEvidence>,
    /// The end of what the process under test wrote to standard error.
    pub stderr: String,
    /// Whether the case was stopped because its time limit had passed.
    pub timed_out: bool,
    /// What kept the case from being run at all: the client or the server could not be started, say.
    pub broken: Option<String>,
    /// How long the case took.
    pub elapsed_us: u64,
}

impl Evidence {
    /// Evidence of a case of which nothing is recorded yet.
    #[must_use]
    pub fn empty(scenario: &Scenario, transport: Transport, revision: Revision) -> Self {
        Self {
            scenario: scenario.scenario.clone(),
            transport,
            revision,
            frames: Vec::new(),
            steps: Vec::new(),
            events: Vec::new(),
            process: None,
            stderr: String::new(),
            timed_out: false,
            broken: None,
            elapsed_us: 0,
        }
    }

    /// The evidence of a case that was not run because it does not apply.
    #[must_use]
    pub fn skipped(scenario: &Scenario, transport: Transport, revision: Revision, reason: String) -> Self {
        let outcome = Outcome::Skipped(reason);
        let steps = vec![StepOutcome { step: None, server: None, began_us: 0, ended_us: 0, outcome }];
        Self { steps, ..Self::empty(scenario, transport, revision) }
    }
}

/// What came of one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepOutcome {
    /// Its position in the scenario; absent for the connections made, and ended, without being asked.
    pub step: Option<usize>,
    /// The server that it was about, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// When it began.
    pub began_us: u64,
    /// When it ended.
    pub ended_us: u64,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of something that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It went well, and this is its value.
    Value(Value),
    /// It failed.
    Error(StepError),
    /// It does not apply here, for this reason.
    Skipped(String),
}

/// How a step failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepError {
    /// The stable kind: `timed-out`, `rpc-error`, `startup-timeout`.
    pub kind: String,
    /// In words.
    pub message: String,
    /// The JSON-RPC code, of an error that the peer sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i64>,
}

/// Something that the client noticed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Noticed {
    /// When.
    pub at_us: u64,
    /// What.
    pub event: EventKind,
    /// From which server.
    pub server: String,
    /// What it said about it.
    pub detail: Value,
}

/// The process under test, and those below it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessEvidence {
    /// The exit code of the process under test, if it ended by itself.
    pub code: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
    /// When it ended.
    pub ended_us: Option<u64>,
    /// Whether the workbench killed it on purpose, as the scenario says.
    pub killed_on_purpose: bool,
    /// Every process that was seen below it.
    pub seen: Vec<ProcessSeen>,
    /// Those that lived on after its end for longer than they may; the workbench then killed them.
    pub left: Vec<ProcessSeen>,
    /// When the last process below it was gone; absent if some were left.
    pub empty_us: Option<u64>,
}

/// A process that was seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessSeen {
    /// Its process id.
    pub pid: i32,
    /// Its parent's.
    pub parent: i32,
    /// Its command line, cut to a bearable length.
    pub command: String,
    /// Whether it belongs to a mock server of the case, and not to the client's own machinery.
    pub server: bool,
    /// When it was first seen.
    pub first_us: u64,
    /// When it was last seen.
    pub last_us: u64,
}
