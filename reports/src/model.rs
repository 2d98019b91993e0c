//! The run model: the results of a run, as they are saved, sent and rendered. It is a public format, versioned by
//! [`FORMAT`]; its JSON Schema is generated into `reports/schema/`.
//!
//! Verdicts are computed by the scenarios crate; [`crate::render`] renders them.

use std::{collections::BTreeMap, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod body;
mod end;
mod portability;
mod usage;

pub use body::FrameBody;
pub use end::{CaseEnd, ConnectionEnd, Descendant, ProcessEnd};
pub use portability::{Portability, ToolCalls, ToolPortability};
pub use usage::{Estimate, ProcessUsage};

/// Version of the run format. It changes when a reader of the old format would misread the new one.
pub const FORMAT: u32 = 1;

/// One run of the workbench.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Version of this format: 1.
    pub format: u32,
    /// Subject, seed, version and start time.
    pub header: RunHeader,
    /// The finished cases, in plan order.
    pub cases: Vec<CaseResult>,
    /// The finished load tests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loads: Vec<LoadResult>,
    /// Comparison with the baseline of known failures, if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BaselineState>,
    /// The tools of a validated server, and how often each was called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCalls>,
    /// How model providers accept the tools of a validated server, if it listed tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub portability: Vec<Portability>,
    /// Whether every planned case finished. An interrupted run does not pass.
    pub complete: bool,
    /// Wall-clock duration of the run, in milliseconds.
    pub elapsed_ms: u64,
}

/// Subject, seed, version and start time of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunHeader {
    /// Identifier of the run; names its directory.
    pub run_id: String,
    /// The command: `conformance`, `validate` or `bench`.
    pub kind: RunKind,
    /// Version of the workbench.
    pub workbench: String,
    /// Start time (RFC 3339, UTC).
    pub started: String,
    /// The client or server under test: a name, a command or a URL, without secrets.
    pub subject: String,
    /// Random seed. The same seed reproduces the same random values.
    pub seed: u64,
    /// Number of planned cases.
    pub planned: usize,
    /// The verdicts that fail the run.
    #[serde(default, skip_serializing_if = "PassPolicy::is_default")]
    pub policy: PassPolicy,
    /// The requirements by which a client is judged; absent for other runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// The tools that a validation could call in addition to those annotated as read-only: `all`, or globs on their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub call_tools: Vec<String>,
}

/// The kind of a client: decides which requirements it must meet, and how severe a violation is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// A library that implements the protocol. Only violations of a MUST fail, those of a SHOULD warn, and all others are
    /// noted.
    Sdk,
    /// An application that uses servers for a model. It must also meet the requirements that no specification has.
    #[default]
    Agent,
}

impl Profile {
    /// All profiles.
    pub const ALL: [Self; 2] = [Self::Sdk, Self::Agent];

    /// The name in options and files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sdk => "sdk",
            Self::Agent => "agent",
        }
    }

    /// The verdict on the violation of a requirement of this level.
    #[must_use]
    pub fn violation(self, level: Level) -> Verdict {
        match (level, self) {
            (Level::Must, _) | (Level::Expected, Self::Agent) => Verdict::Failed,
            (Level::Should, _) => Verdict::Warned,
            (Level::Expected, Self::Sdk) => Verdict::Noted,
        }
    }
}

/// The verdicts that fail a run, in addition to `failed` and `blocked`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PassPolicy {
    /// Whether flaky cases do not fail the run.
    pub allow_flaky: bool,
    /// Whether warnings fail the run.
    pub fail_on_warnings: bool,
}

impl PassPolicy {
    // serde passes a reference.
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the verdict fails the run.
    #[must_use]
    pub fn fails(self, verdict: Verdict) -> bool {
        match verdict {
            Verdict::Flaky => !self.allow_flaky,
            Verdict::Warned => self.fail_on_warnings,
            verdict => verdict.is_failure(),
        }
    }
}

/// The command that made a run.
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

