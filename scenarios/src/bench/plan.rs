//! A validated [`Load`] with parsed thresholds.

use std::{num::NonZeroU64, sync::Arc, time::Duration};

use diagnostics::Diagnostic;
use thiserror::Error;
use tokio::time::Instant;

use super::{
    arrivals::{RateProfile, Schedule},
    data::DataSet,
    iteration::Iterations,
    threshold::{Threshold, ThresholdError},
};
use crate::model::{Arrivals, Closed, Driver, Load, Open, Shape, Stage, UserSetup};

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
    /// The rate of an open loop.
    profile: Arc<RateProfile>,
    /// Seed of random arrivals.
    seed: u64,
    duration: Duration,
    warmup: Duration,
    timeout: Duration,
    thresholds: Vec<Threshold>,
    /// 1 is the whole rate.
    min_rate: f64,
    iterations: Arc<Iterations>,
    user: Option<UserSetup>,
    http2: bool,
    request_progress: bool,
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
    /// Rate and stages of an open loop are invalid.
    #[error("{reason}")]
    Stages {
        /// The reason.
        reason: &'static str,
    },
    /// The minimum share of the rate is invalid.
    #[error("min_rate is `{text}`, but must be a percentage from 0% to 100%")]
    MinRate {
        /// The text.
        text: String,
    },
    /// The operations of the load are invalid.
    #[error("{reason}")]
    Operations {
        /// The key of the load.
        key: &'static str,
        /// The reason.
        reason: String,
    },
    /// An operation contains a placeholder without a value.
    #[error("unknown placeholder `{{{{{placeholder}}}}}` in `{operation}`; known are {known}")]
    Placeholder {
        /// The position of the operation, counted from 0.
        index: usize,
        /// The name of the operation.
        operation: String,
        /// The name of the placeholder.
        placeholder: String,
        /// The known placeholders.
        known: String,
    },
    /// Only the raw driver supports a setting.
    #[error("`{key}` needs the raw driver{reason}")]
    NeedsRaw {
        /// The key of the load.
        key: &'static str,
        /// The rest of the sentence.
        reason: String,
    },
    /// The data cannot be read.
    #[error(transparent)]
    Data(Diagnostic),
    /// The schema of the expected result is invalid.
    #[error("the schema of the expected result is invalid: {reason}")]
    Schema {
        /// The position of the operation, counted from 0.
        index: usize,
        /// The reason.
        reason: String,
    },
}

impl LoadPlan {
    /// Validates a load, except its data, which is not read. Placeholders of a load with data are not filled.
    ///
    /// # Errors
    ///
    /// The first problem.
    pub fn new(load: &Load) -> Result<Self, PlanError> {
        Self::with_data(load, None)
    }

    /// Validates a load, and reads its data.
    ///
    /// # Errors
    ///
    /// The first problem.
    pub fn open(load: &Load) -> Result<Self, PlanError> {
        let data = load.data.as_deref().map(DataSet::read).transpose();
        Self::with_data(load, data.map_err(PlanError::Data)?)
    }

    fn with_data(load: &Load, data: Option<DataSet>) -> Result<Self, PlanError> {
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
        let thresholds = load.thresholds.iter().enumerate().map(read).collect::<Result<Vec<Threshold>, _>>()?;
        let min_rate = load.min_rate.as_deref().map_or(Ok(MIN_RATE), parse_share)?;
        let iterations = Iterations::new(load, data)?;
        if let Some(key) = needs_raw(load.http2, load.request_progress) {
            check_raw(load, &iterations, key)?;
        }
        for (index, threshold) in thresholds.iter().enumerate() {
            threshold.check_operation(iterations.rows()).map_err(|source| PlanError::Threshold { index, source })?;
        }
        let profile = match &load.shape {
            Shape::Open(Open { rate: Some(rate), .. }) => RateProfile::constant(*rate),
            Shape::Open(open) => RateProfile::stages(&open.stages, warmup),
            Shape::Closed(_) => RateProfile::constant(1.0),
        };
        Ok(Self {
            shape: load.shape.clone(),
            profile: Arc::new(profile),
            seed: 0,
            duration: load.duration.0,
            warmup,
            timeout,
            thresholds,
            min_rate,
            iterations: Arc::new(iterations),
            user: load.user.clone(),
            http2: load.http2,
            request_progress: load.request_progress,
        })
    }

    /// Minimum share of the rate of an open loop that must return a result in time. 1 is the whole rate.
    #[must_use]
    pub fn min_rate(&self) -> f64 {
        self.min_rate
    }

    /// The operations of each iteration.
    pub(super) fn iterations(&self) -> &Arc<Iterations> {
        &self.iterations
    }

    /// What the user does when the server asks, if the client declares it.
    pub(super) fn user(&self) -> Option<&UserSetup> {
        self.user.as_ref()
    }

    /// Whether calls are sent over HTTP/2.
    #[must_use]
    pub fn http2(&self) -> bool {
        self.http2
    }

    /// Whether each request asks for notifications about its progress.
    pub(super) fn request_progress(&self) -> bool {
        self.request_progress
    }

    /// The key of the load that needs the raw driver.
    pub(crate) fn needs_raw(&self) -> Option<&'static str> {
        needs_raw(self.http2, self.request_progress)
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

