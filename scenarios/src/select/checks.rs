//! Selection of scenarios and checks for a server, by their ids.

use std::collections::BTreeSet;

use diagnostics::nearest;
use globset::{Glob, GlobMatcher};
use reports::model::{CaseResult, CheckResult};

use super::{SelectError, area_of};
use crate::{
    judge::{
        check::{Check, Scope},
        checks,
    },
    model::{Scenario, SessionUse, Subject},
};

/// The checks and scenarios to run against a server. The default selects all.
#[derive(Debug, Clone, Default)]
pub struct CheckSelection {
    only: Vec<GlobMatcher>,
    /// The globs of `only` without the transport and the revision of a case.
    scenarios: Vec<GlobMatcher>,
    skip: Vec<GlobMatcher>,
    areas: Vec<String>,
    /// Whether a selected scenario judges a whole session, so that all scenarios of the session have to run.
    has_whole: bool,
}

impl CheckSelection {
    /// Selects by globs on the ids of checks, scenarios and cases, and by areas of requirements.
    ///
    /// # Errors
    /// If a pattern is not a glob, or matches no check and no scenario.
    pub fn new<'s>(
        only: &[String],
        skip: &[String],
        areas: &[String],
        scenarios: impl Iterator<Item = &'s Scenario>,
    ) -> Result<Self, SelectError> {
        let scenarios: Vec<&Scenario> = scenarios.collect();
        let known: BTreeSet<&str> = scenarios.iter().map(|one| one.scenario.as_str()).chain(ids()).collect();
        let globs = |patterns: &[String]| -> Result<Vec<GlobMatcher>, SelectError> {
            patterns.iter().map(|pattern| matcher(pattern, &known)).collect()
        };
        let known_areas = Self::areas();
        for area in areas {
            if !known_areas.contains(area.as_str()) {
                let advice = nearest::advice(area, known_areas.iter().copied());
                return Err(SelectError::Nothing { kind: "area", selector: area.clone(), advice });
            }
        }
        let scenario_globs: Vec<String> = only.iter().map(|pattern| scenario_of(pattern).to_owned()).collect();
        let (only, selected) = (globs(only)?, globs(&scenario_globs)?);
        let is_whole = |one: &&Scenario| one.session == SessionUse::Whole && matches(&selected, &one.scenario);
        let has_whole = scenarios.iter().any(is_whole);
        Ok(Self { only, scenarios: selected, skip: globs(skip)?, areas: areas.to_vec(), has_whole })
    }

    /// The areas of the checks on servers.
    #[must_use]
    pub fn areas() -> BTreeSet<&'static str> {
        checks::for_subject(Subject::Server).map(|check| area_of(check.requirement)).collect()
    }

    /// Whether it names what to run.
    pub(crate) fn is_narrow(&self) -> bool {
        !self.only.is_empty() || !self.areas.is_empty()
    }

    /// Whether a scenario has to run. A check that always applies needs the messages of all shared scenarios.
    #[must_use]
    pub fn needs(&self, scenario: &Scenario) -> bool {
        if matches(&self.skip, &scenario.scenario) {
            return false;
        }
        if self.only.is_empty() && self.areas.is_empty() || matches(&self.scenarios, &scenario.scenario) {
            return true;
        }
        let in_session = scenario.session != SessionUse::Own;
        if self.has_whole && in_session {
            return true;
        }
        checks::for_subject(Subject::Server).filter(|check| self.wants(check.id, check.requirement)).any(|check| {
            scenario.checks.iter().any(|id| id == check.id) || (check.scope == Scope::Always && in_session)
        })
    }

    /// Removes the results of checks that are not selected. Returns whether some are left.
    #[must_use]
    pub fn retain(&self, result: &mut CaseResult) -> bool {
        if self.only.is_empty() && self.areas.is_empty() && self.skip.is_empty() {
            return true;
        }
        let whole = self.is_whole(&result.scenario, &result.id);
        let is_check = |check: &CheckResult| ids().any(|id| id == check.id);
        result.checks.retain(|check| {
            let skipped = matches(&self.skip, &check.id) || matches(&self.skip, &result.id);
            // Steps belong to their scenario.
            !skipped
                && (whole || self.wants(&check.id, &check.requirement.id))
                && (whole || is_check(check) || self.only.is_empty())
        });
        if let Some(verdict) = result.checks.iter().map(|check| check.verdict).max() {
            result.verdict = verdict;
        }
        !result.checks.is_empty()
    }

    /// Whether [`retain`](Self::retain) may keep the result of a check in a case.
    pub(crate) fn may_retain(&self, check: &Check, scenario: &str, case: &str) -> bool {
        self.only.is_empty() || self.is_whole(scenario, case) || self.wants(check.id, check.requirement)
    }

    /// Whether all results of a case are selected.
    fn is_whole(&self, scenario: &str, case: &str) -> bool {
        matches(&self.only, scenario) || matches(&self.only, case)
    }

    /// Whether a check is selected.
    #[must_use]
    pub fn selects(&self, check: &Check) -> bool {
        !matches(&self.skip, check.id) && self.wants(check.id, check.requirement)
    }

    fn wants(&self, check: &str, requirement: &str) -> bool {
        let by_id = self.only.is_empty() || matches(&self.only, check);
        let by_area = self.areas.is_empty() || self.areas.iter().any(|area| area == area_of(requirement));
        by_id && by_area
    }
}

