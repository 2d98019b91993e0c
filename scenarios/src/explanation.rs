//! What is known about a requirement or a check: rule, specification page, checks and scenarios.

use diagnostics::nearest;
use reports::model::{Profile, Requirement};
use serde::Serialize;
use thiserror::Error;

use crate::{
    judge::checks,
    model::{Revision, Scenario},
    requirements::Register,
};

/// A requirement with the checks and scenarios that test it.
#[derive(Debug, Clone, Serialize)]
pub struct Explanation {
    /// The rule.
    pub requirement: Requirement,
    /// The kinds of clients that it applies to, if it is a requirement on clients.
    pub profiles: Vec<Profile>,
    /// Its checks; only the check that was asked for, if it was one.
    pub checks: Vec<CheckSummary>,
    /// The ids of the scenarios that test the requirement or name one of the checks.
    pub scenarios: Vec<String>,
}

/// A check.
#[derive(Debug, Clone, Serialize)]
pub struct CheckSummary {
    /// Its id.
    pub id: &'static str,
    /// The expected behavior in one sentence.
    pub expected: &'static str,
}

/// No requirement or check has this id.
#[derive(Debug, Error)]
#[error("unknown requirement or check `{id}`")]
pub struct UnknownRequirement {
    id: String,
    /// The nearest id.
    pub help: String,
}

impl Register {
    /// Explains the requirement or the check with this id, as of a revision.
    ///
    /// # Errors
    /// If there is none.
    pub fn explain<'a>(
        &self,
        id: &str,
        revision: Revision,
        scenarios: impl IntoIterator<Item = &'a Scenario>,
    ) -> Result<Explanation, UnknownRequirement> {
        let of_requirement = |id: &str| {
            checks::all().map(|(check, _)| check).filter(|check| check.requirement == id).collect::<Vec<_>>()
        };
        let found = match checks::all().map(|(check, _)| check).find(|check| check.id == id) {
            Some(check) => self.get(check.requirement, revision).map(|requirement| (requirement, vec![check])),
            None => self.get(id, revision).map(|requirement| (requirement, of_requirement(id))),
        };
        let (requirement, checks) = found.ok_or_else(|| {
            let known = self.ids().chain(checks::all().map(|(check, _)| check).map(|check| check.id));
            UnknownRequirement { id: id.to_owned(), help: nearest::advice(id, known) }
        })?;
        let tests = |scenario: &&Scenario| {
            let named = scenario.checks.iter().any(|name| checks.iter().any(|check| check.id == name));
            named || (scenario.requirement.as_ref() == Some(&requirement.id) && requirement.id == id)
        };
        let scenarios = scenarios.into_iter().filter(tests).map(|scenario| scenario.scenario.clone()).collect();
        let checks = checks.iter().map(|check| CheckSummary { id: check.id, expected: check.expected }).collect();
        let profiles = Profile::ALL.into_iter().filter(|profile| self.applies_to(&requirement.id, *profile)).collect();
        Ok(Explanation { requirement, profiles, checks, scenarios })
    }
}
