//! Pass/fail thresholds of load tests (`p99 < 50ms`, `error_rate <= 1%`), also of one operation (`p99{echo} < 50ms`).
//!
//! This module owns their grammar and evaluation. Thresholds that always pass or never pass are rejected.

mod parse;
#[cfg(test)]
mod tests;

use std::{fmt, time::Duration};

use diagnostics::nearest;
use reports::model::{Latency, LoadPoint, NotificationResult, ProcessUsage, ThresholdResult};
use thiserror::Error;

use super::{figures::LoadFigures, statistics::median};

/// One threshold: a metric, an operator and a limit. [`str::parse`] parses it.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    text: String,
    metric: Metric,
    /// The operation that it is about; otherwise the whole load.
    operation: Option<String>,
    operator: Operator,
    limit: Limit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Metric {
    /// In thousandths of a percent.
    Percentile(u32),
    Max,
    Mean,
    Min,
    ErrorRate,
    UnfinishedRate,
    AchievedRate,
    OfferedRatio,
    RssGrowth,
    P50Drift,
    FirstNotificationP99,
    NotificationGapMax,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Less,
    AtMost,
    More,
    AtLeast,
}

/// The limit, in the unit of its metric.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Limit {
    Time(Duration),
    /// 1 % is 0.01.
    Share(f64),
    /// Calls per second.
    Rate(f64),
    /// Bytes per minute.
    Growth(f64),
    /// How much longer, relative to the begin; 1 % is 0.01.
    Drift(f64),
}

/// A syntax error in a threshold, and its position.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{problem}")]
pub struct ThresholdError {
    /// The problem.
    pub problem: ThresholdProblem,
    /// Position in characters.
    pub position: usize,
    /// Length in characters; 0 if something is missing.
    pub width: usize,
    /// How to fix it.
    pub advice: String,
}

/// A problem of a threshold.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ThresholdProblem {
    /// It does not start with a metric.
    #[error("a metric is missing")]
    NoMetric,
    /// Unknown metric.
    #[error("unknown metric `{0}`")]
    UnknownMetric(String),
    /// The metric is not followed by an operator.
    #[error("an operator is missing")]
    NoOperator,
    /// Unknown operator.
    #[error("unknown operator `{0}`")]
    UnknownOperator(String),
    /// The operator is not followed by a limit.
    #[error("a limit is missing")]
    NoLimit,
    /// The limit does not have the unit of the metric.
    #[error("`{limit}` is not {wanted}")]
    BadLimit {
        /// The text of the limit.
        limit: String,
        /// The expected form.
        wanted: &'static str,
    },
    /// The name of the operation does not end.
    #[error("a `}}` is missing")]
    UnclosedOperation,
    /// An operation does not have the metric.
    #[error("`{0}` is a metric of the whole load")]
    NotOfOperations(String),
    /// The load does not have the operation.
    #[error("the load has no operation `{0}`")]
    UnknownOperation(String),
    /// No run can fail it.
    #[error("this always passes")]
    AlwaysPasses,
    /// No run can pass it.
    #[error("this never passes")]
    NeverPasses,
}

impl Threshold {
    /// Evaluates the threshold, without samples of the server process. `percentile` returns a percentile (0 to 100) in microseconds. Without latencies, a latency
    /// threshold fails.
    #[must_use]
    pub fn evaluate(&self, figures: &LoadFigures, percentile: impl Fn(f64) -> Option<u64>) -> ThresholdResult {
        let (passed, measured) = match self.limit {
            Limit::Time(limit) => {
                match figures.latency.and_then(|latency| self.metric.latency_us(&latency, percentile)) {
                    Some(micros) => (self.operator.compare(micros, limit.as_secs_f64() * 1e6), format_us(micros)),
                    None => (false, "no call has a latency".to_owned()),
                }
            }
            Limit::Share(limit) => match self.metric.share(figures) {
                Some(share) => (self.operator.compare(share, limit), percent(share)),
                None => (false, "no call was counted".to_owned()),
            },
            Limit::Rate(limit) => {
                let rate = figures.achieved_rate;
                (self.operator.compare(rate, limit), format!("{rate:.1}/s"))
            }
            // It needs the time series.
            Limit::Drift(_) => (false, "unknown".to_owned()),
            Limit::Growth(_) => (false, "unknown: no local server process was sampled; add `--pid`".to_owned()),
        };
        self.result(passed, &measured)
    }

