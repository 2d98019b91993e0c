//! `features`: runs the scenarios and tests behind each client feature.
//!
//! `scenarios/requirements/features.yaml` lists the proofs of each feature. Their results are stored for `--last`. A feature
//! without a proof, or with a proof that did not pass, fails the command.

mod cargo_test;
mod proof;
mod scenario;

use std::{collections::BTreeMap, fs, io::Write as _, path::PathBuf};

use anyhow::{Context as _, anyhow};
use diagnostics::printable;
use scenarios::requirements::{Feature, features};
use serde::{Deserialize, Serialize};

use self::proof::{Proof, ProofStatus};
use crate::error::{CommandError, CommandResult, exit_code};
use crate::root;

/// The arguments of `features`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Features to test (`T1`, `D5`) [default: all].
    #[arg(value_name = "ROW")]
    rows: Vec<String>,
    /// Print the results of the last run.
    #[arg(long)]
    last: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A feature with its status.
#[derive(Debug, Serialize, Deserialize)]
struct Row {
    id: String,
    feature: String,
    status: ProofStatus,
    proofs: Vec<Proof>,
}

/// Runs the proofs of the features and prints the table.
pub(crate) fn run(args: &Args) -> CommandResult {
    let mut wanted = features().map_err(CommandError::internal)?;
    if let Some(unknown) = args.rows.iter().find(|row| !wanted.contains_key(*row)) {
        let known = wanted.keys().cloned().collect::<Vec<_>>().join(", ");
        return Err(CommandError::input(anyhow!("unknown feature `{unknown}`; known are {known}")));
    }
    wanted.retain(|id, _| args.rows.is_empty() || args.rows.contains(id));
    let results = if args.last { last_results()? } else { prove(&wanted)? };
    let rows: Vec<Row> = wanted.into_iter().map(|(id, feature)| row(id, feature, &results)).collect();
    print(&rows, args.json).map_err(CommandError::environment)?;
    Ok(exit_code(rows.iter().all(|row| row.status == ProofStatus::Passed)))
}

/// The status of each proof by name.
type Results = BTreeMap<String, ProofStatus>;

fn row(id: String, feature: Feature, results: &Results) -> Row {
    let named = feature.scenarios.into_iter().chain(feature.tests);
    let proofs: Vec<Proof> =
        named.map(|name| Proof { status: results.get(&name).copied().unwrap_or(ProofStatus::NotRun), name }).collect();
    // A feature without proofs fails.
    let status = proofs.iter().map(|proof| proof.status).max().unwrap_or(ProofStatus::Failed);
    Row { id, feature: feature.feature, status, proofs }
}

/// Runs all proofs of these features, and stores their results with those of other features.
fn prove(wanted: &BTreeMap<String, Feature>) -> Result<Results, CommandError> {
    let scenarios: Vec<&str> = wanted.values().flat_map(|feature| &feature.scenarios).map(String::as_str).collect();
    let tests: Vec<&str> = wanted.values().flat_map(|feature| &feature.tests).map(String::as_str).collect();
    let mut found = scenario::run(&scenarios)?;
    found.extend(cargo_test::run(root(), &tests)?);
    let mut all = last_results().unwrap_or_default();
    all.extend(found.clone());
    let file = results_file()?;
    let text = serde_json::to_string_pretty(&all).map_err(CommandError::internal)?;
    fs::write(&file, text)
        .with_context(|| format!("cannot write {}", file.display()))
        .map_err(CommandError::environment)?;
    Ok(found)
}

/// The results of the last run.
fn last_results() -> Result<Results, CommandError> {
    let file = results_file()?;
    let text = fs::read_to_string(&file).context("there are no results; run `cargo xtask features` without --last");
    let text = text.map_err(CommandError::environment)?;
    let results = serde_json::from_str(&text).with_context(|| format!("cannot read {}", file.display()));
    results.map_err(CommandError::environment)
}

/// The file with the results, in the directory of the program.
fn results_file() -> Result<PathBuf, CommandError> {
    let program = std::env::current_exe().map_err(CommandError::environment)?;
    Ok(program.with_file_name("mcp-workbench-features.json"))
}

fn print(rows: &[Row], json: bool) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    if json {
        return writeln!(out, "{}", serde_json::to_string_pretty(rows)?);
    }
    for row in rows {
        let passed = row.proofs.iter().filter(|proof| proof.status == ProofStatus::Passed).count();
        let count = format!("{passed} of {}", row.proofs.len());
        writeln!(out, "{:<4} {:<8} {count:<8} {}", row.id, row.status, row.feature)?;
        for proof in row.proofs.iter().filter(|proof| proof.status != ProofStatus::Passed) {
            writeln!(out, "              {}: {}", proof.status, printable(&proof.name))?;
        }
    }
    let proved = rows.iter().filter(|row| row.status == ProofStatus::Passed).count();
    writeln!(out, "{proved} of {} features passed", rows.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(scenarios: &[&str], tests: &[&str], results: &[(&str, ProofStatus)]) -> ProofStatus {
        let texts = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let feature = Feature { feature: "f".to_owned(), scenarios: texts(scenarios), tests: texts(tests) };
        let results = results.iter().map(|&(name, status)| (name.to_owned(), status)).collect();
        row("T1".to_owned(), feature, &results).status
    }

    #[test]
    fn a_feature_passes_if_it_has_proofs_and_all_passed() {
        let passed = [("a/b", ProofStatus::Passed), ("x.rs::t", ProofStatus::Passed)];
        assert_eq!(status(&["a/b"], &["x.rs::t"], &passed), ProofStatus::Passed);
        assert_eq!(status(&[], &[], &passed), ProofStatus::Failed);
        assert_eq!(status(&["a/b", "a/c"], &[], &passed), ProofStatus::NotRun);
        let failed = [("a/b", ProofStatus::Passed), ("x.rs::t", ProofStatus::Failed)];
        assert_eq!(status(&["a/b"], &["x.rs::t"], &failed), ProofStatus::Failed);
    }
}
