//! Comparison of two servers under the same load, from pairs of short runs.
//!
//! The runs of a pair follow each other directly and their order alternates (A B, B A, …), so that slow changes of the
//! machine affect both servers alike. Each pair has one value: the logarithm of the ratio of its runs. One metric decides,
//! so that a comparison is one test and not several.

use std::fmt;

use reports::model::LoadResult;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::statistics::{Estimate, location, median};

/// Version of the format of [`PairedComparison`].
pub const FORMAT: u32 = 1;

/// Minimum number of pairs of a comparison: fewer have no useful interval.
pub const MIN_PAIRS: usize = 5;

/// A value of a load test to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompareMetric {
    /// Median of the latencies.
    P50,
    /// Mean of the latencies.
    Mean,
    /// 90th percentile.
    P90,
    /// 95th percentile.
    P95,
    /// 99th percentile.
    P99,
    /// Successful calls per second.
    AchievedRate,
}

impl CompareMetric {
    /// All metrics, in the order of reports.
    pub const ALL: [Self; 6] = [Self::P50, Self::Mean, Self::P90, Self::P95, Self::P99, Self::AchievedRate];

    /// The name, as in thresholds.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::Mean => "mean",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::AchievedRate => "achieved_rate",
        }
    }

    /// Its value: microseconds, or calls per second. `None` without a successful call.
    #[must_use]
    pub fn value(self, load: &LoadResult) -> Option<f64> {
        let latency = load.latency.filter(|_| load.succeeded > 0)?;
        let value = match self {
            Self::P50 => latency.p50_us as f64,
            Self::Mean => latency.mean_us,
            Self::P90 => latency.p90_us as f64,
            Self::P95 => latency.p95_us as f64,
            Self::P99 => latency.p99_us as f64,
            Self::AchievedRate => load.achieved_rate,
        };
        (value > 0.0).then_some(value)
    }

    /// Whether a higher value is better.
    #[must_use]
    pub fn higher_is_better(self) -> bool {
        matches!(self, Self::AchievedRate)
    }
}

/// One of the two servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The first server.
    A,
    /// The second server.
    B,
}

/// The order of the runs of a pair, counted from 0.
#[must_use]
pub fn order(pair: usize) -> [Side; 2] {
    if pair.is_multiple_of(2) { [Side::A, Side::B] } else { [Side::B, Side::A] }
}

/// The verdict of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Difference {
    /// The interval contains no difference, or the difference is at most the tolerance.
    None,
    /// B is better by more than the tolerance.
    Better,
    /// B is worse by more than the tolerance, or more of its calls failed.
    Worse,
}

/// Two servers, compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairedComparison {
    /// Version of this format: 1.
    pub format: u32,
    /// The first server.
    pub a: ComparedServer,
    /// The second server.
    pub b: ComparedServer,
    /// The load of each run.
    pub load: String,
    /// Duration of the measurement of each run, in milliseconds.
    pub counted_ms: u64,
    /// Number of pairs.
    pub pairs: usize,
    /// The metric that decides.
    pub metric: CompareMetric,
    /// Differences up to this one are not reported, in percent.
    pub tolerance_percent: f64,
    /// The verdict.
    pub difference: Difference,
    /// The verdict as a sentence.
    pub verdict: String,
    /// The metrics; only one of them decides.
    pub metrics: Vec<MetricRatio>,
    /// Limitations of the comparison.
    pub warnings: Vec<String>,
}

/// A compared server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedServer {
    /// Its command or URL.
    pub server: String,
    /// The transport.
    pub transport: String,
    /// Scheduled calls of all runs.
    pub offered: u64,
    /// Calls that returned a result.
    pub succeeded: u64,
    /// Runs that failed a check, such as the minimum rate.
    pub failed_runs: usize,
}

/// A metric of both servers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricRatio {
    /// The metric.
    pub metric: CompareMetric,
    /// Whether it decides.
    pub decides: bool,
    /// Median of the runs of A, in microseconds or calls per second.
    pub a: f64,
    /// Median of the runs of B.
    pub b: f64,
    /// Value of B divided by that of A, with the 95 % interval.
    pub ratio: Estimate,
    /// The ratio of each pair, in the order of the runs.
    pub pairs: Vec<f64>,
}

/// What decides a comparison.
#[derive(Debug, Clone, Copy)]
pub struct Decision {
    /// The metric.
    pub metric: CompareMetric,
    /// The largest difference that is not reported; 1 % is 0.01.
    pub tolerance: f64,
    /// Seed of the bootstrap.
    pub seed: u64,
}

