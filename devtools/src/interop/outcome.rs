//! Results of a check: rows with a status, or the error that prevented them.

use std::{path::PathBuf, time::Duration};

use serde::Serialize;

/// Result of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum CheckStatus {
    /// All results were as expected.
    Passed,
    /// A result was unexpected or is missing.
    Failed,
    /// The official suite does not execute it.
    Untestable,
}

impl CheckStatus {
    /// The name in tables.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "FAILED",
            Self::Untestable => "untestable",
        }
    }
}

/// One scenario of the suite, or one step of a client.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Row {
    /// The scenario or step.
    pub(super) name: String,
    /// `scored`, or why the suite does not score it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<String>,
    /// Number of passed checks.
    pub(super) passed: usize,
    /// Number of failed checks.
    pub(super) failed: usize,
    /// Number of checks with warnings.
    pub(super) warned: usize,
    /// The result.
    pub(super) status: CheckStatus,
    /// Why it did not pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
}

impl Row {
    /// A row with one check, which failed if there is a reason.
    pub(super) fn new(name: &str, reason: Option<String>) -> Self {
        Self {
            name: name.to_owned(),
            kind: None,
            passed: usize::from(reason.is_none()),
            failed: usize::from(reason.is_some()),
            warned: 0,
            status: if reason.is_none() { CheckStatus::Passed } else { CheckStatus::Failed },
            reason,
        }
    }
}

/// One finished check.
#[derive(Debug, Clone)]
pub(super) struct Outcome {
    /// Name of the check.
    pub(super) check: String,
    /// Its rows.
    pub(super) rows: Vec<Row>,
    /// Why the check could not be completed.
    pub(super) error: Option<String>,
    /// Duration of the check.
    pub(super) duration: Duration,
    /// Directory with the output of all programs.
    pub(super) directory: PathBuf,
}

impl Outcome {
    /// Whether at least one row passed and none failed.
    pub(super) fn passed(&self) -> bool {
        self.error.is_none()
            && self.rows.iter().all(|row| row.status != CheckStatus::Failed)
            && self.count(CheckStatus::Passed) > 0
    }

    /// Number of rows with this status.
    pub(super) fn count(&self, status: CheckStatus) -> usize {
        self.rows.iter().filter(|row| row.status == status).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(rows: Vec<Row>, error: Option<&str>) -> Outcome {
        let error = error.map(str::to_owned);
        Outcome { check: "x".to_owned(), rows, error, duration: Duration::ZERO, directory: PathBuf::new() }
    }

    #[test]
    fn passes_only_if_a_row_passed_and_none_failed() {
        let passed = Row::new("a", None);
        let failed = Row::new("b", Some("wrong".to_owned()));
        let untestable = Row { status: CheckStatus::Untestable, ..Row::new("c", Some("never tried".to_owned())) };
        assert!(outcome(vec![passed.clone(), untestable.clone()], None).passed());
        assert!(!outcome(vec![], None).passed());
        assert!(!outcome(vec![untestable], None).passed());
        assert!(!outcome(vec![passed.clone(), failed], None).passed());
        assert!(!outcome(vec![passed], Some("crashed")).passed());
    }
}
