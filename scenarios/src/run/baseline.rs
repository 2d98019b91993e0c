//! The baseline of known failures: one case id per line; `#` starts a comment.

use std::{collections::BTreeSet, sync::Arc};

use reports::model::{BaselineState, CaseResult};

use crate::{Scenario, catalog::current_id, plan::Plan, select::Selection};

/// Ids of cases that are known to fail.
#[derive(Debug, Clone)]
pub struct Baseline {
    ids: BTreeSet<String>,
    scenarios: Vec<Arc<Scenario>>,
}

impl Baseline {
    /// Parses a baseline file. An id that is not a case of `scenarios` is stale.
    #[must_use]
    pub fn parse(text: &str, scenarios: Vec<Arc<Scenario>>) -> Self {
        let ids = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        Self { ids: ids.filter(|id| !id.is_empty()).map(current_id).collect(), scenarios }
    }

    /// Compares the baseline with results. An entry is stale if its case did not fail or does not exist. An entry whose
    /// case was not selected is ignored.
    #[must_use]
    pub fn compare(&self, cases: &[CaseResult]) -> BaselineState {
        let mut state = BaselineState::default();
        for id in &self.ids {
            match cases.iter().find(|case| case.id == *id) {
                Some(case) if case.verdict.is_failure() => state.known.push(id.clone()),
                None if self.exists(id) => {}
                _ => state.stale.push(id.clone()),
            }
        }
        state
    }

    fn exists(&self, id: &str) -> bool {
        let scenario = id.split('@').next().unwrap_or_default();
        let candidates = self.scenarios.iter().filter(|candidate| candidate.scenario == scenario).cloned();
        let plan = Plan::new(candidates, &Selection::default(), 0).unwrap_or_default();
        plan.cases.iter().any(|case| case.id == id)
    }
}

#[cfg(test)]
mod tests {
    use reports::model::Verdict;

    use super::*;
    use crate::catalog::ScenarioCatalog;

    fn case(id: &str, verdict: Verdict) -> CaseResult {
        CaseResult {
            id: id.into(),
            scenario: String::new(),
            transport: String::new(),
            revision: String::new(),
            title: String::new(),
            verdict,
            checks: vec![],
            frames: vec![],
            stderr: String::new(),
            end: None,
            elapsed_ms: 0,
        }
    }

    #[test]
    fn an_entry_is_stale_if_its_case_passes_or_does_not_exist() {
        let scenarios: Vec<_> = ScenarioCatalog::built_in().expect("the built-in catalog").scenarios().collect();
        let plan = Plan::new(scenarios.clone(), &Selection::default(), 0).expect("a plan");
        let unselected = plan.cases.first().expect("a case").id.clone();
        let text = format!("# known\na@stdio@2025-11-25 # upstream bug 7\n\nb\nc\n{unselected}\n");
        let baseline = Baseline::parse(&text, scenarios);
        let cases = [case("a@stdio@2025-11-25", Verdict::Failed), case("b", Verdict::Passed)];
        let state = baseline.compare(&cases);
        assert_eq!(state.known, ["a@stdio@2025-11-25"]);
        assert_eq!(state.stale, ["b", "c"]);
    }
}
