//! The latencies of the last second of a running load, for its display. Results are computed from other histograms, which are
//! complete and exact.

use std::{
    iter::zip,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use super::latencies::micros;

/// Buckets per power of two, so that a value is at most 1/16 too high.
const PER_POWER: usize = 16;
/// The buckets end at 2^36 µs, 19 hours.
const BUCKETS: usize = 33 * PER_POWER;

/// Percentiles of the latencies of calls that succeeded in the last second, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecentLatency {
    /// Half of the calls took at most so long.
    pub p50_us: u64,
    /// 99 % of the calls took at most so long.
    pub p99_us: u64,
    /// The upper bound of the longest call.
    pub max_us: u64,
}

/// The number of calls by latency since the start. Another thread reads them meanwhile.
#[derive(Debug)]
pub(super) struct LatencyCounts([AtomicU64; BUCKETS]);

impl Default for LatencyCounts {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; BUCKETS])
    }
}

impl LatencyCounts {
    /// The number of calls with about this latency, to increase it.
    pub(super) fn counter(&self, latency: Duration) -> &AtomicU64 {
        &self.0[bucket(micros(latency))]
    }
}

/// Finds what was added since the last time.
#[derive(Debug)]
pub(super) struct RecentLatencies {
    before: [u64; BUCKETS],
}

impl RecentLatencies {
    pub(super) fn new() -> Self {
        Self { before: [0; BUCKETS] }
    }

    /// The percentiles of the calls that were added to any of the counts since the last time. `None` if there are none.
    pub(super) fn take<'a>(&mut self, counts: impl Iterator<Item = &'a LatencyCounts>) -> Option<RecentLatency> {
        let mut now = [0; BUCKETS];
        for counts in counts {
            zip(&mut now, &counts.0).for_each(|(sum, count)| *sum += count.load(Relaxed));
        }
        let mut new = [0; BUCKETS];
        zip(&mut new, zip(&now, &self.before)).for_each(|(new, (now, before))| *new = now - before);
        self.before = now;
        let total: u64 = new.iter().sum();
        let at = |share: f64| {
            let rank = ((total as f64 * share).ceil() as u64).max(1);
            let mut seen = 0;
            let found = new.iter().position(|count| {
                seen += count;
                seen >= rank
            });
            found.map_or(0, upper_bound)
        };
        (total > 0).then(|| RecentLatency { p50_us: at(0.5), p99_us: at(0.99), max_us: at(1.0) })
    }
}

/// The bucket of a latency in microseconds.
fn bucket(us: u64) -> usize {
    let value = us.min((1 << 36) - 1);
    let power = (value.max(1).ilog2() as usize).saturating_sub(3);
    match power {
        0 => value as usize,
        _ => power * PER_POWER + (value >> (power - 1)) as usize - PER_POWER,
    }
}

/// The highest latency of a bucket.
fn upper_bound(bucket: usize) -> u64 {
    let (power, rest) = (bucket / PER_POWER, (bucket % PER_POWER) as u64);
    match power {
        0 => rest,
        _ => ((PER_POWER as u64 + rest + 1) << (power - 1)) - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_latency_is_in_a_bucket_that_is_narrow() {
        let values = (0..36).flat_map(|power| [0, 1, 3].map(|more| (1_u64 << power) + more * (1_u64 << power) / 4));
        for us in values.chain(0..5_000).filter(|us| *us < 1 << 36) {
            let bound = upper_bound(bucket(us));
            assert!(us <= bound && bound - us <= us / 16, "{us} is in the bucket up to {bound}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
        let order: Vec<u64> = (0..BUCKETS).map(upper_bound).collect();
        assert!(order.is_sorted_by(|one, next| one < next));
    }

    #[test]
    fn percentiles_are_those_of_the_calls_since_the_last_time() {
        let (one, other) = (LatencyCounts::default(), LatencyCounts::default());
        let mut recent = RecentLatencies::new();
        assert_eq!(recent.take([&one].into_iter()), None);
        one.counter(Duration::from_micros(10)).fetch_add(98, Relaxed);
        other.counter(Duration::from_micros(15)).fetch_add(2, Relaxed);
        let expected = RecentLatency { p50_us: 10, p99_us: 15, max_us: 15 };
        assert_eq!(recent.take([&one, &other].into_iter()), Some(expected));
        assert_eq!(recent.take([&one, &other].into_iter()), None);
        one.counter(Duration::from_micros(3)).fetch_add(1, Relaxed);
        let expected = RecentLatency { p50_us: 3, p99_us: 3, max_us: 3 };
        assert_eq!(recent.take([&one, &other].into_iter()), Some(expected));
    }
}
