//! `bench soak`: a load test of half an hour or more, with thresholds for what a short one does not show.

use anyhow::anyhow;
use mock_servers::HumanDuration;

use super::{RunArgs, execute};
use crate::error::{CommandError, CommandResult};

const HALF_AN_HOUR: HumanDuration = HumanDuration::from_millis(30 * 60 * 1_000);
/// The warm-up is this part of the measurement: caches fill, and compilers optimize.
const WARMUP: u32 = 30;

/// Load a server for a long time, and fail if it becomes slower, needs more and more memory, or has errors.
///
/// These options have other defaults: the duration is 30 min and the warm-up a thirtieth of it. The thresholds
/// `error_rate <= 0.1%`, `p50_drift <= 20%` and, for a local server, `rss_growth < 1MB/min` apply unless one on the same metric is
/// given. With too many errors the run ends early.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    run: RunArgs,
}

/// Runs a soak test.
pub(super) fn run(args: Args) -> CommandResult {
    let Args { mut run } = args;
    if run.file.is_some() {
        return Err(CommandError::input(anyhow!("a soak test has no file"))
            .with_help("give the load as options (`--tool`, `--mix`), or write duration and thresholds into the file and run `bench`"));
    }
    // Stages have durations of their own.
    if run.load.stages.is_empty() {
        let duration = run.load.duration.unwrap_or(HALF_AN_HOUR);
        run.load.duration = Some(duration);
        run.load.warmup = Some(run.load.warmup.unwrap_or(HumanDuration(duration.0 / WARMUP)));
    }
    let is_sampled = run.target.url().is_none() || run.pid.is_some();
    let defaults = [("error_rate", "error_rate <= 0.1%"), ("p50_drift", "p50_drift <= 20%")];
    let memory = is_sampled.then_some(("rss_growth", "rss_growth < 1MB/min"));
    for (metric, threshold) in defaults.into_iter().chain(memory) {
        if !run.load.threshold.iter().any(|given| given.trim_start().starts_with(metric)) {
            run.load.threshold.push(threshold.to_owned());
        }
    }
    run.abort_on_fail = true;
    execute(&run)
}
