//! Runs: planning, execution, judging, the journal and events.
//!
//! [`run`] executes a [`RunPlan`]. The program and `serve` build the plan and present [`RunEvent`]s; everything between
//! is the same for both. Each case is written to the journal before its result is reported.
//!
//! - `session` owns the header, the journal and the results of a run.
//! - [`conformance`], [`validate`] and [`bench`] execute the three kinds of runs, and `client_case`, [`server_case`] and
//!   `load_case` one case each.

mod authority;
pub mod baseline;
pub mod bench;
mod client_case;
mod client_process;
mod client_report;
pub mod conformance;
mod journal;
mod load_case;
mod mocks;
mod repetition;
pub mod server_case;
mod session;
mod starts;
mod tool_policy;
pub mod validate;

use std::{
    io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use reports::model::{CaseResult, LoadResult, Run, RunHeader};
use tokio_util::sync::CancellationToken;

pub use self::{
    baseline::Baseline,
    bench::{BenchPlan, LoadTask},
    client_process::ClientUnderTest,
    conformance::ConformancePlan,
    journal::RunDirectory,
    load_case::{LoadCaseError, LoadSettings},
    tool_policy::ToolPolicy,
    validate::{PortabilityOf, ValidatePlan},
};
use crate::{
    bench::{Progress, baseline::BaselineError},
    peer::{PeerError, ProbeResult},
};

/// A run to execute.
#[derive(Debug)]
pub enum RunPlan {
    /// Scenarios against a client.
    Conformance(ConformancePlan),
    /// Scenarios against a server.
    Validate(Box<ValidatePlan>),
    /// Load tests.
    Bench(BenchPlan),
}

/// Progress of a run.
#[derive(Debug)]
pub enum RunEvent<'a> {
    /// The run was planned and starts. This is the first event.
    Started {
        /// Subject, seed and number of cases.
        header: &'a RunHeader,
        /// The journal, unless it cannot be written.
        journal: Option<&'a Path>,
        /// Maximum number of concurrent cases.
        jobs: usize,
        /// Revisions and capabilities of the server, if a server is validated.
        probe: Option<&'a ProbeResult>,
    },
    /// The journal cannot be written. The run continues without it; the event is sent at most once.
    JournalFailed {
        /// The journal.
        path: &'a Path,
        /// Error of the operating system.
        error: &'a io::Error,
    },
    /// A case starts.
    CaseStarted {
        /// Its id.
        id: &'a str,
    },
    /// A case finished and is in the journal.
    CaseFinished {
        /// Its result.
        result: &'a CaseResult,
    },
    /// Progress of the current load test, once per second.
    LoadProgress(Progress),
    /// A load test finished and is in the journal.
    LoadFinished {
        /// Its result.
        result: &'a LoadResult,
    },
    /// All cases finished, or the run was cancelled. This is the last event.
    Finished {
        /// The results.
        run: &'a Run,
    },
}

/// Receives the events of a run. It is called on the task that awaits [`run`] and must not block.
pub type EventSink<'a> = &'a mut (dyn FnMut(RunEvent<'_>) + Send);

/// The results of a run.
#[derive(Debug)]
pub struct FinishedRun {
    /// The results; incomplete if the run was cancelled.
    pub run: Run,
    /// The journal, if it was written.
    pub journal: Option<PathBuf>,
}

/// A run that could not be executed. Failures of the subject are results, not errors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The server cannot be started or reached, or does not respond.
    #[error(transparent)]
    Peer(#[from] PeerError),
    /// The shell cannot run the client command.
    #[error("client command `{command}` cannot be run: {reason}")]
    ClientCommand {
        /// The command.
        command: String,
        /// Exit code, and the message of the shell.
        reason: String,
    },
    /// A load test cannot be executed.
    #[error(transparent)]
    Load(#[from] LoadCaseError),
    /// A load test cannot be compared with the baseline.
    #[error(transparent)]
    Baseline(#[from] BaselineError),
    /// The run was cancelled before it was planned.
    #[error("interrupted before the server reported its revisions")]
    Cancelled,
    /// The thread that judges cases cannot be created.
    #[error("cannot create a thread")]
    Thread(#[source] io::Error),
    /// A panic in mcp-workbench.
    #[error("a case ended with an internal error")]
    Internal(#[source] tokio::task::JoinError),
}

/// Executes a run and writes its journal into `directory`.
///
/// If `cancel` is triggered, unfinished cases are dropped and the results are incomplete. Dropping the future terminates
/// all processes of the run.
///
/// # Errors
/// If the server or client under test cannot be used at all, or for an internal error.
pub async fn run(
    plan: RunPlan,
    directory: &RunDirectory,
    events: EventSink<'_>,
    cancel: CancellationToken,
) -> Result<FinishedRun, RunError> {
    // On the heap: the callers are futures on threads with small stacks.
    match plan {
        RunPlan::Conformance(plan) => Box::pin(conformance::execute(plan, directory, events, &cancel)).await,
        RunPlan::Validate(plan) => Box::pin(validate::execute(*plan, directory, events, &cancel)).await,
        RunPlan::Bench(plan) => Box::pin(bench::execute(plan, directory, events, &cancel)).await,
    }
}

/// A seed for a run without a given one, short enough to type.
#[must_use]
pub fn fresh_seed() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::from(since.subsec_nanos() ^ std::process::id())
}