/// Verdict of a case or of one check, ordered from least to most severe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Does not apply; `observed` has the reason.
    Skipped,
    /// Met the requirement.
    Passed,
    /// Violates an EXPECTED requirement, which is only information about a client with the profile `sdk`.
    Noted,
    /// Violates a SHOULD.
    Warned,
    /// Failed in some of several runs. Counts as a failure unless the run allows it.
    Flaky,
    /// Could not be checked because a prerequisite failed. Counts as a failure.
    Blocked,
    /// Violates a MUST.
    Failed,
}

impl Verdict {
    /// Whether the verdict fails the run.
    #[must_use]
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Flaky | Self::Blocked | Self::Failed)
    }

    /// The name used in reports and files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Skipped => "skipped",
            Self::Passed => "passed",
            Self::Noted => "noted",
            Self::Warned => "warned",
            Self::Flaky => "flaky",
            Self::Blocked => "blocked",
            Self::Failed => "failed",
        }
    }
}

/// Result of one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseResult {
    /// Stable id: `<scenario>@<transport>@<revision>`.
    pub id: String,
    /// The scenario: `<area>/<name>`.
    pub scenario: String,
    /// The transport: `stdio`, `sse` or `streamable-http`.
    pub transport: String,
    /// The protocol revision, `2025-11-25` say.
    pub revision: String,
    /// Title of the scenario.
    pub title: String,
    /// The most severe verdict of its checks.
    pub verdict: Verdict,
    /// All checks, the most severe verdict first.
    #[serde(alias = "judgements")]
    pub checks: Vec<CheckResult>,
    /// The frames that the checks cite, and the frames around them.
    #[serde(alias = "exhibits")]
    pub frames: Vec<ReportFrame>,
    /// The end of the standard error of the process under test: bounded and redacted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// How its connections and processes ended; absent if that was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<CaseEnd>,
    /// Wall-clock duration of the case, in milliseconds.
    pub elapsed_ms: u64,
}

/// Result of one check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckResult {
    /// Stable id of the check, or path of the expectation in the scenario (`steps[1].expect.within`).
    pub id: String,
    /// Verdict of this check.
    pub verdict: Verdict,
    /// The rule that the check enforces.
    pub requirement: Requirement,
    /// The required behavior.
    pub expected: String,
    /// The observed behavior; for a skipped or blocked check, the reason.
    pub observed: String,
    /// `seq` of the frames that show it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<u64>,
}

/// A rule, its level and its source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Requirement {
    /// Stable id in the requirement register.
    pub id: String,
    /// `MUST`, `SHOULD`, or `EXPECTED` (not in a specification, but users rely on it).
    pub level: Level,
    /// Summary of the rule.
    pub text: String,
    /// Source: page and anchor of the specification revision, an RFC, or a bug report.
    pub url: String,
    /// What usually mends a violation, for common ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

/// Level of a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Level {
    /// A violation is a failure.
    Must,
    /// A violation is a warning.
    Should,
    /// Not in a specification, but users rely on it. A violation is a failure.
    Expected,
}

impl Level {
    /// The keyword, as specifications write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::Should => "SHOULD",
            Self::Expected => "EXPECTED",
        }
    }
}

/// A recorded frame, as reports show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReportFrame {
    /// Position in the transcript.
    pub seq: u64,
    /// Time since the start of the case, in microseconds.
    pub at_us: u64,
    /// Whether the client sent the frame.
    pub from_client: bool,
    /// Name of the server.
    pub server: String,
    /// Summary of the HTTP envelope (`POST /mcp`, `200 text/event-stream`), if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<String>,
    /// HTTP headers, if a failed check names the frame. Credentials are redacted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The message; a string if it is not JSON.
    pub body: FrameBody,
    /// Whether the body was truncated to the size limit.
    #[serde(default, alias = "cut", skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// Comparison of a run with the baseline of known failures.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineState {
    /// Failed cases that the baseline lists; they do not fail the run.
    pub known: Vec<String>,
    /// Listed cases that passed or no longer exist. The run fails until they are removed from the baseline.
    pub stale: Vec<String>,
}

