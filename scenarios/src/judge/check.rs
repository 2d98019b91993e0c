//! What a check is: a named, pure function over evidence, bound to one requirement.

use crate::{evidence::Evidence, model::Subject};

/// A rule that is looked for in the evidence of a case.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// The stable id, the same whether it holds or not.
    pub id: &'static str,
    /// The id of its requirement in the register. The requirement's level decides whether a breach fails or warns.
    pub requirement: &'static str,
    /// Whose behaviour it judges.
    pub subject: Subject,
    /// Whether it applies to every case of that subject, or only to those whose scenario names it.
    pub scope: Scope,
    /// What must be, in one sentence.
    pub expected: &'static str,
    /// Looks for it.
    pub rule: fn(&Evidence) -> Ruling,
}

/// To which cases a check applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// To every case of its subject.
    Always,
    /// To the cases whose scenario names it.
    Named,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// The rule held, as these words and frames show.
    Held {
        /// What was seen.
        observed: String,
        /// The frames that show it.
        frames: Vec<u64>,
    },
    /// The rule was broken.
    Broken {
        /// What was seen instead.
        observed: String,
        /// The frames that show it.
        frames: Vec<u64>,
    },
    /// The evidence holds nothing that the rule is about, for this reason.
    NotApplicable(String),
    /// A prerequisite is missing, so the rule could not be judged. It counts as a failure.
    Blocked(String),
}

impl Ruling {
    /// The rule held.
    pub(crate) fn held(observed: impl Into<String>, frames: Vec<u64>) -> Self {
        Self::Held { observed: observed.into(), frames }
    }

    /// The rule was broken.
    pub(crate) fn broken(observed: impl Into<String>, frames: Vec<u64>) -> Self {
        Self::Broken { observed: observed.into(), frames }
    }
}
