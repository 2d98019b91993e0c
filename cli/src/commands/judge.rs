//! `judge`: re-evaluates the checks on the evidence in a journal.

use std::{io::BufRead as _, path::PathBuf};

use reports::journal::Line;
use scenarios::{Evidence, judge};

use super::{report::open, selection::catalog_with};
use crate::{
    error::{CommandError, CommandResult, exit_code},
    print,
};

/// The arguments of `judge`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Journal, or directory of the run.
    journal: PathBuf,
    /// Additional scenario files or directories.
    #[arg(long, value_name = "PATH")]
    scenarios: Vec<PathBuf>,
}

/// Evaluates every case of a journal again, and prints the verdicts that changed.
pub(crate) fn run(args: &Args) -> CommandResult {
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
