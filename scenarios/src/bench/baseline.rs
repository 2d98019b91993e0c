//! Comparison of a load test with an earlier report. A metric that became worse is a failed threshold.

use reports::model::{Latency, LoadResult, Run, RunKind, ThresholdResult};
use thiserror::Error;

use super::{
    LoadPlan,
    threshold::{format_us, percent},
};

/// Number of calls that a percentile must leave above itself. With fewer it changes from run to run by more than a tolerance.
const CALLS_ABOVE: f64 = 10.0;

/// The part of all calls by which the share of failed calls may always rise.
const ERROR_SLACK: f64 = 0.001;

/// The load tests of an earlier run, and how much worse a metric may become.
#[derive(Debug, Clone)]
pub struct LoadBaseline {
    loads: Vec<LoadResult>,
    /// 10 % is 0.1.
    tolerance: f64,
}

/// An earlier run that a load test cannot be compared with.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BaselineError {
    /// It is a report of another command.
    #[error("the baseline is not a report of `bench`")]
    Kind,
    /// The run was interrupted, or has no load tests.
    #[error("the baseline is incomplete: it was interrupted, or has no load tests")]
    Incomplete,
    /// No load test has the name.
    #[error("the baseline has no load test `{name}`, only {}", known.join(", "))]
    Name {
        /// The name of the load test.
        name: String,
        /// The names in the baseline.
        known: Vec<String>,
    },
    /// The load differs.
    #[error("the load of `{name}` differs from the baseline: {what} is {now}, and was {before}")]
    Load {
        /// The name of the load test.
        name: String,
        /// What differs.
        what: &'static str,
        /// The value of this run.
        now: String,
        /// The value of the baseline.
        before: String,
    },
}

impl LoadBaseline {
    /// Takes the load tests of an earlier run.
    ///
    /// # Errors
    /// If it is not a complete run of load tests.
    pub fn new(run: Run, tolerance: f64) -> Result<Self, BaselineError> {
        if run.header.kind != RunKind::Bench {
            return Err(BaselineError::Kind);
        }
        if !run.complete || run.loads.is_empty() {
            return Err(BaselineError::Incomplete);
        }
        Ok(Self { loads: run.loads, tolerance })
    }

    /// Whether a load can be compared, as far as this is known before it runs.
    ///
    /// # Errors
    /// The first difference.
    pub fn check(&self, name: &str, plan: &LoadPlan) -> Result<(), BaselineError> {
        let old = self.find(name)?;
        same(old, "the shape", &plan.describe_shape(), &old.shape)?;
        same(old, "the duration", &format!("{} ms", plan.duration().as_millis()), &format!("{} ms", old.counted_ms))
    }

    /// Compares a finished load test, and adds a threshold per metric. An interrupted one is not compared.
    ///
    /// # Errors
    /// If transport or driver differ from those of the baseline.
    pub fn apply(&self, result: &mut LoadResult) -> Result<(), BaselineError> {
        let old = self.find(&result.name)?;
        same(old, "the transport", &result.transport, &old.transport)?;
        same(old, "the driver", &result.driver, &old.driver)?;
        let thresholds = self.thresholds(old, result);
        result.thresholds.extend(thresholds);
        Ok(())
    }

    fn find(&self, name: &str) -> Result<&LoadResult, BaselineError> {
        self.loads.iter().find(|load| load.name == name).ok_or_else(|| BaselineError::Name {
            name: name.to_owned(),
            known: self.loads.iter().map(|load| format!("`{}`", load.name)).collect(),
        })
    }

    fn thresholds(&self, old: &LoadResult, new: &LoadResult) -> Vec<ThresholdResult> {
        let mut thresholds = vec![self.rate(old.achieved_rate, new.achieved_rate)];
        if let (Some(before), Some(now)) = (&old.latency, &new.latency) {
            let calls = old.succeeded.min(new.succeeded) as f64;
            let known = PERCENTILES.iter().filter(|(_, share, _)| calls * (1.0 - share) >= CALLS_ABOVE);
            thresholds.extend(known.map(|(name, _, value)| self.latency(name, value(before), value(now))));
        }
        thresholds.push(self.errors(old, new));
        thresholds
    }

    fn rate(&self, old: f64, new: f64) -> ThresholdResult {
        let limit = old * (1.0 - self.tolerance);
        ThresholdResult {
            threshold: format!("achieved_rate >= {limit:.1}/s (baseline {old:.1}/s - {})", percent(self.tolerance)),
            measured: format!("achieved_rate = {new:.1}/s, {}", change(old, new)),
            passed: new >= limit,
        }
    }

    fn latency(&self, name: &str, old: u64, new: u64) -> ThresholdResult {
        let (old, new) = (old as f64, new as f64);
        let limit = old * (1.0 + self.tolerance);
        let [shown, before, now] = [limit, old, new].map(format_us);
        ThresholdResult {
            threshold: format!("{name} <= {shown} (baseline {before} + {})", percent(self.tolerance)),
            measured: format!("{name} = {now}, {}", change(old, new)),
            passed: new <= limit,
        }
    }

    fn errors(&self, old: &LoadResult, new: &LoadResult) -> ThresholdResult {
        let share = |load: &LoadResult| {
            let failed = load.offered.saturating_sub(load.succeeded);
            failed as f64 / load.offered.max(1) as f64
        };
        let (before, now) = (share(old), share(new));
        let limit = (before * (1.0 + self.tolerance)).max(before + ERROR_SLACK).min(1.0);
        ThresholdResult {
            threshold: format!("error_rate <= {} (baseline {})", percent(limit), percent(before)),
            measured: format!("error_rate = {}", percent(now)),
            passed: now <= limit,
        }
    }
}

