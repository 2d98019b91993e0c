//! The results of a validation by area, and the failures and warnings of a run by cause: one finding for each check, with
//! the cases that it affects.

use std::collections::BTreeMap;

use crate::model::{CaseResult, CheckResult, Run, ToolPortability, Verdict};

use super::{outcome, text};

/// A failed or warned check, in all cases in which it did not pass.
pub(super) struct Finding<'r> {
    /// The most severe verdict.
    pub(super) verdict: Verdict,
    /// The check in the first case with that verdict.
    pub(super) check: &'r CheckResult,
    /// The first case with that verdict.
    pub(super) case: &'r CaseResult,
    /// The ids of all affected cases, in the order of the run.
    pub(super) affected: Vec<&'r str>,
    /// Whether the baseline lists all affected cases.
    pub(super) is_known: bool,
}

/// How a tool differs for a provider, in one line.
pub(super) fn difference(tool: &ToolPortability) -> String {
    let word = if tool.rejected { "rejected: " } else { "" };
    format!("{}: {word}{}", tool.tool, tool.reasons.join("; "))
}

/// The tools that were called, each with the number of its calls; and the others by the reason why not.
pub(super) fn tool_calls(run: &Run) -> (Vec<String>, BTreeMap<&str, Vec<&str>>) {
    let mut not_called: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut called = Vec::new();
    for one in &run.tool_calls {
        match &one.reason {
            Some(reason) => not_called.entry(reason).or_default().push(&one.tool),
            None => called.push(format!("{} ({})", one.tool, one.calls)),
        }
    }
    (called, not_called)
}

/// The findings of a run, the most severe first. Checks that another failure prevented are merged by that failure.
pub(super) fn findings(run: &Run) -> Vec<Finding<'_>> {
    let mut found: Vec<Finding<'_>> = Vec::new();
    let mut positions = BTreeMap::new();
    for case in &run.cases {
        for check in &case.checks {
            if matches!(check.verdict, Verdict::Passed | Verdict::Skipped) {
                continue;
            }
            let cause = if check.verdict == Verdict::Blocked { &check.observed } else { &check.id };
            // Steps of different scenarios have the same id, but not the same requirement.
            let requirement = if check.verdict == Verdict::Blocked { "" } else { &check.requirement.id };
            let key = (check.verdict == Verdict::Blocked, cause, requirement);
            let is_known = outcome::is_known(run, case);
            let position = *positions.entry(key).or_insert_with(|| {
                found.push(Finding { verdict: check.verdict, check, case, affected: Vec::new(), is_known: true });
                found.len() - 1
            });
            let finding = &mut found[position];
            if check.verdict > finding.verdict {
                (finding.verdict, finding.check, finding.case) = (check.verdict, check, case);
            }
            finding.is_known &= is_known;
            if finding.affected.last() != Some(&case.id.as_str()) {
                finding.affected.push(&case.id);
            }
        }
    }
    // What was prevented follows from the other failures.
    found.sort_by_key(|finding| {
        let severity = match finding.verdict {
            Verdict::Failed => 0,
            Verdict::Flaky => 1,
            Verdict::Blocked => 2,
            _ => 3,
        };
        (finding.is_known, severity)
    });
    found
}

/// Results of the checks of one area.
#[derive(Debug, Default)]
pub(super) struct AreaCounts<'r> {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) warned: usize,
    pub(super) skipped: usize,
    /// The most common reason for skipped checks.
    pub(super) reason: Option<&'r str>,
}

/// The results of all checks by area: the first part of the id of their requirement.
pub(super) fn areas(run: &Run) -> BTreeMap<&str, AreaCounts<'_>> {
    let mut areas: BTreeMap<&str, AreaCounts<'_>> = BTreeMap::new();
    let mut reasons: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for check in run.cases.iter().flat_map(|case| &case.checks) {
        let area = check.requirement.id.split('/').next().unwrap_or_default();
        let counts = areas.entry(area).or_default();
        match check.verdict {
            Verdict::Passed => counts.passed += 1,
            Verdict::Skipped => {
                counts.skipped += 1;
                *reasons.entry(area).or_default().entry(&check.observed).or_default() += 1;
            }
            Verdict::Noted | Verdict::Warned => counts.warned += 1,
            Verdict::Flaky | Verdict::Blocked | Verdict::Failed => counts.failed += 1,
        }
    }
    for (area, reasons) in reasons {
        let most = reasons.into_iter().max_by_key(|(_, count)| *count).map(|(reason, _)| reason);
        if let Some(counts) = areas.get_mut(area) {
            counts.reason = most;
        }
    }
    areas
}

/// A word for a shell, which must not expand a glob.
fn shell_word(text: &str) -> String {
    if text.chars().all(|one| one.is_alphanumeric() || "-_./".contains(one)) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The command that repeats one check.
pub(super) fn repeat_command(run: &Run, finding: &Finding<'_>) -> String {
    let subject = text::line(&run.header.subject);
    let target = if subject.starts_with("http://") || subject.starts_with("https://") {
        format!("--url {subject}")
    } else {
        format!("-- {subject}")
    };
    // Steps have no id of their own.
    let is_step = finding.check.id.contains(['[', '.']) || finding.verdict == Verdict::Blocked;
    let id = if is_step { &finding.case.scenario } else { &finding.check.id };
    let calls = run.header.call_tools.iter().map(|glob| format!(" --call-tools {}", shell_word(&text::line(glob))));
    let calls: String = calls.collect();
    let revision = text::line(&finding.case.revision);
    format!("mcp-workbench validate --only {} --revision {revision}{calls} {target}", text::line(id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_check_is_repeated_with_the_same_tools() {
        let mut run = sample::run(vec![sample::failed()]);
        run.header.subject = "node server.mjs".to_owned();
        let command = |run: &Run| repeat_command(run, &findings(run)[0]);
        assert_eq!(
            command(&run),
            "mcp-workbench validate --only timeout-sends-cancel --revision 2025-11-25 -- node server.mjs"
        );
        run.header.call_tools = vec!["all".to_owned(), "get-*".to_owned(), "it's".to_owned()];
        let tools = r"--call-tools all --call-tools 'get-*' --call-tools 'it'\''s'";
        assert_eq!(
            command(&run),
            format!(
                "mcp-workbench validate --only timeout-sends-cancel --revision 2025-11-25 {tools} -- node server.mjs"
            )
        );
    }
}