/// Result of one load test. Latencies are measured from the scheduled send time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadResult {
    /// Name of the load test.
    pub name: String,
    /// The transport.
    pub transport: String,
    /// Shape of the load (`open loop, 20/s`).
    pub shape: String,
    /// Measured duration in milliseconds, without the warm-up.
    pub counted_ms: u64,
    /// Calls scheduled in that time; in a closed loop, calls sent.
    pub offered: u64,
    /// Calls sent.
    pub sent: u64,
    /// Calls that returned a result.
    pub succeeded: u64,
    /// Failed calls by error kind.
    pub errors: BTreeMap<String, u64>,
    /// Scheduled calls that were not sent, or were still open, when the test stopped.
    pub unfinished: u64,
    /// Scheduled calls per second.
    pub offered_rate: f64,
    /// Calls per second that returned a result.
    pub achieved_rate: f64,
    /// Latencies of successful calls. Calls that timed out, were abandoned or could not be sent are included with the
    /// time they waited, so that a stalled server does not look fast; a warning states how many. Absent without calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// Result of each threshold.
    pub thresholds: Vec<ThresholdResult>,
    /// Limitations of the measurement, and how to avoid them.
    pub warnings: Vec<String>,
    /// What sent the calls: `raw` or `client`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub driver: String,
    /// Latencies from the time of sending. In an open loop they omit the time that a call waited before (coordinated
    /// omission).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncorrected: Option<Latency>,
    /// The notifications that arrived before the responses of their calls. Absent without any, and with the driver `client`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notifications: Option<NotificationResult>,
    /// The first failure of each error kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub error_samples: BTreeMap<String, ErrorSample>,
    /// Bytes sent, with HTTP heads; 0 if the driver does not count them.
    #[serde(default)]
    pub bytes_sent: u64,
    /// Bytes received, with HTTP heads; 0 if the driver does not count them.
    #[serde(default)]
    pub bytes_received: u64,
    /// The load generator itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<Generator>,
    /// Length of an interval of `series`, in milliseconds.
    #[serde(default)]
    pub interval_ms: u64,
    /// The load over time: an interval each. Responses after the end of the measurement have intervals too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<LoadPoint>,
    /// The distribution behind `latency`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub histogram: Vec<HistogramBucket>,
    /// The server process; absent for remote servers, and without `/proc`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessUsage>,
    /// The operations of a mix or a sequence. Iterations that were never sent belong to none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<OperationResult>,
}

/// Notifications before the responses of a load test. Over HTTP they are those in the event stream of the response, over stdio
/// those about the progress of an open call. Latencies include calls that failed later.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NotificationResult {
    /// Number of notifications.
    pub count: u64,
    /// Calls with at least one of them; each page of a list is one.
    pub calls: u64,
    /// Time from the scheduled send time of a call to its first notification.
    pub first: Latency,
    /// Longest time of each call without a message of the server: between two notifications, or between the last one and the
    /// response or the timeout.
    pub longest_gap: Latency,
}

/// Result of one operation of a load test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationResult {
    /// The tool, or the method with the name of its target.
    pub name: String,
    /// Executions that were sent.
    pub sent: u64,
    /// Executions that succeeded.
    pub succeeded: u64,
    /// Failed executions by error kind.
    pub errors: BTreeMap<String, u64>,
    /// Executions that were still open when the test stopped.
    pub unfinished: u64,
    /// Successful executions per second.
    pub rate: f64,
    /// Latencies, as those of the load. The first operation of an iteration begins at the scheduled time, further ones after
    /// the operation before. Absent without executions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// The distribution behind `latency`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub histogram: Vec<HistogramBucket>,
}

/// A value in microseconds, and the number of calls with this latency. Values have three significant digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HistogramBucket(pub u64, pub u64);

/// A failed call, as a sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorSample {
    /// Time since the start of the measurement, in milliseconds.
    pub at_ms: u64,
    /// What happened.
    pub text: String,
    /// The response, truncated; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<String>,
}