/// Name, share of the calls below, and value of a percentile.
type Percentile = (&'static str, f64, fn(&Latency) -> u64);

/// The compared percentiles.
const PERCENTILES: [Percentile; 3] =
    [("p50", 0.5, |one| one.p50_us), ("p95", 0.95, |one| one.p95_us), ("p99", 0.99, |one| one.p99_us)];

/// The change in percent: `+12.5 %`.
fn change(old: f64, new: f64) -> String {
    if old > 0.0 { format!("{:+.1} %", (new / old - 1.0) * 100.0) } else { "the baseline is 0".to_owned() }
}

/// An error if a property of the load test differs from that in the baseline.
fn same(old: &LoadResult, what: &'static str, now: &str, before: &str) -> Result<(), BaselineError> {
    if now == before {
        return Ok(());
    }
    let [name, now, before] = [old.name.as_str(), now, before].map(str::to_owned);
    Err(BaselineError::Load { name, what, now, before })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn load(p50: u64, p99: u64, rate: f64, failed: u64) -> LoadResult {
        let latency = json!({ "min_us": p50, "mean_us": p50, "p50_us": p50, "p90_us": p50, "p95_us": p50, "p99_us": p99,
            "p999_us": p99, "max_us": p99 });
        let result = json!({ "name": "echo", "transport": "stdio", "shape": "open loop, 100/s", "counted_ms": 10_000,
            "driver": "raw", "offered": 1_000 + failed, "sent": 1_000, "succeeded": 1_000, "errors": {}, "unfinished": 0,
            "offered_rate": 100.0, "achieved_rate": rate, "latency": latency, "thresholds": [], "warnings": [] });
        serde_json::from_value(result).unwrap()
    }

    fn run(load: LoadResult) -> Run {
        let run = json!({ "format": reports::model::FORMAT, "header": { "run_id": "1", "kind": "bench", "workbench": "1",
            "started": "2026-01-01T00:00:00Z", "subject": "server", "seed": 1, "planned": 1 }, "cases": [], "loads": [load],
            "complete": true, "elapsed_ms": 1 });
        serde_json::from_value(run).unwrap()
    }

    fn baseline() -> LoadBaseline {
        LoadBaseline::new(run(load(1_000, 5_000, 100.0, 0)), 0.1).unwrap()
    }

    #[test]
    fn names_the_metric_that_became_worse() {
        for (new, failed) in [
            (load(1_090, 5_400, 91.0, 1), vec![]),
            (load(1_111, 5_000, 100.0, 0), vec!["p50", "p95"]),
            (load(1_000, 5_555, 100.0, 0), vec!["p99"]),
            (load(1_000, 5_000, 89.0, 0), vec!["achieved_rate"]),
            (load(1_000, 5_000, 100.0, 5), vec!["error_rate"]),
            (load(100, 500, 1_000.0, 0), vec![]),
        ] {
            let mut result = new;
            baseline().apply(&mut result).unwrap();
            let broken = result.thresholds.iter().filter(|one| !one.passed);
            let broken: Vec<_> = broken.map(|one| one.threshold.split(' ').next().unwrap()).collect();
            assert_eq!(broken, failed, "{:?}", result.thresholds);
            assert_eq!(result.passed(), failed.is_empty());
        }
        let mut slower = load(1_250, 5_000, 100.0, 0);
        baseline().apply(&mut slower).unwrap();
        assert_eq!(slower.thresholds[1].threshold, "p50 <= 1.10 ms (baseline 1.00 ms + 10 %)");
        assert_eq!(slower.thresholds[1].measured, "p50 = 1.25 ms, +25.0 %");
    }

    #[test]
    fn percentiles_of_few_calls_are_not_compared() {
        let mut result = LoadResult { succeeded: 100, ..load(1_000, 50_000, 100.0, 0) };
        baseline().apply(&mut result).unwrap();
        assert!(result.thresholds.iter().all(|one| !one.threshold.starts_with("p9")), "{:?}", result.thresholds);
    }

    #[test]
    fn another_load_is_an_error() {
        let plan = |load: serde_json::Value| LoadPlan::new(&serde_json::from_value(load).unwrap()).unwrap();
        let open = |rate: u32, duration: &str| {
            plan(json!({ "tool": "echo", "shape": { "open": { "rate": rate } }, "duration": duration }))
        };
        assert_eq!(baseline().check("echo", &open(100, "10s")), Ok(()));
        for (name, plan, message) in [
            ("add", open(100, "10s"), "the baseline has no load test `add`, only `echo`"),
            (
                "echo",
                open(200, "10s"),
                "the load of `echo` differs from the baseline: the shape is open loop, 200/s, and was open loop, 100/s",
            ),
            (
                "echo",
                open(100, "5s"),
                "the load of `echo` differs from the baseline: the duration is 5000 ms, and was 10000 ms",
            ),
        ] {
            assert_eq!(baseline().check(name, &plan).unwrap_err().to_string(), message);
        }
        let mut client = LoadResult { driver: "client".to_owned(), ..load(1_000, 5_000, 100.0, 0) };
        let error = baseline().apply(&mut client).unwrap_err().to_string();
        assert_eq!(error, "the load of `echo` differs from the baseline: the driver is client, and was raw");
    }

    #[test]
    fn other_runs_are_no_baseline() {
        let mut interrupted = run(load(1, 1, 1.0, 0));
        interrupted.complete = false;
        assert_eq!(LoadBaseline::new(interrupted, 0.1).unwrap_err(), BaselineError::Incomplete);
        let mut other = run(load(1, 1, 1.0, 0));
        other.header.kind = RunKind::Validate;
        assert_eq!(LoadBaseline::new(other, 0.1).unwrap_err(), BaselineError::Kind);
    }
}
