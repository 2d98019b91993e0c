//! The recorder: the one owner of the histogram and of the counts by kind.

use std::{collections::BTreeMap, time::Duration};

use hdrhistogram::Histogram;
use reports::model::Latency;
use tokio::{sync::mpsc, time::Instant};

use super::{
    TIMED_OUT,
    shared::{Sample, Timing},
};

/// Maximum number of error kinds; further kinds are counted together.
const KINDS: usize = 64;

/// The name under which they are.
const OTHER: &str = "other";

/// Maximum recorded latency in microseconds.
const LONGEST: u64 = 1 << 50;

/// What was recorded.
pub(super) struct Recorder {
    /// Latencies in microseconds: of calls that succeeded, and the ages of those that were never answered.
    latencies: Histogram<u64>,
    /// For successes after the end of the window, how long after it, in microseconds.
    late: Histogram<u64>,
    /// The sum of the latencies; the histogram's own is rounded.
    sum: u128,
    /// The least and the greatest.
    bounds: Option<(u64, u64)>,
    /// Calls that succeeded.
    pub(super) succeeded: u64,
    /// Calls that failed, by kind.
    pub(super) errors: BTreeMap<String, u64>,
    /// Entries that are ages and not latencies.
    pub(super) ages: u64,
}

impl Recorder {
    fn new() -> Self {
        let histogram = || Histogram::new(3).expect("three digits are within the one to five that it takes");
        Self {
            latencies: histogram(),
            late: histogram(),
            sum: 0,
            bounds: None,
            succeeded: 0,
            errors: BTreeMap::new(),
            ages: 0,
        }
    }

    /// Records samples until every sender is gone.
    pub(super) async fn collect(mut inbox: mpsc::UnboundedReceiver<Sample>, timing: &Timing) -> Self {
        /// Few enough to be recorded in some microseconds: the schedule runs in the same task.
        const BATCH: usize = 128;
        let mut recorder = Self::new();
        let mut batch = Vec::with_capacity(BATCH);
        while inbox.recv_many(&mut batch, BATCH).await > 0 {
            for sample in batch.drain(..) {
                recorder.record(sample, timing.end());
            }
        }
        recorder
    }

    /// Records one.
    fn record(&mut self, sample: Sample, end: Instant) {
        let latency = sample.ended.saturating_duration_since(sample.intended);
        match sample.outcome {
            Ok(()) => {
                self.succeeded += 1;
                self.enter(micros(latency), 1);
                if sample.ended > end {
                    enter(&mut self.late, micros(sample.ended.duration_since(end)), 1);
                }
            }
            Err(None) => self.record_open(latency, 1),
            Err(Some(kind)) => {
                // A call that was never answered took at least so long. Left out, a server that stalls would look fast.
                if kind == TIMED_OUT {
                    self.record_open(latency, 1);
                }
                let known = self.errors.len() < KINDS || self.errors.contains_key(&kind);
                *self.errors.entry(if known { kind } else { OTHER.to_owned() }).or_default() += 1;
            }
        }
    }

    /// Enters calls that were never answered, at their age.
    pub(super) fn record_open(&mut self, age: Duration, count: u64) {
        self.ages += count;
        self.enter(micros(age), count);
    }

    fn enter(&mut self, value: u64, count: u64) {
        enter(&mut self.latencies, value, count);
        self.sum += u128::from(value) * u128::from(count);
        self.bounds = Some(self.bounds.map_or((value, value), |(least, most)| (least.min(value), most.max(value))));
    }

    /// How many latencies there are.
    pub(super) fn samples(&self) -> u64 {
        self.latencies.len()
    }

    /// Calls that failed.
    pub(super) fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    /// The latencies, if there are any.
    pub(super) fn latency(&self) -> Option<Latency> {
        let (least, most) = self.bounds?;
        // The histogram returns the end of a bucket, which can exceed the maximum.
        let quantile = |quantile| self.latencies.value_at_quantile(quantile).clamp(least, most);
        Some(Latency {
            min_us: least,
            mean_us: self.sum as f64 / self.samples() as f64,
            p50_us: quantile(0.5),
            p90_us: quantile(0.9),
            p95_us: quantile(0.95),
            p99_us: quantile(0.99),
            p999_us: quantile(0.999),
            max_us: most,
        })
    }

    /// Successes that ended no later than this after the end of the window.
    pub(super) fn succeeded_within(&self, allowance: Duration) -> u64 {
        let in_time =
            if allowance.is_zero() || self.late.is_empty() { 0 } else { self.late.count_between(0, micros(allowance)) };
        self.succeeded - self.late.len() + in_time
    }
}

/// Whole microseconds, at most those of some 36 years.
fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).map_or(LONGEST, |micros| micros.min(LONGEST))
}

/// The histogram grows with the value; its `saturating_record` would not, and record its present end instead.
fn enter(histogram: &mut Histogram<u64>, value: u64, count: u64) {
    histogram
        .record_n(value, count)
        .expect("it may resize, and up to the longest value its size fits any address space");
}
