//! The recorder owns the histograms, the time series and the counts by error kind.

use std::{collections::BTreeMap, time::Duration};

use hdrhistogram::Histogram;
use reports::model::{ErrorSample, HistogramBucket, Latency};
use tokio::{sync::mpsc, time::Instant};

use super::{
    TIMED_OUT,
    series::Series,
    shared::{Sample, Timing},
};

/// Maximum number of error kinds; further kinds are counted together.
const KINDS: usize = 64;

const OTHER: &str = "other";

/// Maximum recorded latency in microseconds, about 36 years.
const MAX_LATENCY_US: u64 = 1 << 50;

/// Latencies with their exact sum and bounds.
pub(super) struct Latencies {
    histogram: Histogram<u64>,
    /// The sum of the latencies; the histogram's sum is rounded.
    sum: u128,
    /// Minimum and maximum.
    bounds: Option<(u64, u64)>,
}

/// The records of the calls of a load, or of one worker.
pub(super) struct Recorder {
    /// From the scheduled time: latencies of successful calls and waiting times of calls without a response.
    pub(super) latencies: Latencies,
    /// From the time of sending: latencies of successful calls and of timeouts.
    pub(super) uncorrected: Latencies,
    /// For successes after the end of the window, the time since then in microseconds.
    late: Histogram<u64>,
    /// Calls that succeeded.
    pub(super) succeeded: u64,
    /// Calls that failed, by kind.
    pub(super) errors: BTreeMap<String, u64>,
    /// The first failure of each kind.
    pub(super) samples: BTreeMap<String, ErrorSample>,
    /// Number of waiting times among the latencies.
    pub(super) ages: u64,
    /// Calls that were abandoned.
    pub(super) abandoned: u64,
    /// Bytes that were sent and received; 0 if the driver does not know them.
    pub(super) bytes_sent: u64,
    pub(super) bytes_received: u64,
    /// The load over time.
    pub(super) series: Series,
}

impl Latencies {
    fn new() -> Self {
        Self { histogram: histogram(), sum: 0, bounds: None }
    }

    fn enter(&mut self, value: u64, count: u64) {
        enter(&mut self.histogram, value, count);
        self.sum += u128::from(value) * u128::from(count);
        self.widen((value, value));
    }

    fn widen(&mut self, (low, high): (u64, u64)) {
        self.bounds = Some(self.bounds.map_or((low, high), |(min, max)| (min.min(low), max.max(high))));
    }

    fn merge(&mut self, other: &Self) {
        add(&mut self.histogram, &other.histogram);
        self.sum += other.sum;
        if let Some(bounds) = other.bounds {
            self.widen(bounds);
        }
    }

    /// Number of latencies.
    pub(super) fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// A percentile in microseconds, from 0 to 100. `None` without latencies.
    pub(super) fn percentile(&self, percentile: f64) -> Option<u64> {
        let (min, max) = self.bounds?;
        // The histogram returns the end of a bucket, which can exceed the maximum.
        Some(self.histogram.value_at_quantile(percentile / 100.0).clamp(min, max))
    }

    /// The summary. `None` without latencies.
    pub(super) fn summary(&self) -> Option<Latency> {
        let (min, max) = self.bounds?;
        let at = |percentile| self.percentile(percentile).unwrap_or(max);
        Some(Latency {
            min_us: min,
            mean_us: self.sum as f64 / self.count() as f64,
            p50_us: at(50.0),
            p90_us: at(90.0),
            p95_us: at(95.0),
            p99_us: at(99.0),
            p999_us: at(99.9),
            max_us: max,
        })
    }

    /// All values with their counts.
    pub(super) fn buckets(&self) -> Vec<HistogramBucket> {
        let values = self.histogram.iter_recorded();
        values.map(|value| HistogramBucket(value.value_iterated_to(), value.count_at_value())).collect()
    }
}

impl Recorder {
    pub(super) fn new(timing: &Timing) -> Self {
        Self {
            latencies: Latencies::new(),
            uncorrected: Latencies::new(),
            late: histogram(),
            succeeded: 0,
            errors: BTreeMap::new(),
            samples: BTreeMap::new(),
            ages: 0,
            abandoned: 0,
            bytes_sent: 0,
            bytes_received: 0,
            series: Series::new(timing),
        }
    }

