//! What makes the figures less than they seem, and what to do about it. Pure: figures in, sentences out.

use std::time::Duration;

use super::{
    LoadFigures, LoadPlan,
    recorder::Recorder,
    threshold::{in_words, percent},
};
use crate::model::Shape;

/// A rate is reached from this share on.
const REACHED: f64 = 0.95;

/// A generator that is late by less than this is on time, unless a call falls due more seldom than ten times as much.
const LAG: Duration = Duration::from_millis(10);

/// In a closed loop, a slowest call of so many medians hides others that were never sent.
const STALL: u64 = 10;

/// A run, as far as the warnings look at it.
pub(super) struct Run<'a> {
    pub(super) plan: &'a LoadPlan,
    pub(super) figures: &'a LoadFigures,
    pub(super) recorder: &'a Recorder,
    /// How late the generator was at most.
    pub(super) lag: Duration,
    /// Whether it ended before its time.
    pub(super) cut: bool,
}

/// Every warning that applies, the gravest first.
pub(super) fn warnings(run: &Run<'_>) -> Vec<String> {
    let all = [cut, nothing_counted, all_failed, not_sent, not_achieved, ages, lag, omission, few_samples];
    let mut warnings: Vec<String> = all.into_iter().filter_map(|warning| warning(run)).collect();
    if cfg!(debug_assertions) {
        warnings.push(
            "this is an unoptimised build of the workbench: it slows the load; build it with `--release`".to_owned(),
        );
    }
    warnings
}

fn cut(run: &Run<'_>) -> Option<String> {
    run.cut.then(|| {
        format!(
            "the run was cancelled after {:.1} of {:.1} counted seconds: the figures are of that part, and calls that \
             were open a second later count as unfinished",
            run.figures.window.as_secs_f64(),
            run.plan.duration().as_secs_f64()
        )
    })
}

fn nothing_counted(run: &Run<'_>) -> Option<String> {
    (run.figures.offered == 0)
        .then(|| "no call was counted: let the run last longer than its warm-up and the time between calls".to_owned())
}

fn all_failed(run: &Run<'_>) -> Option<String> {
    let LoadFigures { offered, succeeded, .. } = *run.figures;
    (offered > 0 && succeeded == 0).then(|| {
        let most = run.recorder.errors.iter().max_by_key(|(_, count)| **count);
        let kind = most.map(|(kind, count)| format!(" (mostly `{kind}`: {count})")).unwrap_or_default();
        format!("none of {offered} calls succeeded{kind}: nothing was measured; make one call by hand first")
    })
}

fn not_sent(run: &Run<'_>) -> Option<String> {
    let ratio = run.figures.offered_ratio()?;
    (ratio < REACHED).then(|| {
        let sent = run.figures.sent as f64 / run.figures.window.as_secs_f64();
        format!(
            "the rate was not reached: {:.1}/s were asked for and {sent:.1}/s were sent ({}): every place in flight \
             was taken; lower the rate, or raise `max_in_flight` (now {})",
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
            "the rate was not achieved: {offered:.1}/s were asked for and {achieved:.1}/s ended with a result in time \
             ({}); the latencies grow with the length of the run, so find a rate that is achieved first",
            percent(achieved / offered)
        )
    })
}

fn ages(run: &Run<'_>) -> Option<String> {
    let ages = run.recorder.ages;
    (ages > 0).then(|| {
        format!(
            "{ages} of {} calls were never answered; they are among the latencies at their age when they were given \
             up, so the true latencies are greater",
            run.figures.offered
        )
    })
}

fn lag(run: &Run<'_>) -> Option<String> {
    let Shape::Open(open) = run.plan.shape() else { return None };
    let allowed = LAG.max(Duration::from_secs_f64(0.1 / open.rate));
    (run.lag > allowed).then(|| {
        format!(
            "the workbench itself sent calls up to {} late, which is in the latencies: this machine is busy; lower \
             the rate, or run the server elsewhere",
            in_words(run.lag.as_secs_f64() * 1e6)
        )
    })
}

fn omission(run: &Run<'_>) -> Option<String> {
    let latency = run.figures.latency?;
    let closed = matches!(run.plan.shape(), Shape::Closed(_));
    (closed && latency.max_us > latency.p50_us.saturating_mul(STALL)).then(|| {
        format!(
            "the slowest call took {}, the median {}: in a closed loop a user who waits sends nothing, so the calls that \
             others would have made meanwhile are missing from the percentiles (coordinated omission); use an open \
             loop to see them",
            in_words(latency.max_us as f64),
            in_words(latency.p50_us as f64)
        )
    })
}

/// A percentile needs at least one sample beyond it; with fewer it is the maximum by another name.
fn few_samples(run: &Run<'_>) -> Option<String> {
    let samples = run.recorder.samples();
    let wanting: Vec<&str> = [("p90", 10), ("p95", 20), ("p99", 100), ("p99.9", 1_000)]
        .into_iter()
        .filter(|(_, needed)| samples < *needed)
        .map(|(word, _)| word)
        .collect();
    (samples > 0 && !wanting.is_empty()).then(|| {
        format!(
            "{samples} samples are too few for {}, which {} no more than the maximum; let the run last longer",
            wanting.join(", "),
            if wanting.len() == 1 { "says" } else { "say" }
        )
    })
}
