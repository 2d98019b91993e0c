//! The figures of a load test.

use std::time::Duration;

use reports::model::Latency;

use super::{Generated, LoadPlan, operation::OperationRecord, recorder::Recorder, shared::Timing};
use crate::model::Shape;

/// Measurements of a load test. `offered` is `succeeded + failed + unfinished`.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadFigures {
    /// Duration of the measurement.
    pub window: Duration,
    /// Scheduled calls; in a closed loop, sent calls.
    pub offered: u64,
    /// Sent calls.
    pub sent: u64,
    /// Calls with a result.
    pub succeeded: u64,
    /// Calls with an error.
    pub failed: u64,
    /// Calls that were not sent in time, or were abandoned.
    pub unfinished: u64,
    /// Results within the measurement, per second.
    pub achieved_rate: f64,
    /// Latencies of successful calls, and the waiting times of calls without a response.
    pub latency: Option<Latency>,
}

impl LoadFigures {
    pub(super) fn new(plan: &LoadPlan, timing: &Timing, generated: &Generated, recorder: &Recorder) -> Self {
        let window = timing.window();
        let (succeeded, failed) = (recorder.succeeded, recorder.failed());
        let latency = recorder.latencies.summary();
        // Results of calls that are sent shortly before the end of an open loop arrive after it, so the window for
        // results is that for sending, shifted by the minimum latency. A slow server sends fewer results in it.
        let shift = match plan.shape() {
            Shape::Open(_) => latency.map_or(Duration::ZERO, |latency| Duration::from_micros(latency.min_us)),
            Shape::Closed(_) => Duration::ZERO,
        };
        Self {
            window,
            offered: generated.offered,
            sent: generated.sent,
            succeeded,
            failed,
            // The difference also counts calls whose task panicked.
            unfinished: generated.offered.saturating_sub(succeeded + failed),
            achieved_rate: per_second(recorder.succeeded_within(shift), window),
            latency,
        }
    }

    /// The figures of an operation. All its executions were sent.
    pub(super) fn for_operation(&self, record: &OperationRecord) -> Self {
        Self {
            window: self.window,
            offered: record.sent(),
            sent: record.sent(),
            succeeded: record.succeeded,
            failed: record.failed(),
            unfinished: record.abandoned,
            achieved_rate: per_second(record.succeeded, self.window),
            latency: record.latencies.summary(),
        }
    }

    /// Share of the offered calls that failed or did not finish; `None` without offered calls.
    #[must_use]
    pub fn error_rate(&self) -> Option<f64> {
        share(self.failed + self.unfinished, self.offered)
    }

    /// Share of the offered calls that did not finish; `None` without offered calls.
    #[must_use]
    pub fn unfinished_rate(&self) -> Option<f64> {
        share(self.unfinished, self.offered)
    }

    /// Share of the offered calls that returned a result in time; `None` without offered calls.
    #[must_use]
    pub fn achieved_ratio(&self) -> Option<f64> {
        (self.offered > 0 && !self.window.is_zero()).then(|| self.achieved_rate / self.offered_rate())
    }

    /// Share of the offered calls that were sent in time; `None` without offered calls.
    #[must_use]
    pub fn offered_ratio(&self) -> Option<f64> {
        share(self.sent, self.offered)
    }

    /// Offered calls per second.
    #[must_use]
    pub fn offered_rate(&self) -> f64 {
        per_second(self.offered, self.window)
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn per_second(count: u64, window: Duration) -> f64 {
    if window.is_zero() { 0.0 } else { count as f64 / window.as_secs_f64() }
}
