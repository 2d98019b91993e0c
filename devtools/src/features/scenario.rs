//! Scenarios as proofs: the product runs them against the built-in client and writes a journal.

use std::{
    fs::File,
    io::BufReader,
    process::{Command, Stdio},
};

use anyhow::{Context as _, anyhow};
use reports::{
    journal,
    model::{CaseResult, Verdict},
};

use super::{Results, proof::ProofStatus};
use crate::{error::CommandError, product};

/// Runs these scenarios.
pub(super) fn run(wanted: &[&str]) -> Result<Results, CommandError> {
    if wanted.is_empty() {
        return Ok(Results::new());
    }
    let directory = tempfile::tempdir().map_err(CommandError::environment)?;
    let exit = Command::new(product().map_err(CommandError::environment)?)
        .arg("conformance")
        .args(wanted)
        .arg("--quiet")
        .arg("--output")
        .arg(directory.path())
        // Standard output contains only the table.
        .stdout(Stdio::null())
        .status();
    let exit = exit.context("cannot run the scenarios").map_err(CommandError::environment)?;
    // 1 means that a verdict failed, which the table shows.
    if !matches!(exit.code(), Some(0 | 1)) {
        return Err(CommandError::environment(anyhow!("the scenarios could not be run: {exit}")));
    }
    let run = File::open(directory.path().join("journal.jsonl")).map_err(CommandError::internal)?;
    let run = journal::read(BufReader::new(run)).map_err(CommandError::internal)?;
    Ok(wanted.iter().map(|&name| (name.to_owned(), status(name, &run.cases))).collect())
}

fn status(name: &str, cases: &[CaseResult]) -> ProofStatus {
    let matches = |case: &&CaseResult| match name.strip_suffix('*') {
        Some(area) => case.scenario.starts_with(area),
        None => case.scenario == name,
    };
    // A violated SHOULD does not show the feature.
    let passed = |case: &CaseResult| case.verdict == Verdict::Passed;
    let counted = cases.iter().filter(matches).filter(|case| case.verdict != Verdict::Skipped);
    counted
        .map(|case| if passed(case) { ProofStatus::Passed } else { ProofStatus::Failed })
        .max()
        .unwrap_or(ProofStatus::NotRun)
}
