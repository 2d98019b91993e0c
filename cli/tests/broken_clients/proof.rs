//! The tests: one for each defect, one for a client without defects, one for a client that does nothing.

use anyhow::{bail, ensure};
use clap::ValueEnum as _;
use reports::model::{CaseResult, Run, Verdict};

use crate::{
    client::Defect,
    table::{ROWS, Row},
    workbench::{client_command, conformance},
};

/// A test.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Proof {
    /// Every case of the table passes with a client without defects.
    SoundClientPasses,
    /// No case of the catalog passes with a client that does nothing.
    NothingPassesForNothing,
    /// The checks detect this defect.
    Detected(Defect),
}

impl Proof {
    /// All tests. Slow ones start first, so that they run in parallel.
    pub(crate) fn all() -> Vec<Self> {
        let mut defects: Vec<Defect> = Defect::value_variants().to_vec();
        defects.sort_by_key(|defect| !defect.is_slow());
        let whole = [Self::NothingPassesForNothing, Self::SoundClientPasses];
        whole.into_iter().chain(defects.into_iter().map(Self::Detected)).collect()
    }

    /// The name of the test.
    pub(crate) fn name(self) -> String {
        match self {
            Self::SoundClientPasses => "a_sound_client_passes_every_case".to_owned(),
            Self::NothingPassesForNothing => "nothing_passes_with_a_client_that_does_nothing".to_owned(),
            Self::Detected(defect) => format!("detected::{}", name_of(defect).replace('-', "_")),
        }
    }

    /// Runs the test.
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self {
            Self::SoundClientPasses => sound_client_passes(),
            Self::NothingPassesForNothing => nothing_passes_for_nothing(),
            Self::Detected(defect) => defect_is_detected(defect),
        }
    }
}

fn name_of(defect: Defect) -> String {
    // No variant is skipped, so all have a name.
    defect.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

fn sound_client_passes() -> anyhow::Result<()> {
    let mut cases: Vec<&str> = ROWS.iter().filter(|row| row.sound_client_passes).map(|row| row.case).collect();
    cases.sort_unstable();
    cases.dedup();
    let ran = conformance(&client_command("")?, &cases, 8)?;
    let bad: Vec<String> = ran.run.cases.iter().filter(|case| case.verdict != Verdict::Passed).map(describe).collect();
    ensure!(bad.is_empty(), "these do not pass:\n{}", bad.join("\n"));
    ensure!(ran.run.cases.len() == cases.len(), "{} of {} cases were run", ran.run.cases.len(), cases.len());
    ensure!(ran.code == Some(0), "all passed, and the exit code is {:?}", ran.code);
    ensure!(ran.left.is_empty(), "remaining processes: {:?}", ran.left);
    Ok(())
}

fn nothing_passes_for_nothing() -> anyhow::Result<()> {
    let ran = conformance("false", &[], 8)?;
    let lenient = |case: &&CaseResult| !case.verdict.is_failure();
    let bad: Vec<&str> = ran.run.cases.iter().filter(lenient).map(|case| case.id.as_str()).collect();
    ensure!(bad.is_empty(), "these do not fail: {}", bad.join(", "));
    ensure!(ran.run.cases.len() > 100, "there are {} cases, which is not the complete catalog", ran.run.cases.len());
    ensure!(ran.code == Some(1), "all failed, and the exit code is {:?}", ran.code);
    ensure!(ran.left.is_empty(), "remaining processes: {:?}", ran.left);
    Ok(())
}

fn defect_is_detected(defect: Defect) -> anyhow::Result<()> {
    let rows: Vec<&Row> = ROWS.iter().filter(|row| row.defect == defect).collect();
    ensure!(!rows.is_empty(), "the table has no row for it");
    let mut cases: Vec<&str> = rows.iter().map(|row| row.case).collect();
    cases.dedup();
    let ran = conformance(&client_command(&format!("--defect {}", name_of(defect)))?, &cases, 4)?;
    ensure!(ran.run.cases.len() == cases.len(), "{} of {} cases were run", ran.run.cases.len(), cases.len());
    let silent: Vec<String> = rows.iter().filter_map(|row| missed(row, &ran.run)).collect();
    ensure!(silent.is_empty(), "{}", silent.join("\n"));
    let failing = rows.iter().any(|row| row.verdict.is_failure());
    ensure!(!failing || ran.code == Some(1), "a case fails, and the exit code is {:?}", ran.code);
    if !ran.left.is_empty() {
        bail!("the workbench left processes of the client: {:?}", ran.left);
    }
    Ok(())
}

/// The difference between a row and the verdict of its check.
fn missed(row: &Row, run: &Run) -> Option<String> {
    let Some(case) = run.cases.iter().find(|case| case.id == row.case) else {
        return Some(format!("{} was not run", row.case));
    };
    let has_verdict = |verdict| case.checks.iter().any(|one| one.id == row.check && one.verdict == verdict);
    let is_expected = has_verdict(row.verdict) && case.verdict >= row.verdict;
    (!is_expected).then(|| format!("`{}` is not {}: {}", row.check, row.verdict.as_str(), describe(case)))
}

/// A case with its failed checks.
fn describe(case: &CaseResult) -> String {
    let mut words = format!("{} {}", case.verdict.as_str(), case.id);
    for one in case.checks.iter().filter(|one| one.verdict > Verdict::Passed) {
        words.push_str(&format!("\n  {} {}: {}; {}", one.verdict.as_str(), one.id, one.expected, one.observed));
    }
    if !case.stderr.is_empty() {
        words.push_str(&format!("\n  stderr: {}", case.stderr.trim()));
    }
    words
}
