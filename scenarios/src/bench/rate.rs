//! The implicit threshold of an open loop: the requested rate must be reached, and a failure says why it was not.

use reports::model::ThresholdResult;

use super::{
    threshold::percent,
    warnings::{Run, rate_limit},
};
use crate::model::Shape;

/// The threshold on the rate. `None` in a closed loop, without measured calls, and if the user turned it off.
pub(super) fn check(run: &Run<'_>) -> Option<ThresholdResult> {
    let minimum = run.plan.min_rate();
    let Shape::Open(open) = run.plan.shape() else { return None };
    let ratio = run.figures.achieved_ratio().filter(|_| minimum > 0.0)?;
    let passed = ratio >= minimum;
    let mut measured = format!("achieved_rate = {:.1}/s, {}", run.figures.achieved_rate, percent(ratio));
    if !passed {
        measured = format!("{measured}: {}", reason(run));
    }
    let requested =
        open.rate.map_or_else(|| format!("{:.1}/s", run.figures.offered_rate()), |rate| format!("{rate}/s"));
    let threshold = format!("achieved_rate >= {} of {requested}", percent(minimum));
    Some(ThresholdResult { threshold, measured, passed })
}

/// Why the rate was not reached.
fn reason(run: &Run<'_>) -> String {
    let figures = run.figures;
    let mut parts = Vec::new();
    if figures.failed > 0 {
        parts.push(format!("{} calls failed", figures.failed));
    }
    if figures.unfinished > 0 {
        let unsent = figures.offered - figures.sent;
        parts.push(format!("{} calls are unfinished, {unsent} of them were not sent", figures.unfinished));
    }
    parts.push(rate_limit(run));
    parts.join("; ")
}
