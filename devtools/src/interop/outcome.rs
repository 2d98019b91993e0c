//! What came of a check: rows of verdicts, or the reason why there are none.

use std::{path::PathBuf, time::Duration};

use serde::Serialize;

/// What is thought of one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Verdict {
    /// Everything was seen as it should be.
    Passed,
    /// Something was not, or was never seen.
    Failed,
    /// Nobody can pass it, because the official suite does not try it.
    Untestable,
}

impl Verdict {
    /// The word for people.
    pub(super) fn word(self) -> &'static str {
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
    /// Why the suite runs it: `scored`, or the reason for which it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<String>,
    /// How many checks passed.
    pub(super) passed: usize,
    /// How many failed.
    pub(super) failed: usize,
    /// How many warned.
    pub(super) warned: usize,
    /// What is thought of it.
    pub(super) verdict: Verdict,
    /// Why it did not pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
}

impl Row {
    /// A row of one judgement: nothing to object to, or the objection.
    pub(super) fn of(name: &str, objection: Option<String>) -> Self {
        Self {
            name: name.to_owned(),
            kind: None,
            passed: usize::from(objection.is_none()),
            failed: usize::from(objection.is_some()),
            warned: 0,
            verdict: if objection.is_none() { Verdict::Passed } else { Verdict::Failed },
            reason: objection,
        }
    }
}

/// One check, over.
#[derive(Debug, Clone)]
pub(super) struct Outcome {
    /// Its name.
    pub(super) check: String,
    /// What it found, row by row.
    pub(super) rows: Vec<Row>,
    /// Why it could not be carried out, or not to its end.
    pub(super) trouble: Option<String>,
    /// How long it took.
    pub(super) took: Duration,
    /// Where the output of everything that ran is kept.
    pub(super) folder: PathBuf,
}

impl Outcome {
    /// Whether everything was shown. A check that showed nothing did not.
    pub(super) fn passed(&self) -> bool {
        self.trouble.is_none()
            && self.rows.iter().all(|row| row.verdict != Verdict::Failed)
            && self.count(Verdict::Passed) > 0
    }

    /// How many rows have this verdict.
    pub(super) fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(rows: Vec<Row>, trouble: Option<&str>) -> Outcome {
        let trouble = trouble.map(str::to_owned);
        Outcome { check: "x".to_owned(), rows, trouble, took: Duration::ZERO, folder: PathBuf::new() }
    }

    #[test]
    fn holds_only_if_something_passed_and_nothing_failed() {
        let passed = Row::of("a", None);
        let failed = Row::of("b", Some("wrong".to_owned()));
        let untestable = Row { verdict: Verdict::Untestable, ..Row::of("c", Some("never tried".to_owned())) };
        assert!(outcome(vec![passed.clone(), untestable.clone()], None).passed());
        assert!(!outcome(vec![], None).passed());
        assert!(!outcome(vec![untestable], None).passed());
        assert!(!outcome(vec![passed.clone(), failed], None).passed());
        assert!(!outcome(vec![passed], Some("crashed")).passed());
    }
}