/// The checks on servers.
pub fn server_checks() -> impl Iterator<Item = &'static Check> {
    checks::for_subject(Subject::Server)
}

fn ids<'a>() -> impl Iterator<Item = &'a str> {
    server_checks().map(|check| -> &'a str { check.id })
}

/// The part of a pattern for the id of a case that is for its scenario. The id of a case starts with that of its scenario.
fn scenario_of(pattern: &str) -> &str {
    pattern.split('@').next().unwrap_or_default()
}

fn matches(globs: &[GlobMatcher], text: &str) -> bool {
    globs.iter().any(|glob| glob.is_match(text))
}

fn matcher(pattern: &str, known: &BTreeSet<&str>) -> Result<GlobMatcher, SelectError> {
    let bad = |source| SelectError::BadGlob { glob: pattern.to_owned(), source };
    let matcher = Glob::new(pattern).map_err(bad)?.compile_matcher();
    let by_case = || {
        Glob::new(scenario_of(pattern))
            .ok()
            .is_some_and(|glob| known.iter().any(|id| glob.compile_matcher().is_match(id)))
    };
    if known.iter().any(|id| matcher.is_match(id)) || by_case() {
        return Ok(matcher);
    }
    let advice = nearest::advice(pattern, known.iter().copied());
    Err(SelectError::Nothing { kind: "check or scenario", selector: pattern.to_owned(), advice })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::ScenarioCatalog;

    fn select(only: &[&str], areas: &[&str]) -> Result<CheckSelection, SelectError> {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let catalog = ScenarioCatalog::built_in().expect("the catalog");
        let scenarios: Vec<_> = catalog.scenarios().collect();
        CheckSelection::new(&owned(only), &[], &owned(areas), scenarios.iter().map(AsRef::as_ref))
    }

    #[test]
    fn a_check_selects_the_scenarios_that_need_it() {
        let catalog = ScenarioCatalog::built_in().expect("the catalog");
        let selected = |selection: &CheckSelection| -> Vec<String> {
            let scenarios = catalog.scenarios().filter(|one| one.subject == Subject::Server);
            scenarios.filter(|one| selection.needs(one)).map(|one| one.scenario.clone()).collect()
        };
        let one = select(&["unknown-prompt-code"], &[]).expect("a check");
        assert_eq!(selected(&one), ["server/unknown-prompt"]);
        let always = selected(&select(&["request-answered-once"], &[]).expect("a check"));
        assert!(always.contains(&"server/session".to_owned()) && always.contains(&"server/tools".to_owned()));
        assert!(!always.contains(&"server/future-revision".to_owned()), "{always:?}");
        let area = selected(&select(&[], &["prompts"]).expect("an area"));
        assert!(area.contains(&"server/prompts".to_owned()) && !area.contains(&"server/terminate".to_owned()));
    }

    #[test]
    fn a_case_selects_its_scenario_and_one_of_a_session_all_of_the_session() {
        let catalog = ScenarioCatalog::built_in().expect("the catalog");
        let needed = |only: &str| -> Vec<String> {
            let selection = select(&[only], &[]).expect("a case");
            let scenarios = catalog.scenarios().filter(|one| one.subject == Subject::Server);
            scenarios.filter(|one| selection.needs(one)).map(|one| one.scenario.clone()).collect()
        };
        assert_eq!(needed("server/handshake@stdio@2025-11-25"), ["server/handshake"]);
        let session = needed("server/session@stdio@*");
        assert!(session.contains(&"server/tools".to_owned()), "{session:?}");
        assert!(!session.contains(&"server/future-revision".to_owned()), "{session:?}");
    }

    #[test]
    fn a_misspelled_selector_is_an_error_with_the_nearest_name() {
        let error = select(&["unknown-promt-code"], &[]).expect_err("no such check").to_string();
        assert!(error.contains("unknown-prompt-code"), "{error}");
        let error = select(&[], &["promts"]).expect_err("no such area").to_string();
        assert!(error.contains("prompts"), "{error}");
    }
}