    /// Records samples until all senders are dropped.
    pub(super) async fn collect(mut inbox: mpsc::UnboundedReceiver<Sample>, timing: &Timing) -> Self {
        /// Takes some microseconds to record: the schedule runs in the same task.
        const BATCH: usize = 128;
        let mut recorder = Self::new(timing);
        let mut batch = Vec::with_capacity(BATCH);
        while inbox.recv_many(&mut batch, BATCH).await > 0 {
            for sample in batch.drain(..) {
                recorder.record(sample, timing.end());
            }
        }
        recorder
    }

    /// Records a call. `end` is the end of the window.
    pub(super) fn record(&mut self, sample: Sample, end: Instant) {
        let Sample { intended, sent, ended, outcome } = sample;
        let latency = micros(ended.saturating_duration_since(intended));
        match outcome {
            Ok(()) => {
                self.succeeded += 1;
                self.latencies.enter(latency, 1);
                self.uncorrected.enter(micros(ended.saturating_duration_since(sent)), 1);
                self.series.succeeded(sent, ended, latency);
                if ended > end {
                    enter(&mut self.late, micros(ended.duration_since(end)), 1);
                }
            }
            Err(None) => {
                self.abandoned += 1;
                self.series.abandoned(sent);
                self.record_open(ended.saturating_duration_since(intended), 1);
            }
            Err(Some(failure)) => {
                self.series.failed(sent, ended);
                // Without the waiting times, a server that does not respond would look fast.
                if failure.kind == TIMED_OUT {
                    self.record_open(ended.saturating_duration_since(intended), 1);
                    self.uncorrected.enter(micros(ended.saturating_duration_since(sent)), 1);
                }
                let at_ms = self.series.offset_ms(ended);
                let sample = ErrorSample { at_ms, text: failure.text, frame: failure.frame };
                self.fail(&failure.kind, 1, Some(sample));
            }
        }
    }

    fn fail(&mut self, kind: &str, count: u64, sample: Option<ErrorSample>) {
        if let Some(known) = self.errors.get_mut(kind) {
            *known += count;
        } else {
            let kind = if self.errors.len() < KINDS { kind } else { OTHER };
            *self.errors.entry(kind.to_owned()).or_default() += count;
        }
        if let Some(sample) = sample
            && self.errors.contains_key(kind)
        {
            let first = self.samples.entry(kind.to_owned()).or_insert_with(|| sample.clone());
            if sample.at_ms < first.at_ms {
                *first = sample;
            }
        }
    }

    /// Records calls without a response with their waiting time.
    pub(super) fn record_open(&mut self, age: Duration, count: u64) {
        self.ages += count;
        self.latencies.enter(micros(age), count);
    }

    /// Adds the records of another worker.
    pub(super) fn merge(&mut self, other: Self) {
        self.latencies.merge(&other.latencies);
        self.uncorrected.merge(&other.uncorrected);
        add(&mut self.late, &other.late);
        self.succeeded += other.succeeded;
        let mut samples = other.samples;
        for (kind, count) in other.errors {
            let sample = samples.remove(&kind);
            self.fail(&kind, count, sample);
        }
        self.ages += other.ages;
        self.abandoned += other.abandoned;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.series.merge(other.series);
    }

    /// Number of latencies.
    pub(super) fn samples(&self) -> u64 {
        self.latencies.count()
    }

    /// Calls that failed.
    pub(super) fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    /// Successes until this long after the end of the window.
    pub(super) fn succeeded_within(&self, allowance: Duration) -> u64 {
        let in_time =
            if allowance.is_zero() || self.late.is_empty() { 0 } else { self.late.count_between(0, micros(allowance)) };
        self.succeeded - self.late.len() + in_time
    }
}

fn histogram() -> Histogram<u64> {
    Histogram::new(3).expect("three digits are one of the one to five that it takes")
}

pub(super) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).map_or(MAX_LATENCY_US, |micros| micros.min(MAX_LATENCY_US))
}

/// Records a value. The histogram grows with it; its `saturating_record` would record its current maximum instead.
pub(super) fn enter(histogram: &mut Histogram<u64>, value: u64, count: u64) {
    histogram
        .record_n(value, count)
        .expect("it may resize, and up to the longest value its size fits any address space");
}

/// Adds a histogram with the same number of digits.
pub(super) fn add(sum: &mut Histogram<u64>, part: &Histogram<u64>) {
    sum.add(part).expect("it may resize, and up to the longest value its size fits any address space");
}