/// The load generator during a load test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Generator {
    /// Threads that sent calls.
    pub threads: usize,
    /// CPU time, in percent of one core.
    pub cpu_percent: f64,
    /// Whether the generator was the limit: a thread used its core completely, or calls were sent late.
    pub saturated: bool,
    /// Maximum delay of a call by the generator itself, in microseconds.
    pub lag_max_us: u64,
}

/// One interval of a load test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPoint {
    /// Start of the interval since the start of the measurement, in milliseconds.
    pub at_ms: u64,
    /// Calls sent.
    pub sent: u64,
    /// Calls that returned a result.
    pub succeeded: u64,
    /// Calls that failed.
    pub errors: u64,
    /// Median of the latencies of these results, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_us: Option<u64>,
    /// 99th percentile, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<u64>,
    /// Maximum, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_us: Option<u64>,
    /// Maximum resident memory of the server process, in KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rss_kb: Option<u64>,
    /// CPU time of the server process since the previous sample, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ms: Option<u64>,
    /// Open file descriptors of the server process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fds: Option<u64>,
    /// Threads of the server process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
}

/// Latencies in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Minimum.
    pub min_us: u64,
    /// Mean.
    pub mean_us: f64,
    /// Median.
    pub p50_us: u64,
    /// 90th percentile.
    pub p90_us: u64,
    /// 95th percentile.
    pub p95_us: u64,
    /// 99th percentile.
    pub p99_us: u64,
    /// 99.9th percentile.
    pub p999_us: u64,
    /// Maximum.
    pub max_us: u64,
}

/// Result of one threshold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThresholdResult {
    /// The threshold as written.
    pub threshold: String,
    /// The measured value.
    pub measured: String,
    /// Whether the measured value meets the threshold.
    #[serde(alias = "held")]
    pub passed: bool,
}

/// Number of cases per verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Passed cases.
    pub passed: usize,
    /// Failed cases.
    pub failed: usize,
    /// Cases with a warning.
    pub warned: usize,
    /// Cases that violate only EXPECTED requirements, with the profile `sdk`.
    #[serde(default)]
    pub noted: usize,
    /// Flaky cases.
    #[serde(default)]
    pub flaky: usize,
    /// Blocked cases.
    pub blocked: usize,
    /// Skipped cases.
    pub skipped: usize,
}

impl Run {
    /// Number of cases per verdict.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for case in &self.cases {
            *match case.verdict {
                Verdict::Passed => &mut counts.passed,
                Verdict::Failed => &mut counts.failed,
                Verdict::Warned => &mut counts.warned,
                Verdict::Noted => &mut counts.noted,
                Verdict::Flaky => &mut counts.flaky,
                Verdict::Blocked => &mut counts.blocked,
                Verdict::Skipped => &mut counts.skipped,
            } += 1;
        }
        counts
    }

    /// Whether the run passed: all planned cases finished, at least one case or load test was not skipped, no case
    /// failed except those in the baseline, no baseline entry is stale, and all load tests passed.
    #[must_use]
    pub fn passed(&self) -> bool {
        let known = |id: &String| self.baseline.as_ref().is_some_and(|baseline| baseline.known.contains(id));
        let judged = self.cases.iter().any(|case| case.verdict != Verdict::Skipped) || !self.loads.is_empty();
        self.complete
            && judged
            && self.cases.iter().all(|case| !self.header.policy.fails(case.verdict) || known(&case.id))
            && self.baseline.as_ref().is_none_or(|baseline| baseline.stale.is_empty())
            && self.loads.iter().all(LoadResult::passed)
    }

    /// Wall-clock duration of the run.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        Duration::from_millis(self.elapsed_ms)
    }
}

impl OperationResult {
    /// Executions that failed.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.errors.values().fold(0, |sum, count| sum.saturating_add(*count))
    }
}

impl LoadResult {
    /// Whether all thresholds passed and at least one call succeeded.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.succeeded > 0 && self.thresholds.iter().all(|threshold| threshold.passed)
    }
}
