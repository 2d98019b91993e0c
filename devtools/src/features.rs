//! `features`: what a complete client has, each feature with what shows it and whether that holds.
//!
//! The scenarios and tests that `scenarios/requirements/features.yaml` names are run, and what came of them is kept, so that
//! `--last` can show it again. A feature that nothing shows, and one whose proof did not pass, fail the command.

mod cargo_test;
mod proof;
mod scenario;

use std::{collections::BTreeMap, fs, io::Write as _, path::PathBuf};

use anyhow::{Context as _, anyhow};
use diagnostics::printable;
use scenarios::requirements::{Feature, features};
use serde::{Deserialize, Serialize};

use self::proof::{Proof, Verdict};
use crate::error::{CommandError, CommandResult, exit_code};
use crate::root;

/// The arguments of `features`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only these rows (`T1`, `D5`).
    #[arg(value_name = "ROW")]
    rows: Vec<String>,
    /// Show what the last run found, and run nothing.
    #[arg(long)]
    last: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A feature, and what was found of it.
#[derive(Debug, Serialize, Deserialize)]
struct Row {
    id: String,
    feature: String,
    verdict: Verdict,
    proofs: Vec<Proof>,
}

/// Runs what shows the features, and prints the table.
pub(crate) fn run(args: &Args) -> CommandResult {
    let mut wanted = features().map_err(CommandError::internal)?;
    if let Some(unknown) = args.rows.iter().find(|row| !wanted.contains_key(*row)) {
        let known = wanted.keys().cloned().collect::<Vec<_>>().join(", ");
        return Err(CommandError::input(anyhow!("there is no feature `{unknown}`; there are {known}")));
    }
    wanted.retain(|id, _| args.rows.is_empty() || args.rows.contains(id));
    let known = if args.last { recall()? } else { prove(&wanted)? };
    let rows: Vec<Row> = wanted.into_iter().map(|(id, feature)| row(id, feature, &known)).collect();
    print(&rows, args.json).map_err(CommandError::environment)?;
    Ok(exit_code(rows.iter().all(|row| row.verdict == Verdict::Passed)))
}

/// What came of each proof, by its name.
type Known = BTreeMap<String, Verdict>;

fn row(id: String, feature: Feature, known: &Known) -> Row {
    let named = feature.scenarios.into_iter().chain(feature.tests);
    let proofs: Vec<Proof> =
        named.map(|name| Proof { verdict: known.get(&name).copied().unwrap_or(Verdict::NotRun), name }).collect();
    // What nothing shows is not there.
    let verdict = proofs.iter().map(|proof| proof.verdict).max().unwrap_or(Verdict::Failed);
    Row { id, feature: feature.feature, verdict, proofs }
}

/// Runs all proofs of these features, and keeps what came of them beside what is known of others.
fn prove(wanted: &BTreeMap<String, Feature>) -> Result<Known, CommandError> {
    let scenarios: Vec<&str> = wanted.values().flat_map(|feature| &feature.scenarios).map(String::as_str).collect();
    let tests: Vec<&str> = wanted.values().flat_map(|feature| &feature.tests).map(String::as_str).collect();
    let mut found = scenario::run(&scenarios)?;
    found.extend(cargo_test::run(root(), &tests)?);
    let mut all = recall().unwrap_or_default();
    all.extend(found.clone());
    let kept = kept()?;
    let text = serde_json::to_string_pretty(&all).map_err(CommandError::internal)?;
    fs::write(&kept, text)
        .with_context(|| format!("cannot write {}", kept.display()))
        .map_err(CommandError::environment)?;
    Ok(found)
}

/// What the last run found.
fn recall() -> Result<Known, CommandError> {
    let kept = kept()?;
    let text = fs::read_to_string(&kept).context("there are no results; run `cargo xtask features` without --last");
    let text = text.map_err(CommandError::environment)?;
    let known = serde_json::from_str(&text).with_context(|| format!("cannot read {}", kept.display()));
    known.map_err(CommandError::environment)
}

/// Where that is kept: beside the program that cargo built.
fn kept() -> Result<PathBuf, CommandError> {
    let program = std::env::current_exe().map_err(CommandError::environment)?;
    Ok(program.with_file_name("mcp-workbench-features.json"))
}

fn print(rows: &[Row], json: bool) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    if json {
        return writeln!(out, "{}", serde_json::to_string_pretty(rows)?);
    }
    for row in rows {
        let passed = row.proofs.iter().filter(|proof| proof.verdict == Verdict::Passed).count();
        let count = format!("{passed} of {}", row.proofs.len());
        writeln!(out, "{:<4} {:<8} {count:<8} {}", row.id, row.verdict, row.feature)?;
        for proof in row.proofs.iter().filter(|proof| proof.verdict != Verdict::Passed) {
            writeln!(out, "              {}: {}", proof.verdict, printable(&proof.name))?;
        }
    }
    let green = rows.iter().filter(|row| row.verdict == Verdict::Passed).count();
    writeln!(out, "{green} of {} features are shown", rows.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(scenarios: &[&str], tests: &[&str], known: &[(&str, Verdict)]) -> Verdict {
        let texts = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let feature = Feature { feature: "f".to_owned(), scenarios: texts(scenarios), tests: texts(tests) };
        let known = known.iter().map(|&(name, verdict)| (name.to_owned(), verdict)).collect();
        row("T1".to_owned(), feature, &known).verdict
    }

    #[test]
    fn a_feature_is_shown_if_all_its_proofs_passed_and_there_is_one() {
        let passed = [("a/b", Verdict::Passed), ("x.rs::t", Verdict::Passed)];
        assert_eq!(of(&["a/b"], &["x.rs::t"], &passed), Verdict::Passed);
        assert_eq!(of(&[], &[], &passed), Verdict::Failed);
        assert_eq!(of(&["a/b", "a/c"], &[], &passed), Verdict::NotRun);
        let failed = [("a/b", Verdict::Passed), ("x.rs::t", Verdict::Failed)];
        assert_eq!(of(&["a/b"], &["x.rs::t"], &failed), Verdict::Failed);
    }
}
