//! Warnings about measurements that are misleading, with advice. Pure functions of the figures.

use mock_servers::HumanDuration;
use reports::model::Generator;

use super::{
    LoadFigures, LoadPlan,
    recorder::Recorder,
    threshold::{format_us, percent},
};
use crate::model::Shape;

/// Minimum share of a rate that counts as reached.
const REACHED: f64 = 0.95;

/// In a closed loop, a slowest call of this many medians hides calls that were not sent.
const STALL: u64 = 10;

pub(super) struct Run<'a> {
    pub(super) plan: &'a LoadPlan,
    pub(super) figures: &'a LoadFigures,
    pub(super) recorder: &'a Recorder,
    pub(super) generator: &'a Generator,
    /// Whether the run was cancelled.
    pub(super) cut: bool,
}

/// The warnings that apply, the most severe first.
pub(super) fn warnings(run: &Run<'_>) -> Vec<String> {
    let all =
        [cut, out_of_time, nothing_counted, all_failed, not_sent, not_achieved, ages, lag, busy, omission, few_samples];
    let mut warnings: Vec<String> = all.into_iter().filter_map(|warning| warning(run)).collect();
    if cfg!(debug_assertions) {
        warnings.push("measured with a debug build; results are not meaningful; build with `--release`".to_owned());
    }
    warnings
}

fn cut(run: &Run<'_>) -> Option<String> {
    run.cut.then(|| {
        format!(
            "the run was cancelled after {:.1} of {:.1} seconds: the results cover that part, and calls that \
             were open a second later count as unfinished",
            run.figures.window.as_secs_f64(),
            run.plan.duration().as_secs_f64()
        )
    })
}

fn out_of_time(run: &Run<'_>) -> Option<String> {
    let calls = run.plan.calls().filter(|calls| !run.cut && run.figures.sent < *calls)?;
    let duration = HumanDuration(run.plan.duration());
    Some(format!("{} of {calls} calls were sent in {duration}; raise `duration`", run.figures.sent))
}

fn nothing_counted(run: &Run<'_>) -> Option<String> {
    (run.figures.offered == 0)
        .then(|| "no call was measured: make the run longer than its warm-up and the interval between calls".to_owned())
}

fn all_failed(run: &Run<'_>) -> Option<String> {
    let LoadFigures { offered, succeeded, .. } = *run.figures;
    (offered > 0 && succeeded == 0).then(|| {
        let most = run.recorder.errors.iter().max_by_key(|(_, count)| **count);
        let kind = most.map(|(kind, count)| format!(" (mostly `{kind}`: {count})")).unwrap_or_default();
        format!("none of {offered} calls succeeded{kind}: make a single call first")
    })
}

fn not_sent(run: &Run<'_>) -> Option<String> {
    let ratio = run.figures.offered_ratio()?;
    (ratio < REACHED).then(|| {
        let sent = run.figures.sent as f64 / run.figures.window.as_secs_f64();
        format!(
            "the rate was not reached: {:.1}/s were requested and {sent:.1}/s were sent ({}), because the maximum \
             number of calls was in flight; lower the rate, or raise `max_in_flight` (now {})",
            run.figures.offered_rate(),
            percent(ratio),
            run.plan.concurrency()
        )
    })
}

fn not_achieved(run: &Run<'_>) -> Option<String> {
    let (offered, achieved) = (run.figures.offered_rate(), run.figures.achieved_rate);
    let open = matches!(run.plan.shape(), Shape::Open(_));
    (open && run.figures.succeeded > 0 && achieved < REACHED * offered).then(|| {
        format!(
            "the rate was not achieved: {offered:.1}/s were requested, and {achieved:.1}/s returned a result in time \
             ({}); the latencies grow with the duration of the run, so lower the rate",
            percent(achieved / offered)
        )
    })
}

fn ages(run: &Run<'_>) -> Option<String> {
    let ages = run.recorder.ages;
    (ages > 0).then(|| {
        format!(
            "{ages} of {} calls have no response; the latencies include their waiting times, so the true latencies are \
             higher",
            run.figures.offered
        )
    })
}

fn lag(run: &Run<'_>) -> Option<String> {
    let late = run.generator.saturated && matches!(run.plan.shape(), Shape::Open(_));
    (late && !is_busy(run)).then(|| {
        format!(
            "the load generator was the limit: it sent calls up to {} late, which the latencies include, because this \
             machine is busy; lower the rate, or run the server on another machine",
            format_us(run.generator.lag_max_us as f64)
        )
    })
}

/// Whether the threads of the generator used their cores.
fn is_busy(run: &Run<'_>) -> bool {
    run.generator.saturated && run.generator.cpu_percent >= 80.0 * run.generator.threads as f64
}

fn busy(run: &Run<'_>) -> Option<String> {
    is_busy(run).then(|| {
        format!(
            "the load generator was the limit: its {} threads used {:.0} % of a core; use `--driver raw`, more cores, or \
             another machine for the server",
            run.generator.threads, run.generator.cpu_percent
        )
    })
}

/// What limited the rate of an open loop.
pub(super) fn rate_limit(run: &Run<'_>) -> String {
    let figures = run.figures;
    if run.generator.saturated {
        return "the load generator was the limit, because this machine is busy".to_owned();
    }
    if figures.failed > figures.unfinished {
        return "the server returned errors".to_owned();
    }
    if figures.sent < figures.offered {
        return format!(
            "the server is slow, and calls waited for a free connection or for `max_in_flight` ({})",
            run.plan.concurrency()
        );
    }
    "the server is slow: results arrived after the measurement".to_owned()
}

fn omission(run: &Run<'_>) -> Option<String> {
    let latency = run.figures.latency?;
    let closed = matches!(run.plan.shape(), Shape::Closed(_));
    (closed && latency.max_us > latency.p50_us.saturating_mul(STALL)).then(|| {
        format!(
            "the slowest call took {}, the median {}: in a closed loop, a waiting user sends nothing, so the \
             percentiles lack the calls that were due meanwhile (coordinated omission); use an open loop",
            format_us(latency.max_us as f64),
            format_us(latency.p50_us as f64)
        )
    })
}

/// A percentile needs at least one sample above it; otherwise it equals the maximum.
fn few_samples(run: &Run<'_>) -> Option<String> {
    let samples = run.recorder.samples();
    let wanting: Vec<&str> = [("p90", 10), ("p95", 20), ("p99", 100), ("p99.9", 1_000)]
        .into_iter()
        .filter(|(_, needed)| samples < *needed)
        .map(|(word, _)| word)
        .collect();
    (samples > 0 && !wanting.is_empty()).then(|| {
        format!(
            "{samples} samples are too few for {}, which {} the maximum; make the run longer",
            wanting.join(", "),
            if wanting.len() == 1 { "equals" } else { "equal" }
        )
    })
}