/// The results of both servers, by pair.
#[derive(Debug)]
pub struct PairedRuns<'a> {
    /// Command or URL of A and B.
    pub servers: [String; 2],
    /// The result of A and of B in each pair.
    pub pairs: &'a [[LoadResult; 2]],
}

/// A comparison without a verdict.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// Too few pairs have successful calls.
    #[error(
        "only {usable} of {pairs} pairs of runs have successful calls of both servers, but {MIN_PAIRS} are needed{reason}"
    )]
    TooFewPairs {
        /// Pairs with values.
        usable: usize,
        /// All pairs.
        pairs: usize,
        /// The most frequent error, after `: `; empty without one.
        reason: String,
    },
}

impl PairedRuns<'_> {
    /// Compares the servers.
    ///
    /// # Errors
    /// If fewer than [`MIN_PAIRS`] pairs have successful calls of both servers.
    pub fn compare(&self, decision: Decision) -> Result<PairedComparison, CompareError> {
        let metrics: Vec<MetricRatio> =
            CompareMetric::ALL.into_iter().filter_map(|metric| self.ratio(metric, decision)).collect();
        let decisive = metrics.iter().find(|ratio| ratio.decides && ratio.pairs.len() >= MIN_PAIRS);
        let Some(decisive) = decisive else { return Err(self.too_few(decision.metric)) };
        let (a, b) = (self.server(0), self.server(1));
        let judged = Judged::new(decisive, (&a, &b), decision.tolerance);
        let first = self.pairs.first().map(|pair| &pair[0]);
        Ok(PairedComparison {
            format: FORMAT,
            load: first.map(|load| load.shape.clone()).unwrap_or_default(),
            counted_ms: first.map(|load| load.counted_ms).unwrap_or_default(),
            pairs: self.pairs.len(),
            metric: decision.metric,
            tolerance_percent: decision.tolerance * 100.0,
            difference: judged.difference,
            verdict: judged.to_string(),
            warnings: self.warnings(&a, &b, decisive, &judged),
            metrics,
            a,
            b,
        })
    }

    /// Whether the interval of the metric that decides is too wide: half of it exceeds both the tolerance, and half of the
    /// difference. Equal servers rarely differ by the length of an interval, so the rule does not favor a verdict.
    #[must_use]
    pub fn needs_more_pairs(&self, decision: Decision) -> bool {
        let Some(found) = self.ratio(decision.metric, decision) else { return false };
        let difference = found.ratio.value.ln().abs();
        resolution(found.ratio) > decision.tolerance.max(difference / 2.0)
    }

    fn ratio(&self, metric: CompareMetric, decision: Decision) -> Option<MetricRatio> {
        let values = |pair: &[LoadResult; 2]| Some([metric.value(&pair[0])?, metric.value(&pair[1])?]);
        let values: Vec<[f64; 2]> = self.pairs.iter().filter_map(values).collect();
        let logarithms: Vec<f64> = values.iter().map(|[a, b]| (b / a).ln()).collect();
        let ratio = location(&logarithms, decision.seed)?.map(f64::exp);
        let side = |side: usize| median(values.iter().map(|pair| pair[side]).collect());
        let pairs = values.iter().map(|[a, b]| b / a).collect();
        Some(MetricRatio { metric, decides: metric == decision.metric, a: side(0), b: side(1), ratio, pairs })
    }

    fn server(&self, side: usize) -> ComparedServer {
        let runs = || self.pairs.iter().map(move |pair| &pair[side]);
        ComparedServer {
            server: self.servers[side].clone(),
            transport: runs().next().map(|run| run.transport.clone()).unwrap_or_default(),
            offered: runs().map(|run| run.offered).sum(),
            succeeded: runs().map(|run| run.succeeded).sum(),
            failed_runs: runs().filter(|run| !run.passed()).count(),
        }
    }

    fn too_few(&self, metric: CompareMetric) -> CompareError {
        let usable = self.pairs.iter().filter(|pair| pair.iter().all(|run| metric.value(run).is_some())).count();
        let samples = self.pairs.iter().flatten().flat_map(|run| run.error_samples.iter());
        let reason = samples.map(|(kind, sample)| format!("; an error is {kind}: {}", sample.text)).next();
        CompareError::TooFewPairs { usable, pairs: self.pairs.len(), reason: reason.unwrap_or_default() }
    }

    fn warnings(&self, a: &ComparedServer, b: &ComparedServer, decisive: &MetricRatio, judged: &Judged) -> Vec<String> {
        let mut warnings = Vec::new();
        for (name, server) in [("A", a), ("B", b)] {
            let failed = server.offered.saturating_sub(server.succeeded);
            if failed > 0 {
                warnings.push(format!("{failed} of {} calls of {name} failed or are unfinished", server.offered));
            }
            if server.failed_runs > 0 {
                let text = "runs failed a check, such as the minimum rate, so the loads differ; lower the rate";
                warnings.push(format!("{name}: {} of {} {text}", server.failed_runs, self.pairs.len()));
            }
        }
        let missing = self.pairs.len() - decisive.pairs.len();
        if missing > 0 {
            warnings.push(format!("{missing} pairs have no successful calls, and are not part of the comparison"));
        }
        if a.transport != b.transport {
            warnings.push(format!("A uses {}, B uses {}", a.transport, b.transport));
        }
        let saturated =
            self.pairs.iter().flatten().filter(|run| run.generator.is_some_and(|one| one.saturated)).count();
        if saturated > self.pairs.len() {
            warnings.push("the load generator was the limit of most runs; lower the load".to_owned());
        }
        let resolution = resolution(decisive.ratio);
        if judged.difference == Difference::None && resolution > judged.tolerance {
            warnings.push(format!(
                "the interval is wide, so that a difference below {:.1} % cannot be seen; add `--max-pairs`, or a longer `--duration`",
                resolution * 100.0
            ));
        }
        warnings
    }
}

