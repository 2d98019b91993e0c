//! The evidence of a case: the only input of checks.
//!
//! Evidence is plain data, so a saved case can be judged again with the same verdict. Times are microseconds since the
//! start of the case.

use evidence::Frame;
use reports::model::Profile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    error_kinds::error_kind,
    model::{EventKind, Revision, Scenario, Transport},
};

/// The start of the server names in frames of authorization: requests for metadata, registration, authorization and
/// tokens. All other frames are of MCP.
pub(crate) const AUTHORIZATION_PREFIX: &str = "oauth:";
/// The name of the authorization server in frames.
pub(crate) const AUTHORIZATION_SERVER: &str = "oauth:server";

/// The server name in frames of MCP messages that the protected server rejected.
pub(crate) const REJECTED_ACCESS: &str = "oauth:rejected";

/// Whether a frame is of authorization, and not of MCP.
pub(crate) fn is_authorization(frame: &Frame) -> bool {
    frame.server.starts_with(AUTHORIZATION_PREFIX)
}

/// The evidence of one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The scenario that was run.
    pub scenario: String,
    /// The transport.
    pub transport: Transport,
    /// The revision.
    pub revision: Revision,
    /// The requirements by which a client is judged.
    #[serde(default, skip_serializing_if = "is_agent")]
    pub profile: Profile,
    /// Every frame, of all servers, in order of time; `seq` counts from 0.
    pub frames: Vec<Frame>,
    /// Number of frames that were omitted because the case recorded too many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted_frames: u64,
    /// Whether a mock server was stopped, because the client sent messages without end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub runaway: bool,
    /// Reported outcomes of steps.
    pub steps: Vec<StepOutcome>,
    /// Reported events of the client.
    pub events: Vec<ReportedEvent>,
    /// The process under test: the client or a stdio server. Absent for a server with a URL.
    pub process: Option<ProcessEvidence>,
    /// The end of the process's standard error.
    pub stderr: String,
    /// Whether the case was stopped at its timeout.
    pub timed_out: bool,
    /// Why the case could not be executed: the client cannot be started, for example.
    pub broken: Option<String>,
    /// Duration of the case.
    pub elapsed_us: u64,
    /// The runs of the case, if their verdicts differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetitions: Option<Repetitions>,
}

/// Runs of a case with different verdicts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repetitions {
    /// Number of runs.
    pub runs: u32,
    /// Number of runs that failed; the evidence is that of the last one.
    pub failed: u32,
    /// The ids of the checks that failed in the run before it too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confirmed: Vec<String>,
}

impl Evidence {
    /// Creates evidence without records.
    #[must_use]
    pub fn empty(scenario: &Scenario, transport: Transport, revision: Revision) -> Self {
        Self::without_records(&scenario.scenario, transport, revision)
    }

    /// Creates evidence without records of the scenario with this id.
    pub(crate) fn without_records(scenario: &str, transport: Transport, revision: Revision) -> Self {
        Self {
            scenario: scenario.to_owned(),
            transport,
            revision,
            profile: Profile::default(),
            frames: Vec::new(),
            omitted_frames: 0,
            runaway: false,
            steps: Vec::new(),
            events: Vec::new(),
            process: None,
            stderr: String::new(),
            timed_out: false,
            broken: None,
            elapsed_us: 0,
            repetitions: None,
        }
    }

    /// The first step that the subject reported as skipped.
    #[must_use]
    pub(crate) fn first_skipped_step(&self) -> Option<usize> {
        let skipped = self.steps.iter().filter(|step| matches!(step.outcome, Outcome::Skipped(_)));
        skipped.filter_map(|step| step.step).min()
    }

    /// Creates the evidence of a case that does not apply.
    #[must_use]
    pub fn skipped(scenario: &Scenario, transport: Transport, revision: Revision, reason: String) -> Self {
        let outcome = Outcome::Skipped(reason);
        let steps = vec![StepOutcome { step: None, server: None, began_us: 0, ended_us: 0, outcome }];
        Self { steps, ..Self::empty(scenario, transport, revision) }
    }
}

impl StepOutcome {
    /// Whether the client reported when the step began and ended.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.ended_us > 0
    }
}

impl StepError {
    /// Whether the error is one of these kinds, joined by `|`. A kind of the contract includes its details.
    #[must_use]
    pub fn is_one_of(&self, kinds: &str) -> bool {
        let reported = self.detail.as_deref().unwrap_or(&self.kind);
        kinds.split('|').map(str::trim).any(|kind| kind == reported || error_kind(kind) == Some(reported))
    }
}

// serde passes a reference.
fn is_agent(profile: &Profile) -> bool {
    *profile == Profile::Agent
}

// serde passes a reference.
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Outcome of one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepOutcome {
    /// Position in the scenario; absent for connections that no step describes.
    pub step: Option<usize>,
    /// Name of the server, if the step has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// When it began; 0 if the client reports no times.
    #[serde(default)]
    pub began_us: u64,
    /// When it ended; 0 if the client reports no times.
    #[serde(default)]
    pub ended_us: u64,
    /// The outcome.
    pub outcome: Outcome,
}

/// Result of an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Success with a value.
    Value(Value),
    /// Failure.
    Error(StepError),
    /// Not applicable, with the reason.
    Skipped(String),
}

/// Error of a step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepError {
    /// `rejected-by-peer`, `timed-out`, `connection-lost` or `rejected-by-client`; or a detail of one of them.
    pub kind: String,
    /// A more exact kind, such as `startup-timeout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Message.
    #[serde(default)]
    pub message: String,
    /// JSON-RPC error code, if the peer sent an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i64>,
}

/// An event that the client reported.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReportedEvent {
    /// When; 0 if the client reports no times.
    #[serde(default)]
    pub at_us: u64,
    /// What.
    pub event: EventKind,
    /// From which server.
    pub server: String,
    /// What it said about it.
    #[serde(default)]
    pub detail: Value,
}

/// The process tree under test.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessEvidence {
    /// Exit code of the process under test.
    pub code: Option<i32>,
    /// Signal that terminated it.
    pub signal: Option<i32>,
    /// When it exited.
    pub ended_us: Option<u64>,
    /// Whether the runner killed it at a `die` step.
    pub killed_on_purpose: bool,
    /// All observed processes below it.
    pub seen: Vec<ObservedProcess>,
    /// Processes that outlived it for too long; the runner killed them.
    pub left: Vec<ObservedProcess>,
    /// When the last process below it exited; absent if some were left.
    pub empty_us: Option<u64>,
    /// What it and the processes below it used, where that was sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// What a client used, without the mock servers of the case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// The most memory in use in a sample, in bytes.
    pub memory: u64,
    /// CPU time in microseconds.
    pub cpu_us: u64,
}

/// An observed process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObservedProcess {
    /// Its process id.
    pub pid: i32,
    /// Its parent's.
    pub parent: i32,
    /// Its command line, truncated.
    pub command: String,
    /// Whether it belongs to a mock server of the case.
    pub server: bool,
    /// When it was first seen.
    pub first_us: u64,
    /// When it was last seen.
    pub last_us: u64,
}
