//! What a run found, as a tool gives it back: the counts, and of each case that did not hold why, with the evidence.

use std::fmt::Write as _;

use mock_servers::reading::printable;
use reports::model::{CaseResult, Counts, Exhibit, Judgement, Level, Requirement, Run, Verdict};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// The most cases of a kind that are told in full; the journal holds all.
const CASES: usize = 20;
/// The most frames that are shown of a case.
const EXHIBITS: usize = 6;
/// The most characters of a frame.
const BODY: usize = 1_500;

/// What a run found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunReport {
    /// Whether all held: at least one case was judged, and none failed or was blocked.
    pub(super) held: bool,
    /// What was judged.
    pub(super) subject: String,
    /// How many cases ended how.
    pub(super) counts: Counts,
    /// How long it took, in milliseconds.
    pub(super) elapsed_ms: u64,
    /// The seed of everything drawn at random.
    pub(super) seed: u64,
    /// The cases in which a MUST is broken, or which could not be judged; the first of them.
    pub(super) failures: Vec<FailedCase>,
    /// The cases in which a SHOULD is broken; the first of them.
    pub(super) warnings: Vec<FailedCase>,
    /// How many failures and warnings are left out here.
    pub(super) left_out: usize,
    /// The file that holds everything: `mcp-workbench report <journal>` renders it.
    pub(super) journal: String,
}

/// A case that did not hold.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct FailedCase {
    /// `<scenario>@<transport>@<revision>`.
    id: String,
    /// What it was to show.
    title: String,
    /// How it ended.
    verdict: Verdict,
    /// What was judged and did not hold, the gravest first.
    judgements: Vec<FailedJudgement>,
    /// The frames that show it, and those around them.
    evidence: Vec<Frame>,
    /// The last lines that the process wrote to standard error.
    #[serde(skip_serializing_if = "String::is_empty")]
    stderr: String,
}

/// Something that was judged and did not hold.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(super) struct FailedJudgement {
    /// The check.
    check: String,
    /// How grave it is.
    verdict: Verdict,
    /// The rule that is broken, and where to read it.
    requirement: Rule,
    /// What had to be.
    expected: String,
    /// What was.
    observed: String,
    /// The numbers of the frames that show it.
    frames: Vec<u64>,
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Rule {
    /// Its id in the register; `explain_requirement` takes it.
    pub(crate) id: String,
    /// How strong it is.
    pub(crate) level: Level,
    /// What it says.
    pub(crate) text: String,
    /// Where to read it.
    pub(crate) url: String,
}

/// A message that was sent or received.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct Frame {
    /// Its number.
    seq: u64,
    /// Whether the client sent it.
    from_client: bool,
    /// The HTTP envelope in one line, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    http: Option<String>,
    /// The message: JSON, or a text where it was none or is too long.
    body: Value,
}

impl From<Requirement> for Rule {
    fn from(Requirement { id, level, text, url }: Requirement) -> Self {
        Self { id, level, text, url }
    }
}

impl RunReport {
    /// The report of a run that came to its end.
    pub(super) fn new(run: Run, journal: String) -> Self {
        let (held, counts) = (run.held(), run.counts());
        let told = |wanted: fn(Verdict) -> bool| -> Vec<FailedCase> {
            let cases = run.cases.iter().filter(|case| wanted(case.verdict));
            cases.take(CASES).map(FailedCase::new).collect()
        };
        let failures = told(Verdict::is_failure);
        let warnings = told(|verdict| verdict == Verdict::Warned);
        let left_out = counts.failed + counts.blocked + counts.warned - failures.len() - warnings.len();
        let (subject, seed) = (run.header.subject.clone(), run.header.seed);
        Self { held, subject, counts, elapsed_ms: run.elapsed_ms, seed, failures, warnings, left_out, journal }
    }
}

impl FailedCase {
    fn new(case: &CaseResult) -> Self {
        let broken = |judgement: &&Judgement| judgement.verdict.is_failure() || judgement.verdict == Verdict::Warned;
        Self {
            id: case.id.clone(),
            title: case.title.clone(),
            verdict: case.verdict,
            judgements: case.judgements.iter().filter(broken).map(FailedJudgement::new).collect(),
            evidence: case.exhibits.iter().take(EXHIBITS).map(Frame::new).collect(),
            stderr: case.stderr.clone(),
        }
    }
}

impl FailedJudgement {
    fn new(judgement: &Judgement) -> Self {
        let Judgement { id, verdict, requirement, expected, observed, frames } = judgement.clone();
        Self { check: id, verdict, requirement: requirement.into(), expected, observed, frames }
    }
}

impl Frame {
    fn new(exhibit: &Exhibit) -> Self {
        let text = exhibit.body.to_string();
        let body = if text.chars().count() > BODY {
            Value::String(text.chars().take(BODY).chain("[…]".chars()).collect())
        } else {
            exhibit.body.clone()
        };
        Self { seq: exhibit.seq, from_client: exhibit.from_client, http: exhibit.http.clone(), body }
    }
}

impl super::Output for RunReport {
    fn text(&self) -> String {
        let Counts { passed, failed, warned, blocked, skipped } = self.counts;
        let seconds = self.elapsed_ms as f64 / 1_000.0;
        let word = if self.held { "held" } else { "did NOT hold" };
        let mut text = format!(
            "{} {word}: {passed} passed, {failed} failed, {blocked} blocked, {warned} warned, {skipped} skipped, \
             in {seconds:.1} s\n",
            printable(&self.subject)
        );
        for case in self.failures.iter().chain(&self.warnings) {
            // A string takes everything that is written to it.
            let _ = case.write(&mut text);
        }
        if self.left_out > 0 {
            let _ = writeln!(text, "\n{} more are in the journal", self.left_out);
        }
        let _ = write!(text, "\njournal: {}", self.journal);
        text
    }
}

impl FailedCase {
    fn write(&self, text: &mut String) -> std::fmt::Result {
        writeln!(text, "\n{} {}: {}", self.verdict.word().to_uppercase(), printable(&self.id), printable(&self.title))?;
        for FailedJudgement { check, requirement: rule, expected, observed, .. } in &self.judgements {
            writeln!(text, "  {}: {} {}", printable(check), level(rule.level), printable(&rule.text))?;
            writeln!(text, "    expected: {}", printable(expected))?;
            writeln!(text, "    observed: {}", printable(observed))?;
            writeln!(text, "    requirement {}, {}", rule.id, rule.url)?;
        }
        Ok(())
    }
}

pub(super) fn level(level: Level) -> &'static str {
    match level {
        Level::Must => "MUST",
        Level::Should => "SHOULD",
        Level::Expected => "EXPECTED",
    }
}
