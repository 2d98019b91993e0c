//! `bench merge-histograms`: true percentiles of several workers, from logs of HdrHistogram.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use reports::{
    histogram_log::{Distribution, LogError, Merger},
    render::{Verbosity, terminal},
};
use serde_json::{Value, json};

use crate::{
    error::{CommandError, CommandResult},
    output, print,
};

/// The arguments of `bench merge-histograms`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Logs of HdrHistogram with latencies in microseconds.
    #[arg(required = true, value_name = "FILE")]
    logs: Vec<PathBuf>,
    /// Print the percentiles as JSON, in microseconds.
    #[arg(long)]
    json: bool,
}

/// Prints the percentiles of each worker and of all.
pub(super) fn run(args: &Args) -> CommandResult {
    let mut merger = Merger::default();
    for path in &args.logs {
        let failed = || format!("cannot read {}", path.display());
        let log = std::fs::read(path).with_context(failed).map_err(CommandError::input)?;
        merger.add(&log).with_context(failed).map_err(CommandError::input)?;
    }
    let merged = merger.finish().map_err(|error| match error {
        LogError::Empty => CommandError::rejected(error),
        LogError::Entry { .. } => CommandError::input(error),
    })?;
    if args.json {
        let workers = merged.tags.iter().map(|(tag, distribution)| (tag.clone(), value(distribution)));
        let workers: serde_json::Map<String, Value> = workers.collect();
        print::json(&json!({ "total": value(&merged.total), "workers": workers }))?;
    } else {
        print::raw(&terminal::distributions(&merged, &output::style(Verbosity::Normal)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn value(distribution: &Distribution) -> Value {
    json!({ "count": distribution.count, "latency": distribution.latency })
}
