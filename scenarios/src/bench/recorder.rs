//! The recorder owns the histogram and the counts by error kind.

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

const OTHER: &str = "other";

/// Maximum recorded latency in microseconds, about 36 years.
const MAX_LATENCY_US: u64 = 1 << 50;

pub(super) struct Recorder {
    /// Latencies of successful calls and waiting times of calls without a response, in microseconds.
    latencies: Histogram<u64>,
    /// For successes after the end of the window, the time since then in microseconds.
    late: Histogram<u64>,
    /// The sum of the latencies; the histogram's sum is rounded.
    sum: u128,
    /// Minimum and maximum.
    bounds: Option<(u64, u64)>,
    /// Calls that succeeded.
    pub(super) succeeded: u64,
    /// Calls that failed, by kind.
    pub(super) errors: BTreeMap<String, u64>,
    /// Number of waiting times among the latencies.
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

    /// Records samples until all senders are dropped.
    pub(super) async fn collect(mut inbox: mpsc::UnboundedReceiver<Sample>, timing: &Timing) -> Self {
        /// Takes some microseconds to record: the schedule runs in the same task.
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
                // Without the waiting times, a server that does not respond would look fast.
                if kind == TIMED_OUT {
                    self.record_open(latency, 1);
                }
                let known = self.errors.len() < KINDS || self.errors.contains_key(&kind);
                *self.errors.entry(if known { kind } else { OTHER.to_owned() }).or_default() += 1;
            }
        }
    }

    /// Records calls without a response with their waiting time.
    pub(super) fn record_open(&mut self, age: Duration, count: u64) {
        self.ages += count;
        self.enter(micros(age), count);
    }

    fn enter(&mut self, value: u64, count: u64) {
        enter(&mut self.latencies, value, count);
        self.sum += u128::from(value) * u128::from(count);
        self.bounds = Some(self.bounds.map_or((value, value), |(min, max)| (min.min(value), max.max(value))));
    }

    /// Number of latencies.
    pub(super) fn samples(&self) -> u64 {
        self.latencies.len()
    }

    /// Calls that failed.
    pub(super) fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    pub(super) fn latency(&self) -> Option<Latency> {
        let (min, max) = self.bounds?;
        // The histogram returns the end of a bucket, which can exceed the maximum.
        let quantile = |quantile| self.latencies.value_at_quantile(quantile).clamp(min, max);
        Some(Latency {
            min_us: min,
            mean_us: self.sum as f64 / self.samples() as f64,
            p50_us: quantile(0.5),
            p90_us: quantile(0.9),
            p95_us: quantile(0.95),
            p99_us: quantile(0.99),
            p999_us: quantile(0.999),
            max_us: max,
        })
    }

    /// Successes until this long after the end of the window.
    pub(super) fn succeeded_within(&self, allowance: Duration) -> u64 {
        let in_time =
            if allowance.is_zero() || self.late.is_empty() { 0 } else { self.late.count_between(0, micros(allowance)) };
        self.succeeded - self.late.len() + in_time
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).map_or(MAX_LATENCY_US, |micros| micros.min(MAX_LATENCY_US))
}

/// Records a value. The histogram grows with it; its `saturating_record` would record its current maximum instead.
fn enter(histogram: &mut Histogram<u64>, value: u64, count: u64) {
    histogram
        .record_n(value, count)
        .expect("it may resize, and up to the longest value its size fits any address space");
}
