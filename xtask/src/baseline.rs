//! The baseline of known failures: a file with one case id a line. What stands after `#` is a remark.

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::Context as _;
use reports::model::{BaselineState, CaseResult};
use scenarios::plan::Plan;

use crate::failure::Failure;

/// The ids of cases that are known to fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Baseline {
    ids: BTreeSet<String>,
}

impl Baseline {
    /// Reads the file.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read the baseline {}", path.display()));
        Ok(Self::parse(&text.map_err(Failure::input)?))
    }

    fn parse(text: &str) -> Self {
        let ids = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        Self { ids: ids.filter(|id| !id.is_empty()).map(str::to_owned).collect() }
    }

    /// Compares the list with what a run found. An entry is stale if its case was run and did not fail, or if there is
    /// no such case in the whole catalogue; a case that was only not selected says nothing.
    pub(crate) fn compare(&self, cases: &[CaseResult], catalogue: &Plan) -> BaselineState {
        let mut state = BaselineState::default();
        for id in &self.ids {
            match cases.iter().find(|case| case.id == *id) {
                Some(case) if case.verdict.is_failure() => state.known.push(id.clone()),
                Some(_) => state.stale.push(id.clone()),
                None if catalogue.cases.iter().any(|case| case.id == *id) => {}
                None => state.stale.push(id.clone()),
            }
        }
        state
    }
}

#[cfg(test)]
mod tests {
    use reports::model::Verdict;

    use super::*;

    fn case(id: &str, verdict: Verdict) -> CaseResult {
        CaseResult {
            id: id.into(),
            scenario: String::new(),
            transport: String::new(),
            revision: String::new(),
            title: String::new(),
            verdict,
            judgements: vec![],
            exhibits: vec![],
            stderr: String::new(),
            elapsed_ms: 0,
        }
    }

    #[test]
    fn a_listed_case_that_passes_or_is_gone_is_stale() {
        let baseline = Baseline::parse("# known\na@stdio@2025-11-25 # upstream bug 7\n\nb\nc\n");
        let cases = [case("a@stdio@2025-11-25", Verdict::Failed), case("b", Verdict::Passed)];
        let state = baseline.compare(&cases, &Plan::default());
        assert_eq!(state.known, ["a@stdio@2025-11-25"]);
        assert_eq!(state.stale, ["b", "c"]);
    }
}
