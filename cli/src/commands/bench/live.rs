//! Single load tests of the commands that run several: interruption and output.

use client::ServerConfig;
use reports::model::LoadResult;
use scenarios::{
    model::Load,
    run::{self, LoadSettings},
};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::{
    error::{CommandError, CommandResult},
    interrupt, print,
    run::failure,
};

/// Format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ReportFormat {
    /// Table for a terminal.
    Text,
    /// JSON.
    Json,
}

/// The report of a command that runs several load tests.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct ReportArgs {
    /// Report format on standard output.
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub(super) format: ReportFormat,
    /// Print no progress.
    #[arg(long, short)]
    pub(super) quiet: bool,
}

impl ReportArgs {
    /// Prints a line of progress to standard error.
    pub(super) fn progress(&self, text: &str) {
        if !self.quiet {
            print::note(text);
        }
    }
}

/// Executes load tests one after another, until the user interrupts.
pub(super) struct LiveRuns {
    runtime: Runtime,
    cancel: CancellationToken,
    settings: LoadSettings,
}

impl LiveRuns {
    pub(super) fn new(connections: Option<usize>, seed: u64) -> Result<Self, CommandError> {
        let runtime = interrupt::runtime()?;
        let cancel = CancellationToken::new();
        let interrupted = cancel.clone();
        runtime.spawn(async move {
            interrupt::requested().await;
            interrupted.cancel();
        });
        let settings = LoadSettings { connections, seed, ..LoadSettings::default() };
        Ok(Self { runtime, cancel, settings })
    }

    /// Executes a load test. `None` if it was interrupted.
    pub(super) fn run(&self, config: &ServerConfig, load: &Load) -> Result<Option<LoadResult>, CommandError> {
        let running = run::bench::measure(config, load, self.settings, |_| (), self.cancel.clone());
        let result = self.runtime.block_on(running).map_err(failure)?;
        Ok((!self.cancel.is_cancelled()).then_some(result))
    }
}

/// The error of a command that was interrupted before it had a result.
pub(super) fn interrupted() -> CommandResult {
    Err(CommandError::environment(anyhow::anyhow!("interrupted before there was a result")))
}
