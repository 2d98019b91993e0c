//! Reasons why a run failed, as sentences for the terminal, the Markdown summary and the JUnit file.
//!
//! [`Run::passed`] decides; a test keeps both in step.

use super::text;
use crate::model::{CaseResult, Latency, LoadResult, Run, ThresholdResult, Verdict};

/// `passed` or `failed`.
pub(super) fn word(passed: bool) -> &'static str {
    if passed { "passed" } else { "failed" }
}

/// Whether the baseline lists the failed case.
pub(super) fn is_known(run: &Run, case: &CaseResult) -> bool {
    case.verdict.is_failure() && run.baseline.as_ref().is_some_and(|baseline| baseline.known.contains(&case.id))
}

/// Why the run failed, apart from its cases and load tests: a short name and a sentence each.
pub(super) fn run_failures(run: &Run) -> Vec<(&'static str, String)> {
    let mut failures = Vec::new();
    if !run.complete {
        failures.push(("incomplete", incomplete(run)));
    }
    if run.cases.iter().all(|case| case.verdict == Verdict::Skipped) && run.loads.is_empty() {
        failures.push(("nothing-judged", "no case ran; check the filters".to_owned()));
    }
    let stale = run.baseline.iter().flat_map(|baseline| &baseline.stale);
    failures.extend(stale.map(|id| {
        ("stale-baseline", format!("{} passed or no longer exists: remove it from the baseline", text::line(id)))
    }));
    failures
}

/// Describes how far an interrupted run got.
pub(super) fn incomplete(run: &Run) -> String {
    let finished = run.cases.len() + run.loads.len();
    let planned = run.header.planned.max(finished);
    format!("the run was interrupted: {finished} of {planned} planned cases finished; the rest count as failed")
}

/// Cases to report: failures, warnings and notes, most severe first; known failures last.
pub(super) fn reported(run: &Run) -> Vec<&CaseResult> {
    let mut cases: Vec<_> = run.cases.iter().filter(|case| case.verdict > Verdict::Passed).collect();
    cases.sort_by_key(|case| (is_known(run, case), std::cmp::Reverse(case.verdict)));
    cases
}

/// Number of cases per verdict, without zeros.
pub(super) fn counts(run: &Run) -> Vec<(Verdict, usize)> {
    let counts = run.counts();
    [
        (Verdict::Failed, counts.failed),
        (Verdict::Blocked, counts.blocked),
        (Verdict::Flaky, counts.flaky),
        (Verdict::Warned, counts.warned),
        (Verdict::Noted, counts.noted),
        (Verdict::Passed, counts.passed),
        (Verdict::Skipped, counts.skipped),
    ]
    .into_iter()
    .filter(|(_, count)| *count > 0)
    .collect()
}

/// Number of failed cases that the baseline lists.
pub(super) fn known_failures(run: &Run) -> usize {
    run.cases.iter().filter(|case| is_known(run, case)).count()
}

/// Number of failed calls of a load test.
pub(super) fn errors(load: &LoadResult) -> u64 {
    load.errors.values().fold(0, |sum, count| sum.saturating_add(*count))
}

/// Describes each failed threshold.
pub(super) fn failed_thresholds(load: &LoadResult) -> impl Iterator<Item = String> {
    let failed = load.thresholds.iter().filter(|threshold| !threshold.passed);
    failed.map(|ThresholdResult { threshold, measured, .. }| {
        format!("threshold failed: {threshold} (measured {measured})")
    })
}

/// The sample of an error kind: when it failed first and why, and the response.
pub(super) fn sample(load: &LoadResult, kind: &str) -> Vec<String> {
    let Some(sample) = load.error_samples.get(kind) else { return Vec::new() };
    let at = sample.at_ms as f64 / 1_000.0;
    let mut lines = vec![format!("first after {at:.1} s: {}", sample.text)];
    lines.extend(sample.frame.iter().map(|frame| format!("response: {frame}")));
    lines
}

/// Threads, CPU time and lateness of the load generator, and the traffic.
pub(super) fn generator(load: &LoadResult) -> Vec<String> {
    let Some(generator) = load.generator else { return Vec::new() };
    let threads = if generator.threads == 1 { "thread" } else { "threads" };
    let mut line = format!(
        "generator: {} {threads}, {:.0} % of a core, at most {} late",
        generator.threads,
        generator.cpu_percent,
        latency(generator.lag_max_us as f64)
    );
    if generator.saturated {
        line.push_str("; it was the limit");
    }
    let traffic = format!("traffic: {} bytes sent, {} received", load.bytes_sent, load.bytes_received);
    [Some(line), (load.bytes_sent > 0).then_some(traffic)].into_iter().flatten().collect()
}

/// Number and times of the notifications before responses.
pub(super) fn notifications(load: &LoadResult) -> Vec<String> {
    let Some(measured) = &load.notifications else { return Vec::new() };
    let percentiles = |times: &Latency| {
        let [p50, p99, max] = [times.p50_us, times.p99_us, times.max_us].map(|us| latency(us as f64));
        format!("p50 {p50}, p99 {p99}, max {max}")
    };
    vec![
        format!("notifications: {} before the responses of {} calls", measured.count, measured.calls),
        format!("first notification: {}", percentiles(&measured.first)),
        format!("longest gap of a call: {}", percentiles(&measured.longest_gap)),
    ]
}

/// Memory, CPU time, descriptors and threads of the server process, in lines that fit 80 columns.
pub(super) fn process(load: &LoadResult) -> Vec<String> {
    let Some(usage) = load.process else { return Vec::new() };
    let [first, last, most] =
        [usage.rss_first_kb, usage.rss_last_kb, usage.rss_max_kb].map(|kb| format!("{:.1} MiB", kb as f64 / 1_024.0));
    let mut lines = vec![format!("server process: RSS {first} to {last}, at most {most}")];
    if let Some(growth) = usage.rss_growth {
        let [value, low, high] = [growth.value, growth.low, growth.high].map(|bytes| bytes / 1e6);
        lines.push(format!("server process: RSS {value:+.2} MB/min (95 % interval {low:.2} to {high:.2})"));
    }
    let mut line = format!("server process: {:.0} % of a core", usage.cpu_percent);
    if let (Some(first), Some(last)) = (usage.fds_first, usage.fds_last) {
        line.push_str(&format!(", {first} to {last} descriptors"));
    }
    let threads = if usage.threads_max == 1 { "thread" } else { "threads" };
    line.push_str(&format!(", {} {threads}", usage.threads_max));
    if usage.processes_max > 1 {
        line.push_str(&format!(" in {} processes", usage.processes_max));
    }
    lines.push(line);
    lines
}

/// A duration for display.
pub(super) fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{:.1} s", ms as f64 / 1_000.0),
        _ => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
    }
}

/// A latency in microseconds with three significant digits, at most 7 columns wide below 1000 s.
#[must_use]
pub fn latency(us: f64) -> String {
    let (value, unit) = match us {
        us if us < 999.5 => return format!("{us:.0} µs"),
        us if us < 999_500.0 => (us / 1_000.0, "ms"),
        us => (us / 1_000_000.0, "s"),
    };
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.digits$} {unit}")
}
