//! The run model: what a run found, in a form that is saved, sent and rendered. It is a public format, versioned by
//! [`FORMAT`]; its JSON Schema is generated into `reports/schema/`.
//!
//! This module owns shapes only. Judging is done before (in the scenarios crate), rendering after (in the siblings).

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the run format. It changes when a reader of the old one would misread the new one.
pub const FORMAT: u32 = 1;

/// One run of the workbench.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// The version of this format: 1.
    pub format: u32,
    /// What was run, with what, and when.
    pub header: RunHeader,
    /// The cases that ended, in the order of the plan.
    pub cases: Vec<CaseResult>,
    /// The load tests that ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loads: Vec<LoadResult>,
    /// The state of the baseline of known failures, if one was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BaselineState>,
    /// Whether every planned case ended. An interrupted run is not a passed one.
    pub complete: bool,
    /// How long the run took, in milliseconds of wall-clock time.
    pub elapsed_ms: u64,
}

/// What was run, with what, and when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunHeader {
    /// An identifier of the run, unique enough to name its files.
    pub run_id: String,
    /// Which command made the run: `conformance`, `validate` or `bench`.
    pub kind: RunKind,
    /// The version of the workbench.
    pub workbench: String,
    /// When it began, in RFC 3339, UTC.
    pub started: String,
    /// What was judged: a name, a command or a URL, without secrets.
    pub subject: String,
    /// The seed of everything drawn at random; the same seed draws the same.
    pub seed: u64,
    /// How many cases were planned.
    pub planned: usize,
}

/// Which command made a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunKind {
    /// Scenarios against a client.
    Conformance,
    /// Generic checks against a server.
    Validate,
    /// A load test.
    Bench,
}

/// The verdict on a case, or on one judgement within it. The order is the order of gravity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It does not apply; the reason says why.
    Skipped,
    /// It held.
    Passed,
    /// A SHOULD is broken.
    Warned,
    /// A prerequisite failed, so nothing could be judged. It counts as a failure.
    Blocked,
    /// A MUST is broken.
    Failed,
}

impl Verdict {
    /// Whether it makes the run fail.
    #[must_use]
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Blocked | Self::Failed)
    }

    /// The word that people and files use.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Skipped => "skipped",
            Self::Passed => "passed",
            Self::Warned => "warned",
            Self::Blocked => "blocked",
            Self::Failed => "failed",
        }
    }
}

/// How one case ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseResult {
    /// The stable id: `<scenario>@<transport>@<revision>`.
    pub id: String,
    /// The scenario: `<area>/<name>`.
    pub scenario: String,
    /// The transport: `stdio`, `sse` or `streamable-http`.
    pub transport: String,
    /// The protocol revision, `2025-11-25` say.
    pub revision: String,
    /// What the scenario shows, in one sentence.
    pub title: String,
    /// The gravest verdict of its judgements.
    pub verdict: Verdict,
    /// Every judgement, the gravest first.
    pub judgements: Vec<Judgement>,
    /// The frames that the judgements name, and those around them.
    pub exhibits: Vec<Exhibit>,
    /// The last lines that the process under test wrote to standard error; bounded, and scrubbed of secrets.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// How long the case took, in milliseconds of wall-clock time.
    pub elapsed_ms: u64,
}

/// One thing that was judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judgement {
    /// The stable id of the check, or the place of the expectation in the scenario (`steps[1].expect.within`).
    pub id: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Where the rule comes from.
    pub requirement: Requirement,
    /// What had to be, in words.
    pub expected: String,
    /// What was, in words; for a skipped or blocked judgement, why it could not be judged.
    pub observed: String,
    /// The `seq` of the frames that show it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<u64>,
}

/// Where a rule comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Requirement {
    /// The stable id of the requirement in the workbench's register.
    pub id: String,
    /// How strong it is: `MUST`, `SHOULD`, or `EXPECTED` where no specification says it but users rely on it.
    pub level: Level,
    /// The rule, in our words.
    pub text: String,
    /// Where to read it: the page and anchor of the specification's revision, an RFC, or a report that taught it.
    pub url: String,
}

/// How strong a requirement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Level {
    /// Breaking it is a failure.
    Must,
    /// Breaking it is a warning.
    Should,
    /// No specification says it, users rely on it: breaking it is a failure.
    Expected,
}

