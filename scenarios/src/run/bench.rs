//! Runs load tests one after another.

use std::path::PathBuf;

use client::ServerConfig;
use reports::model::{LoadResult, PassPolicy, RunKind};
use tokio_util::sync::CancellationToken;

use super::{
    EventSink, FinishedRun, RunDirectory, RunError,
    load_case::{LoadCaseError, LoadSettings, load_case, load_server},
    session::{Session, Start},
};
use crate::{
    bench::{LoadPlan, Progress, baseline::LoadBaseline},
    model::Load,
    plan::Case,
};

/// Load tests.
#[derive(Debug)]
pub struct BenchPlan {
    /// Name of the server in reports, without secrets.
    pub subject: String,
    /// Seed of the mock servers.
    pub seed: u64,
    /// Executable of mcp-workbench: starts stdio mock servers.
    pub program: PathBuf,
    /// Number of connections to a server; absent: depends on the load and the transport.
    pub connections: Option<usize>,
    /// Process id of a server with a URL, to sample its resources.
    pub pid: Option<i32>,
    /// Whether load tests on servers that cannot pass any more are aborted.
    pub abort: bool,
    /// The earlier run to compare with.
    pub baseline: Option<LoadBaseline>,
    /// The load tests.
    pub loads: Vec<LoadTask>,
}

/// One load test.
#[derive(Debug)]
pub enum LoadTask {
    /// On a server.
    Server(Box<ServerConfig>, Load),
    /// On the mock server of a scenario.
    Mock(Box<Case>, Load),
}

impl LoadTask {
    /// Whether it can be compared with the baseline.
    fn check(&self, baseline: &LoadBaseline) -> Result<(), RunError> {
        let (name, load) = match self {
            Self::Server(_, load) => (load.name(), load),
            Self::Mock(case, load) => (case.id.clone(), load),
        };
        let plan = LoadPlan::new(load).map_err(LoadCaseError::from)?;
        Ok(baseline.check(&name, &plan)?)
    }
}

/// Executes one load test on a server, without a journal.
///
/// # Errors
/// If the load is invalid or the server cannot be used. Failed calls are counted, not errors.
pub async fn measure(
    config: &ServerConfig,
    load: &Load,
    settings: LoadSettings,
    progress: impl FnMut(Progress) + Send,
    cancel: CancellationToken,
) -> Result<LoadResult, RunError> {
    Ok(load_server(config, load, settings, progress, cancel).await?)
}

pub(super) async fn execute(
    plan: BenchPlan,
    directory: &RunDirectory,
    events: EventSink<'_>,
    cancel: &CancellationToken,
) -> Result<FinishedRun, RunError> {
    let start = Start {
        profile: None,
        call_tools: &[],
        kind: RunKind::Bench,
        subject: plan.subject,
        seed: plan.seed,
        planned: plan.loads.len(),
        policy: PassPolicy::default(),
        jobs: 1,
        probe: None,
    };
    if let Some(baseline) = &plan.baseline {
        plan.loads.iter().try_for_each(|task| task.check(baseline))?;
    }
    let settings = LoadSettings { connections: plan.connections, seed: plan.seed, pid: plan.pid, abort: plan.abort };
    let mut session = Session::start(&start, directory, events);
    for task in &plan.loads {
        let progress = |progress| session.load_progress(progress);
        let mut result = match task {
            LoadTask::Server(config, load) => load_server(config, load, settings, progress, cancel.clone()).await?,
            LoadTask::Mock(case, load) => load_case(case, load, &plan.program, progress, cancel.clone()).await?,
        };
        if let Some(baseline) = plan.baseline.as_ref().filter(|_| !cancel.is_cancelled()) {
            baseline.apply(&mut result)?;
        }
        session.load_finished(result);
        if cancel.is_cancelled() {
            break;
        }
    }
    Ok(session.finish(!cancel.is_cancelled(), None, None).await)
}