    /// Calls per second of an open loop; the highest one of its stages.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        match &self.shape {
            Shape::Open(_) => Some(self.profile.peak()),
            Shape::Closed(_) => None,
        }
    }

    /// Upper limit of the number of measured calls of an open loop.
    pub(super) fn expected_calls(&self) -> Option<f64> {
        self.rate().map(|rate| rate * self.duration.as_secs_f64())
    }

    /// The scheduled times of an open loop, or of the share of one worker of several.
    pub(super) fn schedule(&self, start: Instant, share: (usize, usize)) -> Schedule {
        let arrivals = match &self.shape {
            Shape::Open(open) => open.arrivals,
            Shape::Closed(_) => Arrivals::Uniform,
        };
        Schedule::share(start, Arc::clone(&self.profile), arrivals, self.seed, share)
    }

    /// The same plan with another seed of random arrivals and of the choice in a mix.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, iterations: Arc::new(self.iterations.with_seed(seed)), ..self }
    }

    /// Pause of a user after a response.
    #[must_use]
    pub fn think_time(&self) -> Duration {
        match &self.shape {
            Shape::Closed(closed) => closed.think_time.map_or(Duration::ZERO, |time| time.0),
            Shape::Open(_) => Duration::ZERO,
        }
    }

    /// Number of measured calls after which a closed loop ends.
    pub(super) fn calls(&self) -> Option<u64> {
        match &self.shape {
            Shape::Closed(closed) => closed.calls.map(NonZeroU64::get),
            Shape::Open(_) => None,
        }
    }

    /// Whether users call again at once after a response.
    pub(super) fn is_without_pauses(&self) -> bool {
        matches!(self.shape, Shape::Closed(_)) && self.think_time() == Duration::ZERO
    }

    /// Maximum number of calls in flight.
    #[must_use]
    pub fn concurrency(&self) -> usize {
        match &self.shape {
            Shape::Closed(closed) => closed.users,
            Shape::Open(open) => open.max_in_flight.unwrap_or(super::open::DEFAULT_IN_FLIGHT),
        }
    }

    /// Describes the shape: `open loop, 20/s`.
    #[must_use]
    pub fn describe_shape(&self) -> String {
        let mut parts = match &self.shape {
            Shape::Closed(Closed { users, think_time, calls }) => {
                let users = if *users == 1 { "1 user".to_owned() } else { format!("{users} users") };
                let think_time = think_time.map(|time| format!("think time {time}"));
                let calls = calls.map(|calls| format!("{calls} calls"));
                ["closed loop".to_owned(), users].into_iter().chain(think_time).chain(calls).collect::<Vec<_>>()
            }
            Shape::Open(open) => {
                let mut parts = vec!["open loop".to_owned()];
                parts.extend(open.rate.map(|rate| format!("{rate}/s")));
                parts.extend(open.stages.iter().map(ToString::to_string));
                parts.extend(open.max_in_flight.map(|most| format!("at most {most} in flight")));
                parts
            }
        };
        if matches!(&self.shape, Shape::Open(Open { arrivals: Arrivals::Poisson, .. })) {
            parts.push("Poisson arrivals".to_owned());
        }
        parts.join(", ")
    }
}

fn needs_raw(http2: bool, request_progress: bool) -> Option<&'static str> {
    http2.then_some("http2").or(request_progress.then_some("request_progress"))
}

/// Checks that the raw driver, which the key needs, can execute the load.
fn check_raw(load: &Load, iterations: &Iterations, key: &'static str) -> Result<(), PlanError> {
    let mut operations = iterations.operations().iter().map(|operation| &operation.definition);
    let reason = if load.driver == Some(Driver::Client) {
        ", not `client`".to_owned()
    } else if load.user.is_some() {
        ", which answers no requests of the server to the user".to_owned()
    } else if let Some(operation) = operations.find(|operation| operation.needs_client()) {
        format!(", which cannot execute `{}`", operation.name())
    } else {
        return Ok(());
    };
    Err(PlanError::NeedsRaw { key, reason })
}

fn check_shape(shape: &Shape) -> Result<(), PlanError> {
    match shape {
        Shape::Closed(closed) => check_count("users", closed.users),
        Shape::Open(open) => {
            match (open.rate, open.stages.as_slice()) {
                (Some(rate), []) if RATES.contains(&rate) => {}
                (Some(rate), []) => return Err(PlanError::Rate { rate }),
                (None, [_, ..]) => check_stages(&open.stages)?,
                _ => return Err(PlanError::Stages { reason: "an open loop has either `rate` or `stages`" }),
            }
            open.max_in_flight.map_or(Ok(()), |most| check_count("max_in_flight", most))
        }
    }
}

/// A stage can pause the load with the rate 0, but not all of them.
fn check_stages(stages: &[Stage]) -> Result<(), PlanError> {
    let rates = || stages.iter().flat_map(|stage| [Some(stage.rate), stage.to]).flatten();
    if let Some(rate) = rates().find(|rate| *rate != 0.0 && !RATES.contains(rate)) {
        return Err(PlanError::Rate { rate });
    }
    if rates().all(|rate| rate == 0.0) {
        return Err(PlanError::Stages { reason: "all stages have the rate 0" });
    }
    stages.iter().try_for_each(|stage| check_period("stages", stage.duration.0))
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