/// A frame as the report shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Exhibit {
    /// Its number in the transcript.
    pub seq: u64,
    /// When, in microseconds since the start of the case.
    pub at_us: u64,
    /// Whether the client sent it.
    pub from_client: bool,
    /// Which server was at the other end.
    pub server: String,
    /// The HTTP envelope in one line (`POST /mcp`, `200 text/event-stream`), if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<String>,
    /// The message: JSON, or a string where it was not JSON.
    pub body: Value,
    /// Whether the body was cut because of its size.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// How the baseline of known failures stood.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineState {
    /// Cases that failed and are listed: the run does not fail because of them.
    pub known: Vec<String>,
    /// Listed cases that passed, or that no longer exist: the run fails until they are taken off the list.
    pub stale: Vec<String>,
}

/// How one load test ended. Latencies count from the moment at which the call was meant to be sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadResult {
    /// What was loaded, in words.
    pub name: String,
    /// The transport.
    pub transport: String,
    /// The shape of the load, in words (`open loop, 20/s`).
    pub shape: String,
    /// How long calls were counted, in milliseconds, without the warm-up.
    pub counted_ms: u64,
    /// Calls that the plan asked for in that time; in a closed loop, those that were sent.
    pub offered: u64,
    /// Calls that were sent.
    pub sent: u64,
    /// Calls that ended with a result.
    pub succeeded: u64,
    /// Calls that ended with an error, by kind.
    pub errors: std::collections::BTreeMap<String, u64>,
    /// Calls that were planned but could not be sent before the end, or were still open at it.
    pub unfinished: u64,
    /// Calls a second that were offered.
    pub offered_rate: f64,
    /// Calls a second that ended with a result.
    pub achieved_rate: f64,
    /// The latencies of the calls that succeeded, and of those that were given up, timed out or could not be sent, at
    /// their age (a warning says how many): a server that stalls must not look fast. Absent when there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// The thresholds, and whether they held.
    pub thresholds: Vec<ThresholdResult>,
    /// What makes the figures less than they seem, and what to do about it.
    pub warnings: Vec<String>,
}

/// Latencies in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// The least.
    pub min_us: u64,
    /// The mean.
    pub mean_us: f64,
    /// The median.
    pub p50_us: u64,
    /// 90 of 100 were at most this.
    pub p90_us: u64,
    /// 95 of 100 were at most this.
    pub p95_us: u64,
    /// 99 of 100 were at most this.
    pub p99_us: u64,
    /// 999 of 1000 were at most this.
    pub p999_us: u64,
    /// The greatest.
    pub max_us: u64,
}

/// One threshold, and whether it held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThresholdResult {
    /// The threshold as it was written.
    pub threshold: String,
    /// What was measured.
    pub measured: String,
    /// Whether it held.
    pub held: bool,
}

/// How many cases ended how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Cases that passed.
    pub passed: usize,
    /// Cases in which a MUST was broken.
    pub failed: usize,
    /// Cases in which a SHOULD was broken.
    pub warned: usize,
    /// Cases that could not be judged.
    pub blocked: usize,
    /// Cases that do not apply.
    pub skipped: usize,
}

impl Run {
    /// How many cases ended how.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for case in &self.cases {
            *match case.verdict {
                Verdict::Passed => &mut counts.passed,
                Verdict::Failed => &mut counts.failed,
                Verdict::Warned => &mut counts.warned,
                Verdict::Blocked => &mut counts.blocked,
                Verdict::Skipped => &mut counts.skipped,
            } += 1;
        }
        counts
    }

    /// Whether all held: every planned case ended, at least one case or load was judged, no case failed that the
    /// baseline does not list, no baseline entry is stale, and no threshold was broken.
    #[must_use]
    pub fn held(&self) -> bool {
        let known = |id: &String| self.baseline.as_ref().is_some_and(|baseline| baseline.known.contains(id));
        let judged = self.cases.iter().any(|case| case.verdict != Verdict::Skipped) || !self.loads.is_empty();
        self.complete
            && judged
            && self.cases.iter().all(|case| !case.verdict.is_failure() || known(&case.id))
            && self.baseline.as_ref().is_none_or(|baseline| baseline.stale.is_empty())
            && self.loads.iter().all(LoadResult::held)
    }

    /// How long it took.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        Duration::from_millis(self.elapsed_ms)
    }
}

impl LoadResult {
    /// Whether every threshold held and at least one call succeeded.
    #[must_use]
    pub fn held(&self) -> bool {
        self.succeeded > 0 && self.thresholds.iter().all(|threshold| threshold.held)
    }
}