    /// Evaluates a threshold on the server process. `None` for other thresholds.
    #[must_use]
    pub fn evaluate_usage(&self, usage: Option<&ProcessUsage>) -> Option<ThresholdResult> {
        let Limit::Growth(limit) = self.limit else { return None };
        let (passed, measured) = match usage.map(|usage| (usage.rss_growth, usage.samples)) {
            Some((Some(growth), _)) => {
                let [value, low, high] = [growth.value, growth.low, growth.high].map(|bytes| bytes / 1e6);
                let measured = format!("{value:.2} MB/min (95 % interval {low:.2} to {high:.2})");
                (self.operator.compare(growth.value, limit), measured)
            }
            Some((None, samples)) => (false, format!("unknown: {samples} samples are too few; run for 10s or longer")),
            None => (false, "unknown: no local server process was sampled; add `--pid`".to_owned()),
        };
        Some(self.result(passed, &measured))
    }

    /// Evaluates a threshold on the load over time: the median latency of the last quarter of the intervals compared with that
    /// of the first one. `None` for other thresholds.
    pub(super) fn evaluate_series(&self, series: &[LoadPoint]) -> Option<ThresholdResult> {
        /// Fewer intervals have no quarters.
        const FEW: usize = 8;
        let Limit::Drift(limit) = self.limit else { return None };
        let medians: Vec<f64> = series.iter().filter_map(|point| point.p50_us.map(|us| us as f64)).collect();
        let quarter = medians.len() / 4;
        let (passed, measured) = if medians.len() < FEW {
            (false, format!("unknown: {} intervals with a result are too few; run for 10s or longer", medians.len()))
        } else {
            let [first, last] =
                [&medians[..quarter], &medians[medians.len() - quarter..]].map(|part| median(part.to_vec()));
            let drift = last / first.max(1.0) - 1.0;
            let measured = format!("{:.0} % ({} to {})", drift * 100.0, format_us(first), format_us(last));
            (self.operator.compare(drift, limit), measured)
        };
        Some(self.result(passed, &measured))
    }

    /// Evaluates a threshold on the notifications before the responses. `None` for other thresholds.
    pub(super) fn evaluate_notifications(&self, measured: Option<&NotificationResult>) -> Option<ThresholdResult> {
        let value: fn(&NotificationResult) -> u64 = match self.metric {
            Metric::FirstNotificationP99 => |measured| measured.first.p99_us,
            Metric::NotificationGapMax => |measured| measured.longest_gap.max_us,
            _ => return None,
        };
        let (passed, measured) = match (self.limit, measured) {
            (Limit::Time(limit), Some(measured)) => {
                let micros = value(measured) as f64;
                (self.operator.compare(micros, limit.as_secs_f64() * 1e6), format_us(micros))
            }
            _ => (false, "no call had a notification; progress needs `--request-progress`".to_owned()),
        };
        Some(self.result(passed, &measured))
    }

    /// The operation that it is about; `None` for the whole load.
    pub(super) fn operation(&self) -> Option<&str> {
        self.operation.as_deref()
    }

    /// Checks that the load has the operation, whose names are given.
    pub(super) fn check_operation(&self, known: &[String]) -> Result<(), ThresholdError> {
        let Some(name) = self.operation.as_ref().filter(|name| !known.contains(name)) else { return Ok(()) };
        let advice = match known {
            [] => "only a load with `mix` or `steps` has operations".to_owned(),
            known => nearest::advice(name, known.iter().map(String::as_str)),
        };
        // The name of a metric has only ASCII characters.
        let position = self.text.find('{').map_or(0, |brace| brace + 1);
        let problem = ThresholdProblem::UnknownOperation(name.clone());
        Err(ThresholdError { problem, position, width: name.chars().count(), advice })
    }

    /// The highest share of failed calls that passes; `None` if the threshold has no such limit.
    pub(super) fn max_error_rate(&self) -> Option<f64> {
        match (self.metric, self.operator, self.limit) {
            _ if self.operation.is_some() => None,
            (Metric::ErrorRate, Operator::Less | Operator::AtMost, Limit::Share(share)) => Some(share),
            _ => None,
        }
    }