/// The verdict and its reasons.
struct Judged<'a> {
    difference: Difference,
    ratio: &'a MetricRatio,
    /// Shares of the calls of A and B that failed, if they decided.
    failures: Option<(f64, f64)>,
    tolerance: f64,
}

impl<'a> Judged<'a> {
    fn new(ratio: &'a MetricRatio, (a, b): (&ComparedServer, &ComparedServer), tolerance: f64) -> Self {
        let failed = |server: &ComparedServer| 1.0 - server.succeeded as f64 / server.offered.max(1) as f64;
        let (failed_a, failed_b) = (failed(a), failed(b));
        if failed_b - failed_a > tolerance {
            return Self { difference: Difference::Worse, ratio, failures: Some((failed_a, failed_b)), tolerance };
        }
        let Estimate { value, low, high } = ratio.ratio;
        let is_higher = low > 1.0 && value > 1.0 + tolerance;
        let is_lower = high < 1.0 && value < 1.0 - tolerance;
        let difference = match (is_higher, is_lower) {
            (false, false) => Difference::None,
            (higher, _) if higher == ratio.metric.higher_is_better() => Difference::Better,
            _ => Difference::Worse,
        };
        Self { difference, ratio, failures: None, tolerance }
    }
}

impl fmt::Display for Judged<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((a, b)) = self.failures {
            return write!(
                f,
                "B is worse: {:.1} % of its calls failed, and {:.1} % of those of A",
                b * 100.0,
                a * 100.0
            );
        }
        let percent = self.ratio.ratio.map(|ratio| (ratio - 1.0) * 100.0);
        let Estimate { value, low, high } = percent;
        let name = self.ratio.metric.as_str();
        if self.difference == Difference::None {
            let tolerance = self.tolerance * 100.0;
            let contains = low <= 0.0 && high >= 0.0;
            let text = if contains { String::new() } else { format!(" above {tolerance} %") };
            return write!(
                f,
                "no difference{text} ({name} of B {value:+.1} %, 95 % interval {low:+.1} to {high:+.1} %)"
            );
        }
        let word = match (self.ratio.metric.higher_is_better(), self.difference) {
            (false, Difference::Better) => "faster",
            (false, _) => "slower",
            (true, Difference::Better) => "higher in rate",
            (true, _) => "lower in rate",
        };
        let (near, far) = if value < 0.0 { (-high, -low) } else { (low, high) };
        write!(f, "B is {:.1} % {word} ({name}, 95 % interval {near:.1} to {far:.1} %)", value.abs())
    }
}

/// Half the length of an interval of ratios, as a share.
fn resolution(ratio: Estimate) -> f64 {
    (ratio.high / ratio.low).ln() / 2.0
}

#[cfg(test)]
mod tests;
