//! The figures of a load test.

use std::time::Duration;

use reports::model::Latency;

use super::{Generated, LoadPlan, recorder::Recorder, shared::Timing};
use crate::model::Shape;

/// What a load measured. `offered` is `succeeded + failed + unfinished`.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadFigures {
    /// For how long calls were counted.
    pub window: Duration,
    /// Calls that the plan asked for in that time; in a closed loop, those that were sent.
    pub offered: u64,
    /// Calls that were sent in that time.
    pub sent: u64,
    /// Calls that ended with a result.
    pub succeeded: u64,
    /// Calls that ended with an error.
    pub failed: u64,
    /// Calls that could not be sent in time, or were given up.
    pub unfinished: u64,
    /// Calls a second that ended with a result, in time.
    pub achieved_rate: f64,
    /// The latencies of the calls that succeeded, and the ages of those that were never answered.
    pub latency: Option<Latency>,
}

impl LoadFigures {
    /// Sums up.
    pub(super) fn new(plan: &LoadPlan, timing: &Timing, generated: &Generated, recorder: &Recorder) -> Self {
        let window = timing.window();
        let (succeeded, failed) = (recorder.succeeded, recorder.failed());
        let latency = recorder.latency();
        // Calls that fall due shortly before the end of an open loop must end after it, so the window for results is
        // that for sending, moved by the least latency. A server that cannot keep up ends fewer in it than were sent.
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
            // Counted by what is left, so that a call that vanished (its task panicked, say) is not forgotten.
            unfinished: generated.offered.saturating_sub(succeeded + failed),
            achieved_rate: per_second(recorder.succeeded_within(shift), window),
            latency,
        }
    }

    /// The share of the offered calls that failed or were never finished; absent where nothing was offered.
    #[must_use]
    pub fn error_rate(&self) -> Option<f64> {
        share(self.failed + self.unfinished, self.offered)
    }

    /// The share of the offered calls that were sent in time; absent where nothing was offered.
    #[must_use]
    pub fn offered_ratio(&self) -> Option<f64> {
        share(self.sent, self.offered)
    }

    /// Calls a second that were offered.
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
