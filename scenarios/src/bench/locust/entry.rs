//! Statistics of one name, as Locust sends and adds them.

use std::collections::BTreeMap;

use reports::model::HistogramBucket;
use serde::{Serialize, Serializer};

use crate::bench::latencies::Latencies;

/// Statistics of one name. Times are seconds since 1970, durations milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) method: String,
    pub(super) start_time: f64,
    pub(super) last_request_timestamp: Option<f64>,
    /// With failures.
    pub(super) num_requests: u64,
    /// Calls without a duration.
    pub(super) num_none_requests: u64,
    pub(super) num_failures: u64,
    pub(super) total_response_time: f64,
    pub(super) min_response_time: Option<f64>,
    pub(super) max_response_time: f64,
    /// Bytes.
    pub(super) total_content_length: u64,
    pub(super) response_times: Counts,
    /// By second.
    pub(super) num_reqs_per_sec: BTreeMap<u64, u64>,
    pub(super) num_fail_per_sec: BTreeMap<u64, u64>,
}

/// One kind of failure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct ErrorEntry {
    pub(super) name: String,
    pub(super) method: String,
    pub(super) error: String,
    pub(super) occurrences: u64,
    pub(super) first_seen: f64,
    pub(super) last_seen: f64,
}

/// Counts by duration, in microseconds. Locust receives milliseconds with two significant digits. Whole numbers, as it uses
/// itself, would be 0 for a call that takes less than half a millisecond.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Counts(BTreeMap<u64, u64>);

impl Counts {
    pub(super) fn add(&mut self, latencies: &Latencies) {
        for HistogramBucket(micros, count) in latencies.buckets() {
            *self.0.entry(two_digits(micros)).or_default() += count;
        }
    }

    /// The counts by duration in milliseconds.
    pub(super) fn millis(&self) -> impl Iterator<Item = (f64, u64)> {
        self.0.iter().map(|(micros, count)| (*micros as f64 / 1_000.0, *count))
    }
}

impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The length is known, which MessagePack requires.
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (millis, count) in self.millis() {
            serde::ser::SerializeMap::serialize_entry(&mut map, &millis, &count)?;
        }
        serde::ser::SerializeMap::end(map)
    }
}

/// Rounds to two significant digits.
fn two_digits(value: u64) -> u64 {
    let mut unit = 1;
    while value / unit >= 100 {
        unit *= 10;
    }
    (value + unit / 2) / unit * unit
}
