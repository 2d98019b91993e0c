//! Proofs of features and their status.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Status of a proof. The status of a feature is the maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ProofStatus {
    /// It passed.
    Passed,
    /// It was not run or ignored.
    NotRun,
    /// It failed.
    Failed,
}

impl fmt::Display for ProofStatus {
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
    /// Its name in the list of features.
    pub(super) name: String,
    /// Its status.
    pub(super) status: ProofStatus,
}
