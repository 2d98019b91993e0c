//! A validated [`Load`] with parsed thresholds.

use std::{sync::Arc, time::Duration};

use thiserror::Error;

use super::{
    ResultExpectation,
    threshold::{Threshold, ThresholdError},
};
use crate::model::{Load, Shape};

/// Default timeout of one call.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum duration of a load.
const MAX_DURATION: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Calls per second of an open loop: from one in 28 hours to one per microsecond.
const RATES: std::ops::RangeInclusive<f64> = 0.000_01..=1_000_000.0;

/// Maximum number of calls in flight.
const MAX_IN_FLIGHT: usize = 1_000_000;

/// Default minimum share of the rate.
const MIN_RATE: f64 = 0.95;

/// A validated load.
#[derive(Debug, Clone)]
pub struct LoadPlan {
    shape: Shape,
    duration: Duration,
    warmup: Duration,
    timeout: Duration,
    thresholds: Vec<Threshold>,
    /// 1 is the whole rate.
    min_rate: f64,
    expectation: Arc<ResultExpectation>,
}

/// An invalid load.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum PlanError {
    /// The rate of an open loop is out of range.
    #[error("rate is {rate}, but must be from {} to {} calls per second", RATES.start(), RATES.end())]
    Rate {
        /// The rate.
        rate: f64,
    },
    /// A number of concurrent calls is out of range.
    #[error("{what} is {count}, but must be from 1 to {MAX_IN_FLIGHT}")]
    Count {
        /// The key: `users` or `max_in_flight`.
        what: &'static str,
        /// The number.
        count: usize,
    },
    /// A duration is out of range.
    #[error("{what} is {period:?}, but must be above 0 and at most 7 days")]
    Duration {
        /// The key: `duration`, `warmup` or `timeout`.
        what: &'static str,
        /// The duration.
        period: Duration,
    },
    /// A threshold is invalid.
    #[error("thresholds[{index}]: {source}")]
    Threshold {
        /// Its position, counted from 0.
        index: usize,
        /// The error.
        #[source]
        source: ThresholdError,
    },
    /// The minimum share of the rate is invalid.
    #[error("min_rate is `{text}`, but must be a percentage from 0% to 100%")]
    MinRate {
        /// The text.
        text: String,
    },
    /// The schema of the expected result is invalid.
    #[error("the schema of the expected result is invalid: {reason}")]
    Schema {
        /// The reason.
        reason: String,
    },
}

impl LoadPlan {
    /// Validates a load.
    ///
    /// # Errors
    ///
    /// The first problem.
    pub fn new(load: &Load) -> Result<Self, PlanError> {
        check_shape(&load.shape)?;
        let warmup = load.warmup.map_or(Duration::ZERO, |warmup| warmup.0);
        let timeout = load.timeout.map_or(TIMEOUT, |timeout| timeout.0);
        check_period("duration", load.duration.0)?;
        check_period("timeout", timeout)?;
        if !warmup.is_zero() {
            check_period("warmup", warmup)?;
        }
        let read =
            |(index, text): (usize, &String)| text.parse().map_err(|source| PlanError::Threshold { index, source });
        let thresholds = load.thresholds.iter().enumerate().map(read).collect::<Result<_, _>>()?;
        let min_rate = load.min_rate.as_deref().map_or(Ok(MIN_RATE), parse_share)?;
        let expectation = ResultExpectation::new(&load.expect).map_err(|reason| PlanError::Schema { reason })?;
        Ok(Self {
            shape: load.shape,
            duration: load.duration.0,
            warmup,
            timeout,
            thresholds,
            min_rate,
            expectation: Arc::new(expectation),
        })
    }

    /// Minimum share of the rate of an open loop that must return a result in time. 1 is the whole rate.
    #[must_use]
    pub fn min_rate(&self) -> f64 {
        self.min_rate
    }

    /// The expected result of each call.
    #[must_use]
    pub fn expectation(&self) -> Arc<ResultExpectation> {
        Arc::clone(&self.expectation)
    }

    /// When calls are sent.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Duration of the measurement.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.duration
    }

    /// Duration of the warm-up.
    #[must_use]
    pub fn warmup(&self) -> Duration {
        self.warmup
    }

    /// Timeout of one call.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// The thresholds.
    #[must_use]
    pub fn thresholds(&self) -> &[Threshold] {
        &self.thresholds
    }

    /// Calls per second of an open loop.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        match self.shape {
            Shape::Open(open) => Some(open.rate),
            Shape::Closed(_) => None,
        }
    }

    /// Maximum number of calls in flight.
    #[must_use]
    pub fn concurrency(&self) -> usize {
        match self.shape {
            Shape::Closed(closed) => closed.users,
            Shape::Open(open) => open.max_in_flight.unwrap_or(super::open::DEFAULT_IN_FLIGHT),
        }
    }

    /// Describes the shape: `open loop, 20/s`.
    #[must_use]
    pub fn describe_shape(&self) -> String {
        match self.shape {
            Shape::Closed(closed) if closed.users == 1 => "closed loop, 1 user".to_owned(),
            Shape::Closed(closed) => format!("closed loop, {} users", closed.users),
            Shape::Open(open) => match open.max_in_flight {
                Some(most) => format!("open loop, {}/s, at most {most} in flight", open.rate),
                None => format!("open loop, {}/s", open.rate),
            },
        }
    }
}

fn check_shape(shape: &Shape) -> Result<(), PlanError> {
    match shape {
        Shape::Closed(closed) => check_count("users", closed.users),
        Shape::Open(open) if !RATES.contains(&open.rate) => Err(PlanError::Rate { rate: open.rate }),
        Shape::Open(open) => open.max_in_flight.map_or(Ok(()), |most| check_count("max_in_flight", most)),
    }
}

/// Parses `95%`, and `0`.
fn parse_share(text: &str) -> Result<f64, PlanError> {
    let number = text.trim().trim_end_matches('%').trim_end();
    let percent = number.parse::<f64>().ok().filter(|percent| (0.0..=100.0).contains(percent));
    let unit = text.trim().ends_with('%') || percent == Some(0.0);
    percent.filter(|_| unit).map(|percent| percent / 100.0).ok_or_else(|| PlanError::MinRate { text: text.to_owned() })
}

fn check_count(what: &'static str, count: usize) -> Result<(), PlanError> {
    if (1..=MAX_IN_FLIGHT).contains(&count) { Ok(()) } else { Err(PlanError::Count { what, count }) }
}

fn check_period(what: &'static str, period: Duration) -> Result<(), PlanError> {
    if !period.is_zero() && period <= MAX_DURATION { Ok(()) } else { Err(PlanError::Duration { what, period }) }
}
