//! Shared state of all clients: catalog, limits and the active run.
//!
//! Runs start programs and use much CPU time, so only one is active at a time. Each run has a timeout, and is terminated
//! with its processes if its call is cancelled.

use std::{future::Future, num::NonZeroUsize, path::PathBuf, sync::Arc, time::Duration};

use agent::policy::Policy;
use scenarios::{catalog::ScenarioCatalog, load::LoadErrors};
use tokio::{sync::Semaphore, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{error::ToolError, progress::ProgressReporter};

/// Time for runs to terminate when the workbench closes.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Settings of a served workbench.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Executable of mcp-workbench: starts mock servers, the built-in client and supervisors.
    pub program: PathBuf,
    /// Directory of all runs.
    pub runs: PathBuf,
    /// Limits of runs.
    pub limits: Limits,
    /// The administrator's policy on servers. Clients choose the servers, so it applies to each.
    pub policy: Arc<Policy>,
}

/// Limits of one call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Timeout of a run.
    pub run: Duration,
    /// Maximum duration of a load test.
    pub load: Duration,
    /// Maximum number of users, connections or open calls of a load test.
    pub users: usize,
    /// Maximum rate of a load test in calls per second.
    pub rate: f64,
    /// Maximum number of concurrent cases.
    pub jobs: NonZeroUsize,
    /// Maximum timeout of a server's first response.
    pub startup: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self {
            run: Duration::from_secs(600),
            load: Duration::from_secs(60),
            users: 64,
            rate: 2_000.0,
            jobs: cores.saturating_mul(NonZeroUsize::MIN.saturating_add(7)),
            startup: Duration::from_secs(120),
        }
    }
}

/// A workbench that serves any number of clients. Clones share it.
#[derive(Debug, Clone)]
pub struct Workbench(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: Settings,
    catalog: ScenarioCatalog,
    /// Acquired by the active run.
    active_run: Semaphore,
    closing: CancellationToken,
    runs: TaskTracker,
}

impl Workbench {
    /// Creates a workbench with the built-in catalog.
    ///
    /// # Errors
    /// If the built-in catalog is invalid.
    pub fn new(settings: Settings) -> Result<Self, LoadErrors> {
        Ok(Self::with_catalog(settings, ScenarioCatalog::built_in()?))
    }

    /// Creates a workbench with this catalog.
    #[must_use]
    pub fn with_catalog(settings: Settings, catalog: ScenarioCatalog) -> Self {
        let (active_run, closing, runs) = (Semaphore::new(1), CancellationToken::new(), TaskTracker::new());
        Self(Arc::new(Inner { settings, catalog, active_run, closing, runs }))
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.0.settings.limits
    }

    pub(crate) fn catalog(&self) -> &ScenarioCatalog {
        &self.0.catalog
    }

    /// Cancelled when the workbench closes.
    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.0.closing
    }

    /// Terminates all runs and waits for them, up to a timeout.
    pub async fn close(&self) {
        self.0.closing.cancel();
        self.0.runs.close();
        if timeout(CLOSE_TIMEOUT, self.0.runs.wait()).await.is_err() {
            tracing::warn!("runs did not terminate in time");
        }
    }

    /// Executes a run when no other run is active, unless it is cancelled or the workbench closes.
    pub(crate) async fn run<T>(
        &self,
        progress: &ProgressReporter,
        cancel: &CancellationToken,
        work: impl Future<Output = Result<T, ToolError>>,
    ) -> Result<T, ToolError> {
        let _counted = self.0.runs.token();
        let limit = self.limits().run;
        let run = async {
            let permit = match self.0.active_run.try_acquire() {
                Ok(permit) => permit,
                Err(_) => {
                    progress.report(0.0, None, "waiting for the active run");
                    // The semaphore is never closed.
                    self.0.active_run.acquire().await.map_err(|_| ToolError::cancelled())?
                }
            };
            let outcome = timeout(limit, work).await;
            drop(permit);
            outcome.map_err(|_| {
                ToolError::new("run-too-long", format!("the run exceeded the timeout of {limit:?}"))
                    .with_help("select fewer scenarios, or serve with a longer `--run-limit`")
            })?
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ToolError::cancelled()),
            () = self.0.closing.cancelled() => Err(ToolError::new("closing", "the workbench is closing")),
            outcome = run => outcome,
        }
    }
}

#[cfg(test)]
mod tests;
