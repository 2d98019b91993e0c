//! Early end of a load test that cannot pass any more (`--abort-on-fail`).
//!
//! The decision needs the counters of calls only, which both drivers report once per second. Thresholds on latencies are
//! known at the end of the run.

use std::time::Duration;

use reports::model::{LoadResult, ThresholdResult};

use super::{LoadPlan, Progress};

/// Number of successive reports in which all calls failed, after which a run is aborted.
const FAILED_REPORTS: u32 = 5;

/// Watches the progress of a load test.
#[derive(Debug)]
pub(crate) struct AbortRule {
    warmup: Duration,
    /// Number of failed calls that fails a threshold, and the threshold. Known for open loops only.
    limit: Option<(f64, String)>,
    /// Failed calls of the warm-up.
    before: u64,
    last: Option<Progress>,
    failed_reports: u32,
    reason: Option<String>,
}

impl AbortRule {
    /// The rule for a plan.
    pub(crate) fn new(plan: &LoadPlan) -> Self {
        let shares = plan.thresholds().iter().filter_map(|one| Some((one.max_error_rate()?, one.to_string())));
        let lowest = shares.min_by(|one, other| one.0.total_cmp(&other.0));
        // Failed calls of the measurement stay failed, so the rest of the run cannot change the result. The last report of
        // the warm-up may be a second old; its later errors do not count.
        let limit = lowest.and_then(|(share, text)| Some((share * plan.expected_calls()?, text)));
        Self { warmup: plan.warmup(), limit, before: 0, last: None, failed_reports: 0, reason: None }
    }

    /// Takes a report. Returns whether the run has to be aborted.
    pub(crate) fn observe(&mut self, progress: Progress) -> bool {
        let last = self.last.replace(progress);
        // The report that includes the end of the warm-up has calls of both.
        if last.is_none_or(|last| last.elapsed < self.warmup) {
            self.before = progress.errors;
        }
        let (done, errors) = (progress.done, progress.errors);
        let (done_before, errors_before) = last.map_or((0, 0), |last| (last.done, last.errors));
        let all_failed = errors > errors_before && errors - errors_before == done - done_before;
        self.failed_reports = if all_failed { self.failed_reports + 1 } else { 0 };
        let counted = errors - self.before;
        if self.reason.is_none() {
            self.reason = match &self.limit {
                Some((limit, text)) if counted as f64 > *limit => {
                    Some(format!("{counted} calls failed, so that `{text}` cannot pass any more"))
                }
                _ if self.failed_reports >= FAILED_REPORTS => {
                    Some(format!("all calls failed for {FAILED_REPORTS} seconds"))
                }
                _ => None,
            };
        }
        self.reason.is_some()
    }

    /// Fails the result of an aborted run, with the reason.
    pub(crate) fn finish(self, result: &mut LoadResult) {
        let Some(reason) = self.reason else { return };
        let elapsed = self.last.map_or(0.0, |last| last.elapsed.as_secs_f64());
        result.thresholds.push(ThresholdResult {
            threshold: "the run is not aborted".to_owned(),
            measured: format!("aborted after {elapsed:.0} s: {reason}"),
            passed: false,
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rule(shape: serde_json::Value, thresholds: &[&str]) -> AbortRule {
        let load =
            json!({ "tool": "echo", "shape": shape, "duration": "100s", "warmup": "2s", "thresholds": thresholds });
        AbortRule::new(&LoadPlan::new(&serde_json::from_value(load).unwrap()).unwrap())
    }

    /// The second in which the rule aborts a run with so many calls per second, of which a number fail.
    fn aborted(mut rule: AbortRule, failed: impl Fn(u64) -> u64) -> (Option<u64>, Option<String>) {
        let mut errors = 0;
        let second = (1..=100).find(|second| {
            errors += failed(*second);
            let (elapsed, planned) = (Duration::from_secs(*second), Duration::from_secs(102));
            let progress =
                Progress { elapsed, planned, sent: second * 10, done: second * 10, errors, in_flight: 0, recent: None };
            rule.observe(progress)
        });
        (second, rule.reason)
    }

    #[test]
    fn a_run_ends_when_too_many_calls_failed_for_its_threshold() {
        let open = json!({ "open": { "rate": 10 } });
        let limited = || rule(open.clone(), &["p99 < 1s", "error_rate <= 1%"]);
        // 1 % of 1000 calls.
        let (second, reason) = aborted(limited(), |_| 1);
        assert_eq!(
            (second, reason.as_deref()),
            (Some(13), Some("11 calls failed, so that `error_rate <= 1%` cannot pass any more"))
        );
        assert_eq!(aborted(limited(), |second| u64::from(second % 11 == 0)).0, None);
        // Those of the warm-up do not count.
        assert_eq!(aborted(limited(), |second| if second <= 2 { 10 } else { 0 }).0, None);
        assert_eq!(aborted(rule(open, &[]), |_| 1).0, None);
    }

    #[test]
    fn a_run_ends_when_all_calls_fail_for_five_seconds() {
        let closed = || rule(json!({ "closed": { "users": 1 } }), &["error_rate <= 50%"]);
        let (second, reason) = aborted(closed(), |second| if second > 7 { 10 } else { 0 });
        assert_eq!((second, reason.as_deref()), (Some(12), Some("all calls failed for 5 seconds")));
        assert_eq!(aborted(closed(), |second| if second % 5 == 0 { 0 } else { 10 }).0, None);
        // A server that stalls returns nothing, and is no failure.
        let mut stalled = closed();
        let stuck = |second| Progress {
            elapsed: Duration::from_secs(second),
            planned: Duration::MAX,
            sent: 1,
            done: 0,
            errors: 0,
            in_flight: 1,
            recent: None,
        };
        assert!((1..20).all(|second| !stalled.observe(stuck(second))));
    }
}
