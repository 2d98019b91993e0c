//! Pass/fail thresholds of load tests (`p99 < 50ms`, `error_rate <= 1%`).
//!
//! This module owns their grammar and their judging. What cannot be broken, or cannot hold, is refused: it would say
//! something about whoever wrote it, and nothing about the server.

mod parse;
#[cfg(test)]
mod tests;

use std::{fmt, time::Duration};

use reports::model::{Latency, ThresholdResult};
use thiserror::Error;

use super::figures::LoadFigures;

/// One threshold: a metric, an operator and a limit. It is read with [`str::parse`].
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    text: String,
    metric: Metric,
    operator: Operator,
    limit: Limit,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Metric {
    P50,
    P90,
    P95,
    P99,
    P999,
    Max,
    Mean,
    Min,
    ErrorRate,
    AchievedRate,
    OfferedRatio,
}

/// How it is compared with the limit.
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
    /// A share of one: 1 % is 0.01.
    Share(f64),
    /// Calls a second.
    Rate(f64),
}

/// Why a threshold cannot be read, and where.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{problem}")]
pub struct ThresholdError {
    /// What is wrong.
    pub problem: ThresholdProblem,
    /// Where, in characters from the start of the text.
    pub position: usize,
    /// How many characters it covers; 0 where something is missing.
    pub width: usize,
    /// What to do about it.
    pub advice: String,
}

/// What is wrong with a threshold.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ThresholdProblem {
    /// It does not begin with a metric.
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
    /// The limit is not what the metric is measured in.
    #[error("`{limit}` is not {wanted}")]
    BadLimit {
        /// The limit as it was written.
        limit: String,
        /// What it should have been.
        wanted: &'static str,
    },
    /// No run could break it.
    #[error("this always holds")]
    AlwaysHolds,
    /// No run could pass it.
    #[error("this never holds")]
    NeverHolds,
}

impl Threshold {
    /// Evaluates the threshold. Without latencies, a latency threshold fails.
    #[must_use]
    pub fn evaluate(&self, figures: &LoadFigures) -> ThresholdResult {
        let (passed, measured) = match self.limit {
            Limit::Time(limit) => match figures.latency.map(|latency| self.metric.of(&latency)) {
                Some(micros) => (self.operator.holds(micros, limit.as_secs_f64() * 1e6), in_words(micros)),
                None => (false, "no call was answered".to_owned()),
            },
            Limit::Share(limit) => match self.metric.share(figures) {
                Some(share) => (self.operator.holds(share, limit), percent(share)),
                None => (false, "no call was counted".to_owned()),
            },
            Limit::Rate(limit) => {
                let rate = figures.achieved_rate;
                (self.operator.holds(rate, limit), format!("{rate:.1}/s"))
            }
        };
        ThresholdResult {
            threshold: self.text.clone(),
            measured: format!("{} = {measured}", self.metric.as_str()),
            passed,
        }
    }
}

impl fmt::Display for Threshold {
    /// Writes it as it was written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Metric {
    const ALL: [Self; 11] = [
        Self::P50,
        Self::P90,
        Self::P95,
        Self::P99,
        Self::P999,
        Self::Max,
        Self::Mean,
        Self::Min,
        Self::ErrorRate,
        Self::AchievedRate,
        Self::OfferedRatio,
    ];

    fn as_str(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P999 => "p99.9",
            Self::Max => "max",
            Self::Mean => "mean",
            Self::Min => "min",
            Self::ErrorRate => "error_rate",
            Self::AchievedRate => "achieved_rate",
            Self::OfferedRatio => "offered_ratio",
        }
    }

    /// A latency in microseconds.
    fn of(self, latency: &Latency) -> f64 {
        let micros = match self {
            Self::P50 => latency.p50_us,
            Self::P90 => latency.p90_us,
            Self::P95 => latency.p95_us,
            Self::P99 => latency.p99_us,
            Self::P999 => latency.p999_us,
            Self::Max => latency.max_us,
            Self::Min => latency.min_us,
            // The others are not read with a limit in time.
            Self::Mean | Self::ErrorRate | Self::AchievedRate | Self::OfferedRatio => return latency.mean_us,
        };
        micros as f64
    }

    /// A share of the calls; absent where there were none.
    fn share(self, figures: &LoadFigures) -> Option<f64> {
        match self {
            Self::OfferedRatio => figures.offered_ratio(),
            _ => figures.error_rate(),
        }
    }
}

impl Operator {
    fn holds(self, measured: f64, limit: f64) -> bool {
        match self {
            Self::Less => measured < limit,
            Self::AtMost => measured <= limit,
            Self::More => measured > limit,
            Self::AtLeast => measured >= limit,
        }
    }
}

/// A latency for people, of four digits or so.
pub(super) fn in_words(micros: f64) -> String {
    match micros {
        ..1_000.0 => format!("{micros:.0} us"),
        ..1_000_000.0 => format!("{:.2} ms", micros / 1e3),
        _ => format!("{:.2} s", micros / 1e6),
    }
}

/// A share for people. A small one is not rounded to nothing, nor a large one to all.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let rounded = format!("{percent:.2}");
    match rounded.as_str() {
        "0.00" if share > 0.0 => "less than 0.01 %".to_owned(),
        "100.00" if share < 1.0 => "more than 99.99 %".to_owned(),
        _ => format!("{} %", rounded.trim_end_matches('0').trim_end_matches('.')),
    }
}
