//! What shows a feature, and what came of it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What came of a proof, or of all proofs of a feature: the worst of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Verdict {
    /// It holds.
    Passed,
    /// It was not run here, or was left out.
    NotRun,
    /// It does not hold.
    Failed,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Passed => "passed",
            Self::NotRun => "not run",
            Self::Failed => "failed",
        })
    }
}

/// A scenario or a test.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Proof {
    /// As the list of features names it.
    pub(super) name: String,
    /// What came of it.
    pub(super) verdict: Verdict,
}