    /// The operation in braces.
    fn suffix(&self) -> String {
        self.operation.as_ref().map(|name| format!("{{{name}}}")).unwrap_or_default()
    }

    fn result(&self, passed: bool, measured: &str) -> ThresholdResult {
        ThresholdResult {
            threshold: self.text.clone(),
            measured: format!("{}{} = {measured}", self.metric.name(), self.suffix()),
            passed,
        }
    }
}

impl fmt::Display for Threshold {
    /// Writes the original text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Metric {
    /// The metrics that messages list. Every other percentile is a metric too.
    const ALL: [Self; 16] = [
        Self::Percentile(50_000),
        Self::Percentile(90_000),
        Self::Percentile(95_000),
        Self::Percentile(99_000),
        Self::Percentile(99_900),
        Self::Max,
        Self::Mean,
        Self::Min,
        Self::ErrorRate,
        Self::UnfinishedRate,
        Self::AchievedRate,
        Self::OfferedRatio,
        Self::RssGrowth,
        Self::P50Drift,
        Self::FirstNotificationP99,
        Self::NotificationGapMax,
    ];

    fn name(self) -> String {
        match self {
            Self::Percentile(thousandths) => format!("p{}", f64::from(thousandths) / 1_000.0),
            Self::Max => "max".to_owned(),
            Self::Mean => "mean".to_owned(),
            Self::Min => "min".to_owned(),
            Self::ErrorRate => "error_rate".to_owned(),
            Self::UnfinishedRate => "unfinished_rate".to_owned(),
            Self::AchievedRate => "achieved_rate".to_owned(),
            Self::OfferedRatio => "offered_ratio".to_owned(),
            Self::RssGrowth => "rss_growth".to_owned(),
            Self::P50Drift => "p50_drift".to_owned(),
            Self::FirstNotificationP99 => "first_notification_p99".to_owned(),
            Self::NotificationGapMax => "notification_gap_max".to_owned(),
        }
    }

    /// A latency in microseconds; `None` without latencies.
    fn latency_us(self, latency: &Latency, percentile: impl Fn(f64) -> Option<u64>) -> Option<f64> {
        let micros = match self {
            Self::Percentile(thousandths) => percentile(f64::from(thousandths) / 1_000.0)?,
            Self::Max => latency.max_us,
            Self::Min => latency.min_us,
            // The other metrics have no limit in time, or are not about results.
            Self::Mean
            | Self::ErrorRate
            | Self::UnfinishedRate
            | Self::AchievedRate
            | Self::OfferedRatio
            | Self::RssGrowth
            | Self::P50Drift
            | Self::FirstNotificationP99
            | Self::NotificationGapMax => return Some(latency.mean_us),
        };
        Some(micros as f64)
    }

    /// A share of the calls; `None` without calls.
    fn share(self, figures: &LoadFigures) -> Option<f64> {
        match self {
            Self::OfferedRatio => figures.offered_ratio(),
            Self::UnfinishedRate => figures.unfinished_rate(),
            Self::ErrorRate
            | Self::AchievedRate
            | Self::Percentile(_)
            | Self::Max
            | Self::Mean
            | Self::Min
            | Self::RssGrowth
            | Self::P50Drift
            | Self::FirstNotificationP99
            | Self::NotificationGapMax => figures.error_rate(),
        }
    }
}

impl Operator {
    fn compare(self, measured: f64, limit: f64) -> bool {
        match self {
            Self::Less => measured < limit,
            Self::AtMost => measured <= limit,
            Self::More => measured > limit,
            Self::AtLeast => measured >= limit,
        }
    }
}

/// Formats microseconds with about four digits.
pub(super) fn format_us(micros: f64) -> String {
    match micros {
        ..1_000.0 => format!("{micros:.0} us"),
        ..1_000_000.0 => format!("{:.2} ms", micros / 1e3),
        _ => format!("{:.2} s", micros / 1e6),
    }
}

/// Formats a share. It is not rounded to 0 % or 100 %.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let rounded = format!("{percent:.2}");
    match rounded.as_str() {
        "0.00" if share > 0.0 => "less than 0.01 %".to_owned(),
        "100.00" if share < 1.0 => "more than 99.99 %".to_owned(),
        _ => format!("{} %", rounded.trim_end_matches('0').trim_end_matches('.')),
    }
}
