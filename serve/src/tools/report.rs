//! The report of a run as the result of a tool: counts, and failed cases with their evidence.

use std::fmt::Write as _;

use diagnostics::printable;
use reports::model::{CaseResult, CheckResult, Counts, Level, ReportFrame, Requirement, Verdict};
use scenarios::run::FinishedRun;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::run::{ReportFormat, write_reports};
use crate::error::ToolError;

/// Maximum number of failures and of warnings with details; the journal has all.
const MAX_CASES: usize = 20;
/// Maximum number of frames of a case.
const MAX_FRAMES: usize = 6;
/// Maximum number of characters of a frame.
const MAX_BODY: usize = 1_500;

/// Results of a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunReport {
    /// Whether the run passed: at least one case was not skipped, and no case failed or was blocked.
    pub(super) passed: bool,
    /// The client or server under test.
    pub(super) subject: String,
    /// Number of cases per verdict.
    pub(super) counts: Counts,
    /// Duration in milliseconds.
    pub(super) elapsed_ms: u64,
    /// Random seed.
    pub(super) seed: u64,
    /// Failed and blocked cases, up to a limit.
    pub(super) failures: Vec<FailedCase>,
    /// Cases with warnings, up to a limit.
    pub(super) warnings: Vec<FailedCase>,
    /// Number of omitted failures and warnings.
    pub(super) omitted: usize,
    /// The journal, if it could be written; `mcp-workbench report <journal>` renders it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) journal: Option<String>,
    /// The written reports.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) reports: Vec<String>,
}

/// A case that failed, was blocked or has warnings.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct FailedCase {
    /// `<scenario>@<transport>@<revision>`.
    id: String,
    /// Title of the scenario.
    title: String,
    /// Its verdict.
    verdict: Verdict,
    /// Checks that did not pass, the most severe first.
    checks: Vec<FailedCheck>,
    /// The frames that the checks cite, and the frames around them.
    evidence: Vec<Frame>,
    /// The end of the process's standard error.
    #[serde(skip_serializing_if = "String::is_empty")]
    stderr: String,
}

/// A check that did not pass.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(super) struct FailedCheck {
    /// Id of the check.
    check: String,
    /// Its verdict.
    verdict: Verdict,
    /// The violated requirement and its source.
    requirement: Rule,
    /// The required behavior.
    expected: String,
    /// The observed behavior.
    observed: String,
    /// `seq` of the frames that show it.
    frames: Vec<u64>,
}

/// A requirement.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Rule {
    /// Its id, an argument of `explain_requirement`.
    pub(crate) id: String,
    /// Its level.
    pub(crate) level: Level,
    /// Summary of the rule.
    pub(crate) text: String,
    /// Its source.
    pub(crate) url: String,
    /// What usually mends a violation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) advice: Option<String>,
}

/// A recorded frame.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct Frame {
    /// Position in the transcript.
    seq: u64,
    /// Whether the client sent the frame.
    from_client: bool,
    /// Summary of the HTTP envelope, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    http: Option<String>,
    /// The message; a string if it is not JSON or too long.
    body: Value,
}

impl From<Requirement> for Rule {
    fn from(Requirement { id, level, text, url, advice }: Requirement) -> Self {
        Self { id, level, text, url, advice }
    }
}

impl RunReport {
    /// Creates the report of a finished run, and writes reports in the given formats.
    pub(super) fn new(finished: FinishedRun, formats: &[ReportFormat]) -> Result<Self, ToolError> {
        let FinishedRun { run, journal } = finished;
        let reports = write_reports(&run, formats, journal.as_deref())?;
        let counts = run.counts();
        let details = |wanted: fn(Verdict) -> bool| -> Vec<FailedCase> {
            let cases = run.cases.iter().filter(|case| wanted(case.verdict));
            cases.take(MAX_CASES).map(FailedCase::new).collect()
        };
        let failures = details(Verdict::is_failure);
        let warnings = details(|verdict| matches!(verdict, Verdict::Warned | Verdict::Noted));
        Ok(Self {
            passed: run.passed(),
            counts,
            elapsed_ms: run.elapsed_ms,
            seed: run.header.seed,
            omitted: counts.failed + counts.blocked + counts.flaky + counts.warned + counts.noted
                - failures.len()
                - warnings.len(),
            failures,
            warnings,
            subject: run.header.subject,
            journal: journal.map(|path| path.display().to_string()),
            reports,
        })
    }
}

impl FailedCase {
    fn new(case: &CaseResult) -> Self {
        let broken = |check: &&CheckResult| check.verdict > Verdict::Passed;
        Self {
            id: case.id.clone(),
            title: case.title.clone(),
            verdict: case.verdict,
            checks: case.checks.iter().filter(broken).map(FailedCheck::new).collect(),
            evidence: case.frames.iter().take(MAX_FRAMES).map(Frame::new).collect(),
            stderr: case.stderr.clone(),
        }
    }
}

impl FailedCheck {
    fn new(check: &CheckResult) -> Self {
        let CheckResult { id, verdict, requirement, expected, observed, frames } = check.clone();
        Self { check: id, verdict, requirement: requirement.into(), expected, observed, frames }
    }
}

impl Frame {
    fn new(frame: &ReportFrame) -> Self {
        let body = frame.body.value();
        let text = body.to_string();
        let body = if text.chars().count() > MAX_BODY {
            Value::String(text.chars().take(MAX_BODY).chain("[…]".chars()).collect())
        } else {
            body
        };
        Self { seq: frame.seq, from_client: frame.from_client, http: frame.http.clone(), body }
    }
}

impl super::Output for RunReport {
    fn text(&self) -> String {
        let Counts { passed, failed, flaky, warned, noted, blocked, skipped } = self.counts;
        let seconds = self.elapsed_ms as f64 / 1_000.0;
        let outcome = if self.passed { "passed" } else { "FAILED" };
        let mut text = format!(
            "{} {outcome}: {passed} passed, {failed} failed, {blocked} blocked, {flaky} flaky, {warned} warned, {noted} noted, {skipped} skipped, \
             in {seconds:.1} s\n",
            printable(&self.subject)
        );
        for case in self.failures.iter().chain(&self.warnings) {
            // Writing to a string cannot fail.
            let _ = case.write(&mut text);
        }
        if self.omitted > 0 {
            let _ = writeln!(text, "\n{} more are in the journal", self.omitted);
        }
        let _ = match &self.journal {
            Some(journal) => write!(text, "\njournal: {journal}"),
            None => write!(text, "\nno journal: the directory for runs is not writable"),
        };
        self.reports.iter().for_each(|path| text.extend(["\nreport: ", path]));
        text
    }
}

impl FailedCase {
    fn write(&self, text: &mut String) -> std::fmt::Result {
        writeln!(
            text,
            "\n{} {}: {}",
            self.verdict.as_str().to_uppercase(),
            printable(&self.id),
            printable(&self.title)
        )?;
        for FailedCheck { check, requirement: rule, expected, observed, .. } in &self.checks {
            writeln!(text, "  {}: {} {}", printable(check), rule.level.as_str(), printable(&rule.text))?;
            writeln!(text, "    expected: {}", printable(expected))?;
            writeln!(text, "    observed: {}", printable(observed))?;
            writeln!(text, "    requirement {}, {}", rule.id, rule.url)?;
        }
        Ok(())
    }
}
