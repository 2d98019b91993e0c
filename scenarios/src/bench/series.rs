//! The load over time, in equal intervals.

use std::time::Duration;

use hdrhistogram::Histogram;
use reports::model::LoadPoint;
use tokio::time::Instant;

use super::{
    latencies::{add, enter},
    shared::Timing,
};

/// Maximum number of intervals, so that a long run needs no more memory and no longer report.
const MAX_POINTS: u128 = 600;

/// Counts and latencies by interval. Intervals start at the start of the measurement.
pub(super) struct Series {
    start: Instant,
    interval: Duration,
    points: Vec<Point>,
}

struct Point {
    sent: u64,
    succeeded: u64,
    errors: u64,
    /// Two digits: an interval needs 20 KB.
    latencies: Histogram<u64>,
}

impl Point {
    fn new() -> Self {
        let latencies = Histogram::new(2).expect("two digits are one of the one to five that it takes");
        Self { sent: 0, succeeded: 0, errors: 0, latencies }
    }
}

impl Series {
    pub(super) fn new(timing: &Timing) -> Self {
        let seconds = timing.planned_window().as_millis().div_ceil(1_000 * MAX_POINTS).max(1);
        let interval = Duration::from_secs(u64::try_from(seconds).unwrap_or(u64::MAX));
        Self { start: timing.count_from, interval, points: Vec::new() }
    }

    /// One interval of any length.
    pub(super) fn single(timing: &Timing) -> Self {
        Self { interval: Duration::MAX, ..Self::new(timing) }
    }

    /// Milliseconds since the start of the measurement.
    pub(super) fn offset_ms(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.start).as_millis()).unwrap_or(u64::MAX)
    }

    /// Length of an interval.
    pub(super) fn interval(&self) -> Duration {
        self.interval
    }

    pub(super) fn succeeded(&mut self, sent: Instant, ended: Instant, latency_us: u64) {
        self.at(sent).sent += 1;
        let point = self.at(ended);
        point.succeeded += 1;
        enter(&mut point.latencies, latency_us, 1);
    }

    pub(super) fn failed(&mut self, sent: Instant, ended: Instant) {
        self.at(sent).sent += 1;
        self.at(ended).errors += 1;
    }

    pub(super) fn abandoned(&mut self, sent: Instant) {
        self.at(sent).sent += 1;
    }

    pub(super) fn merge(&mut self, other: Self) {
        while self.points.len() < other.points.len() {
            self.points.push(Point::new());
        }
        for (sum, part) in self.points.iter_mut().zip(other.points) {
            sum.sent += part.sent;
            sum.succeeded += part.succeeded;
            sum.errors += part.errors;
            add(&mut sum.latencies, &part.latencies);
        }
    }

    /// The intervals in order.
    pub(super) fn points(&self) -> Vec<LoadPoint> {
        let interval = u64::try_from(self.interval.as_millis()).unwrap_or(u64::MAX);
        let point = |(number, point): (u64, &Point)| {
            let at = |quantile| (!point.latencies.is_empty()).then(|| point.latencies.value_at_quantile(quantile));
            LoadPoint {
                at_ms: number.saturating_mul(interval),
                sent: point.sent,
                succeeded: point.succeeded,
                errors: point.errors,
                p50_us: at(0.5),
                p99_us: at(0.99),
                max_us: at(1.0),
                rss_kb: None,
                cpu_ms: None,
                fds: None,
                threads: None,
            }
        };
        (0..).zip(&self.points).map(point).collect()
    }

    /// The interval of a time. Responses may arrive after the end of the measurement; the last interval bounds them.
    fn at(&mut self, time: Instant) -> &mut Point {
        let offset = time.saturating_duration_since(self.start).as_millis() / self.interval.as_millis().max(1);
        let number = usize::try_from(offset.min(2 * MAX_POINTS)).unwrap_or_default();
        while self.points.len() <= number {
            self.points.push(Point::new());
        }
        &mut self.points[number]
    }
}
