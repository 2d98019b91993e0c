//! What is served: the catalogue, the limits, and the one place for runs.
//!
//! Runs start programs and put loads on machines, so one goes on at a time and the others wait. Each is bounded in time,
//! ends when whoever asked for it does not want it any more, and takes its processes with it.

use std::{future::Future, num::NonZeroUsize, path::PathBuf, sync::Arc, time::Duration};

use agent::policy::Policy;
use scenarios::{catalogue::Catalogue, load::LoadErrors};
use tokio::{sync::Semaphore, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{mcp::teller::Teller, trouble::Trouble};

/// How long the end of runs is waited for when the workbench closes.
const CLOSING: Duration = Duration::from_secs(5);

/// How a workbench is served.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The workbench's own executable, which runs start again as mock server, as built-in client and as supervisor.
    pub program: PathBuf,
    /// Where the journals of runs are kept: one folder each.
    pub runs: PathBuf,
    /// The limits of runs.
    pub limits: Limits,
    /// Which servers the administrator allows: here it is a program that chooses what is connected to.
    pub policy: Arc<Policy>,
}

/// What a single call may cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// The longest time that a run may take once it has begun.
    pub run: Duration,
    /// The longest time for which a load may be put on a server.
    pub load: Duration,
    /// The most users, connections, or calls in flight of a load.
    pub users: usize,
    /// The most calls a second of a load.
    pub rate: f64,
    /// The most cases at one time.
    pub jobs: NonZeroUsize,
    /// How long a server may take to start, or to answer for the first time.
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

/// The workbench, to be served to any number of clients at one time. Clones share it.
#[derive(Debug, Clone)]
pub struct Workbench(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: Settings,
    catalogue: Catalogue,
    /// Held by the one run that goes on.
    turn: Semaphore,
    over: CancellationToken,
    runs: TaskTracker,
}

impl Workbench {
    /// A workbench with the built-in catalogue.
    ///
    /// # Errors
    /// If the built-in catalogue cannot be read, which is not met in a release.
    pub fn new(settings: Settings) -> Result<Self, LoadErrors> {
        let catalogue = Catalogue::built_in()?;
        let (turn, over, runs) = (Semaphore::new(1), CancellationToken::new(), TaskTracker::new());
        Ok(Self(Arc::new(Inner { settings, catalogue, turn, over, runs })))
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.0.settings.limits
    }

    pub(crate) fn catalogue(&self) -> &Catalogue {
        &self.0.catalogue
    }

    /// Cancelled when the workbench closes.
    pub(crate) fn over(&self) -> &CancellationToken {
        &self.0.over
    }

    /// Ends all runs, and waits until they have ended, within bounds.
    pub async fn close(&self) {
        self.0.over.cancel();
        self.0.runs.close();
        if timeout(CLOSING, self.0.runs.wait()).await.is_err() {
            tracing::warn!("runs have not ended in time");
        }
    }

    /// Carries a run out when it is its turn, unless it is cancelled or the workbench closes.
    pub(crate) async fn run<T>(
        &self,
        teller: &Teller,
        cancel: &CancellationToken,
        work: impl Future<Output = Result<T, Trouble>>,
    ) -> Result<T, Trouble> {
        let _counted = self.0.runs.token();
        let limit = self.limits().run;
        let in_turn = async {
            let turn = match self.0.turn.try_acquire() {
                Ok(turn) => turn,
                Err(_) => {
                    teller.say(0.0, None, "waiting for the run that goes on");
                    // The semaphore is never closed.
                    self.0.turn.acquire().await.map_err(|_| Trouble::cancelled())?
                }
            };
            let outcome = timeout(limit, work).await;
            drop(turn);
            outcome.map_err(|_| {
                Trouble::new("run-too-long", format!("the run was ended after {limit:?}, which is the limit here"))
                    .advise("select fewer scenarios, or serve with a longer `--run-limit`")
            })?
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Trouble::cancelled()),
            () = self.0.over.cancelled() => Err(Trouble::new("closing", "the workbench is closing")),
            outcome = in_turn => outcome,
        }
    }
}

#[cfg(test)]
mod tests;
