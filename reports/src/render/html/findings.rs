//! Findings of a run as static HTML: one for each check that did not pass, with the cases that it affects.

use super::{labels::sign, link};
use crate::{
    model::{Run, RunKind},
    render::{
        findings::{self, Finding},
        text,
    },
};

/// Maximum number of findings; the list of cases has all.
const MAX_FINDINGS: usize = 100;
/// Maximum number of affected cases of a finding.
const MAX_AFFECTED: usize = 12;

/// A check that did not pass.
pub(super) struct FindingView {
    pub(super) verdict: &'static str,
    pub(super) sign: &'static str,
    /// Whether the baseline lists all affected cases.
    pub(super) is_known: bool,
    pub(super) check: String,
    pub(super) level: &'static str,
    pub(super) requirement: String,
    pub(super) rule: String,
    pub(super) source: Option<String>,
    pub(super) expected: String,
    pub(super) observed: String,
    pub(super) advice: Option<String>,
    /// Number of affected cases.
    pub(super) count: usize,
    /// Ids and links of the first affected cases.
    pub(super) affected: Vec<(String, String)>,
    pub(super) more: usize,
    /// The command that repeats the check.
    pub(super) command: Option<String>,
}

/// The most severe findings first, and the number of findings that are not shown.
pub(super) fn findings(run: &Run, number: Option<usize>) -> (Vec<FindingView>, usize) {
    let found = findings::findings(run);
    let omitted = found.len().saturating_sub(MAX_FINDINGS);
    (found.iter().take(MAX_FINDINGS).map(|finding| view(run, finding, number)).collect(), omitted)
}

fn view(run: &Run, finding: &Finding<'_>, number: Option<usize>) -> FindingView {
    let Finding { verdict, check, affected, is_known, .. } = finding;
    let requirement = &check.requirement;
    // The first case with the most severe verdict shows the finding best.
    let first = finding.case.id.as_str();
    let ids = std::iter::once(first).chain(affected.iter().copied().filter(|id| *id != first));
    FindingView {
        verdict: verdict.as_str(),
        sign: sign(*verdict),
        is_known: *is_known && verdict.is_failure(),
        check: text::bounded_line(&check.id, 200),
        level: requirement.level.as_str(),
        requirement: text::bounded_line(&requirement.id, 200),
        rule: text::line(&requirement.text),
        source: link::to_source(&requirement.url),
        expected: text::line(&check.expected),
        observed: text::line(&check.observed),
        advice: requirement.advice.as_deref().map(text::line),
        count: affected.len(),
        affected: ids.take(MAX_AFFECTED).map(|id| (text::bounded_line(id, 200), link::to_case(id, number))).collect(),
        more: affected.len().saturating_sub(MAX_AFFECTED),
        command: command(run, finding),
    }
}

/// The command that repeats a check of a server. The options of other runs are not recorded.
fn command(run: &Run, finding: &Finding<'_>) -> Option<String> {
    match run.header.kind {
        RunKind::Validate => Some(findings::repeat_command(run, finding)),
        RunKind::Conformance | RunKind::Bench => None,
    }
}
