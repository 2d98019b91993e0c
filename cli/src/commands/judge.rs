//! `judge`: re-evaluates the checks on the evidence in a journal, or judges both sides of a recording.

mod recording;

use std::{io::BufRead as _, path::PathBuf};

use reports::journal::Line;
use scenarios::{Evidence, judge, recording::is_recording};

use super::{report::open, selection::catalog_with};
use crate::{
    error::{CommandError, CommandResult, exit_code},
    output::OutputArgs,
    print,
};

/// The arguments of `judge`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Journal, directory of a run, or directory of a recording.
    journal: PathBuf,
    /// Additional scenario files or directories, for a journal.
    #[arg(long, value_name = "PATH")]
    scenarios: Vec<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Evaluates every case of a journal again, and prints the verdicts that changed. Of a recording, it prints a report.
pub(crate) fn run(args: &Args) -> CommandResult {
    if is_recording(&args.journal) {
        return recording::run(&args.journal, &args.output);
    }
    if !args.output.format.is_empty() || args.output.output.is_some() {
        return Err(CommandError::input(anyhow::anyhow!("`--format` and `--output` need a recording"))
            .with_help("`mcp-workbench report` renders a journal"));
    }
    let catalog = catalog_with(&args.scenarios, None)?;
    let (mut same, mut changed) = (0_usize, 0_usize);
    for (number, line) in open(&args.journal)?.lines().enumerate() {
        let line = line.map_err(CommandError::environment)?;
        // The last line of an interrupted run may be incomplete.
        let Ok(Line::Case { result, evidence, .. }) = serde_json::from_str(&line) else { continue };
        let evidence: Evidence = serde_json::from_value(evidence).map_err(|cause| {
            CommandError::input(anyhow::anyhow!("line {}: the evidence has another format: {cause}", number + 1))
        })?;
        let Some(scenario) = catalog.get(&result.scenario) else {
            return Err(CommandError::input(anyhow::anyhow!(
                "line {}: scenario `{}` is not in the catalog; add its file with --scenarios",
                number + 1,
                result.scenario
            )));
        };
        let result_now = judge::judge(&result.id, scenario, &evidence);
        if result_now.verdict == result.verdict {
            same += 1;
        } else {
            changed += 1;
            let (before, now) = (result.verdict.as_str(), result_now.verdict.as_str());
            print::line(&format!("{}: was {before}, is {now}", result.id))?;
        }
    }
    print::line(&format!("{same} verdicts are unchanged, {changed} changed"))?;
    Ok(exit_code(changed == 0 && same > 0))
}
