//! A load that can be carried out: a [`Load`] whose numbers were checked and whose thresholds were read.

use std::time::Duration;

use thiserror::Error;

use super::threshold::{Threshold, ThresholdError};
use crate::model::{Load, Shape};

/// How long one call may take where the load does not say.
const TIMEOUT: Duration = Duration::from_secs(60);

/// No period of a load is longer.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Calls a second of an open loop: one in some 28 hours at least, one each microsecond at most.
const RATES: std::ops::RangeInclusive<f64> = 0.000_01..=1_000_000.0;

/// No more calls are in flight.
const MOST_IN_FLIGHT: usize = 1_000_000;

/// A load that can be carried out.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadPlan {
    shape: Shape,
    duration: Duration,
    warmup: Duration,
    timeout: Duration,
    thresholds: Vec<Threshold>,
}

/// Why a load cannot be carried out.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum PlanError {
    /// The rate of an open loop is out of range.
    #[error("rate is {rate}, and has to be from {} to {} calls a second", RATES.start(), RATES.end())]
    Rate {
        /// The rate that was asked for.
        rate: f64,
    },
    /// A number of calls at once is out of range.
    #[error("{what} is {count}, and has to be from 1 to {MOST_IN_FLIGHT}")]
    Count {
        /// The key: `users` or `max_in_flight`.
        what: &'static str,
        /// The number that was asked for.
        count: usize,
    },
    /// A period is out of range.
    #[error("{what} is {period:?}, and has to be more than 0 and at most 7 days")]
    Duration {
        /// The key: `duration`, `warmup` or `timeout`.
        what: &'static str,
        /// The period that was asked for.
        period: Duration,
    },
    /// A threshold cannot be read.
    #[error("thresholds[{index}]: {source}")]
    Threshold {
        /// Which one, counted from 0.
        index: usize,
        /// What is wrong with it.
        #[source]
        source: ThresholdError,
    },
}

impl LoadPlan {
    /// Checks a load.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with it.
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
        Ok(Self { shape: load.shape, duration: load.duration.0, warmup, timeout, thresholds })
    }

    /// How calls are begun.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// For how long calls are counted.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.duration
    }

    /// For how long calls are made before they count.
    #[must_use]
    pub fn warmup(&self) -> Duration {
        self.warmup
    }

    /// How long one call may take.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// What must hold.
    #[must_use]
    pub fn thresholds(&self) -> &[Threshold] {
        &self.thresholds
    }

    /// The most calls that can be in flight.
    #[must_use]
    pub fn concurrency(&self) -> usize {
        match self.shape {
            Shape::Closed(closed) => closed.users,
            Shape::Open(open) => open.max_in_flight.unwrap_or(super::open::MAX_IN_FLIGHT),
        }
    }

    /// The shape in words: `open loop, 20/s`.
    #[must_use]
    pub fn shape_in_words(&self) -> String {
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

fn check_count(what: &'static str, count: usize) -> Result<(), PlanError> {
    if (1..=MOST_IN_FLIGHT).contains(&count) { Ok(()) } else { Err(PlanError::Count { what, count }) }
}

fn check_period(what: &'static str, period: Duration) -> Result<(), PlanError> {
    if !period.is_zero() && period <= LONGEST { Ok(()) } else { Err(PlanError::Duration { what, period }) }
}
