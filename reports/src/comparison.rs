//! Comparison of two runs: what was fixed, what broke, and what became slower, by case and by check.
//!
//! [`Comparison`] is a public format, versioned by [`FORMAT`]; its JSON Schema is generated into `reports/schema/`.
//! [`crate::render::comparison`] renders it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{Requirement, Run, RunHeader, RunKind, Verdict};

mod cases;
mod loads;
#[cfg(test)]
mod tests;

/// Version of the format. It changes when a reader of the old format would misread the new one.
pub const FORMAT: u32 = 1;

/// The differences between two runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Version of this format: 1.
    pub format: u32,
    /// The earlier run.
    pub old: ComparedRun,
    /// The later run.
    pub new: ComparedRun,
    /// How much slower is not reported.
    pub tolerance: Tolerance,
    /// Number of changes by kind.
    pub counts: ChangeCounts,
    /// Number of checks with equal verdicts in both runs.
    pub unchanged: usize,
    /// The changes, the most severe kind first; within a kind in the order of the new run.
    pub changes: Vec<Change>,
}

/// A compared run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedRun {
    /// Identifier of the run.
    pub run_id: String,
    /// The command that made it.
    pub kind: RunKind,
    /// Version of the workbench.
    pub workbench: String,
    /// Start time (RFC 3339, UTC).
    pub started: String,
    /// The client or server under test.
    pub subject: String,
    /// Whether every planned case finished. Cases of an interrupted run that did not finish are missing in it.
    pub complete: bool,
    /// Whether the run passed.
    pub passed: bool,
    /// Whether flaky checks do not fail the run.
    pub allow_flaky: bool,
}

/// How much slower is not reported. Both the relative and the absolute limit must be exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tolerance {
    /// Relative limit, in percent of the old value.
    pub percent: f64,
    /// Absolute limit for durations of cases, in milliseconds.
    pub case_ms: u64,
    /// Absolute limit for latencies of load tests, in microseconds.
    pub latency_us: u64,
}

impl Default for Tolerance {
    fn default() -> Self {
        Self { percent: 20.0, case_ms: 250, latency_us: 1_000 }
    }
}

impl Tolerance {
    /// Whether the new value exceeds the old one by more than both limits.
    fn is_exceeded(&self, old: f64, new: f64, floor: f64) -> bool {
        new - old > floor && new > old * (1.0 + self.percent / 100.0)
    }
}

/// The kind of a change, the most severe first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// Fails now, and did not before.
    Broken,
    /// Fails in some of several runs now, and did not before.
    Flaky,
    /// Warns now, and did not before.
    Warned,
    /// Takes longer than the tolerance allows.
    Slower,
    /// Failed or warned before, and no longer does.
    Fixed,
    /// Was checked before, and no longer is.
    Removed,
    /// Is checked now, and was not before. It is not broken, even if it fails.
    New,
}

impl ChangeKind {
    /// All kinds, the most severe first.
    pub const ALL: [Self; 7] =
        [Self::Broken, Self::Flaky, Self::Warned, Self::Slower, Self::Fixed, Self::Removed, Self::New];

    /// The name in reports and files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Broken => "broken",
            Self::Flaky => "flaky",
            Self::Warned => "warned",
            Self::Slower => "slower",
            Self::Fixed => "fixed",
            Self::Removed => "removed",
            Self::New => "new",
        }
    }
}

/// Number of changes by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeCounts {
    /// Checks that fail now.
    pub broken: usize,
    /// Checks that are flaky now.
    pub flaky: usize,
    /// Checks that warn now.
    pub warned: usize,
    /// Cases and load tests that became slower.
    pub slower: usize,
    /// Checks that no longer fail or warn.
    pub fixed: usize,
    /// Cases and checks of the old run only.
    pub removed: usize,
    /// Cases and checks of the new run only.
    pub new: usize,
}

impl ChangeCounts {
    /// The number of one kind.
    #[must_use]
    pub fn count(&self, kind: ChangeKind) -> usize {
        match kind {
            ChangeKind::Broken => self.broken,
            ChangeKind::Flaky => self.flaky,
            ChangeKind::Warned => self.warned,
            ChangeKind::Slower => self.slower,
            ChangeKind::Fixed => self.fixed,
            ChangeKind::Removed => self.removed,
            ChangeKind::New => self.new,
        }
    }

    fn add(&mut self, kind: ChangeKind) {
        *match kind {
            ChangeKind::Broken => &mut self.broken,
            ChangeKind::Flaky => &mut self.flaky,
            ChangeKind::Warned => &mut self.warned,
            ChangeKind::Slower => &mut self.slower,
            ChangeKind::Fixed => &mut self.fixed,
            ChangeKind::Removed => &mut self.removed,
            ChangeKind::New => &mut self.new,
        } += 1;
    }
}

/// One change of a check, a case or a load test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The kind.
    pub kind: ChangeKind,
    /// Id of the case, or name of the load test.
    pub case: String,
    /// Id of the check or threshold; absent for a change of the whole case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// The verdict in the old run, if the check was in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<Verdict>,
    /// The verdict in the new run, if the check is in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<Verdict>,
    /// The rule of the check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirement: Option<Requirement>,
    /// What was observed in the new run, or in the old run if the check is only in it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub observed: String,
    /// The values that became slower.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measured>,
}

/// A value of both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// What was measured: `duration`, `p50`, `p95`, `p99` or `achieved_rate`.
    pub what: String,
    /// The unit: `ms`, `us` or `1/s`.
    pub unit: String,
    /// The value in the old run.
    pub old: f64,
    /// The value in the new run.
    pub new: f64,
}

impl Comparison {
    /// Compares two runs.
    #[must_use]
    pub fn between(old: &Run, new: &Run, tolerance: Tolerance) -> Self {
        let mut found = cases::compare(old, new, &tolerance);
        let loads = loads::compare(old, new, &tolerance);
        found.changes.extend(loads.changes);
        found.changes.sort_by_key(|change| change.kind);
        let mut counts = ChangeCounts::default();
        found.changes.iter().for_each(|change| counts.add(change.kind));
        Self {
            format: FORMAT,
            old: compared(old),
            new: compared(new),
            tolerance,
            counts,
            unchanged: found.unchanged + loads.unchanged,
            changes: found.changes,
        }
    }

    /// Whether something broke: a check fails now, or is flaky in a run that flaky checks fail.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.counts.broken > 0 || (self.counts.flaky > 0 && !self.new.allow_flaky)
    }

    /// Whether something broke or became slower.
    #[must_use]
    pub fn is_slower_or_broken(&self) -> bool {
        self.is_broken() || self.counts.slower > 0
    }
}

fn compared(run: &Run) -> ComparedRun {
    let RunHeader { run_id, kind, workbench, started, subject, policy, .. } = run.header.clone();
    let (complete, passed, allow_flaky) = (run.complete, run.passed(), policy.allow_flaky);
    ComparedRun { run_id, kind, workbench, started, subject, complete, passed, allow_flaky }
}

/// Changes of one kind of results, and the number of checks without one.
#[derive(Debug, Default)]
struct Changes {
    changes: Vec<Change>,
    unchanged: usize,
}

/// JSON Schema of a [`Comparison`], generated into `reports/schema/comparison-1.schema.json`.
#[must_use]
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Comparison).to_value();
    // Readers must reject another version instead of misreading it.
    schema["properties"]["format"]["const"] = FORMAT.into();
    schema
}

/// Path of the schema file below the workspace root, and its content.
#[must_use]
pub fn schema_file() -> (&'static str, String) {
    ("reports/schema/comparison-1.schema.json", format!("{:#}\n", schema()))
}
