//! Scenarios as proofs: this program runs them against the built-in client, and their journal says what came of them.

use std::{
    fs::File,
    io::BufReader,
    process::{Command, Stdio},
};

use anyhow::{Context as _, anyhow};
use reports::{
    journal,
    model::{CaseResult, Verdict as CaseVerdict},
};

use super::{Known, proof::Verdict};
use crate::{error::CommandError, product};

/// Runs these scenarios.
pub(super) fn run(wanted: &[&str]) -> Result<Known, CommandError> {
    if wanted.is_empty() {
        return Ok(Known::new());
    }
    let folder = tempfile::tempdir().map_err(CommandError::environment)?;
    let status = Command::new(product().map_err(CommandError::environment)?)
        .arg("conformance")
        .args(wanted)
        .arg("--quiet")
        .arg("--output")
        .arg(folder.path())
        // The table goes to standard output, and nothing else.
        .stdout(Stdio::null())
        .status();
    let status = status.context("cannot run the scenarios").map_err(CommandError::environment)?;
    // 1 says that a verdict failed, which the table tells.
    if !matches!(status.code(), Some(0 | 1)) {
        return Err(CommandError::environment(anyhow!("the scenarios could not be run: {status}")));
    }
    let run = File::open(folder.path().join("journal.jsonl")).map_err(CommandError::internal)?;
    let run = journal::read(BufReader::new(run)).map_err(CommandError::internal)?;
    Ok(wanted.iter().map(|&name| (name.to_owned(), verdict(name, &run.cases))).collect())
}

fn verdict(name: &str, cases: &[CaseResult]) -> Verdict {
    let is_meant = |case: &&CaseResult| match name.strip_suffix('*') {
        Some(area) => case.scenario.starts_with(area),
        None => case.scenario == name,
    };
    let held = |case: &CaseResult| matches!(case.verdict, CaseVerdict::Passed | CaseVerdict::Warned);
    let counted = cases.iter().filter(is_meant).filter(|case| case.verdict != CaseVerdict::Skipped);
    counted.map(|case| if held(case) { Verdict::Passed } else { Verdict::Failed }).max().unwrap_or(Verdict::NotRun)
}
