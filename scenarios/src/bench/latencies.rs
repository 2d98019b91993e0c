//! Distributions of latencies in microseconds.

use std::time::Duration;

use hdrhistogram::Histogram;
use reports::model::{HistogramBucket, Latency};

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

impl Default for Latencies {
    fn default() -> Self {
        Self::new()
    }
}

impl Latencies {
    /// No latencies.
    pub(super) fn new() -> Self {
        Self { histogram: histogram(), sum: 0, bounds: None }
    }

    /// Adds a value in microseconds.
    pub(super) fn enter(&mut self, value: u64, count: u64) {
        enter(&mut self.histogram, value, count);
        self.sum += u128::from(value) * u128::from(count);
        self.widen((value, value));
    }

    fn widen(&mut self, (low, high): (u64, u64)) {
        self.bounds = Some(self.bounds.map_or((low, high), |(min, max)| (min.min(low), max.max(high))));
    }

    /// Adds other latencies.
    pub(super) fn merge(&mut self, other: &Self) {
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

    /// The exact sum in microseconds.
    pub(super) fn sum(&self) -> u128 {
        self.sum
    }

    /// The exact minimum and maximum in microseconds. `None` without latencies.
    pub(super) fn bounds(&self) -> Option<(u64, u64)> {
        self.bounds
    }

    /// All values with their counts.
    pub(super) fn buckets(&self) -> Vec<HistogramBucket> {
        let values = self.histogram.iter_recorded();
        values.map(|value| HistogramBucket(value.value_iterated_to(), value.count_at_value())).collect()
    }
}

/// An empty histogram that grows.
pub(super) fn histogram() -> Histogram<u64> {
    Histogram::new(3).expect("three digits are one of the one to five that it takes")
}

/// Microseconds, up to the longest latency.
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
