//! Latencies of several workers in a log of HdrHistogram: encoding of an entry, and the merged distribution of a log.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hdrhistogram::{
    Histogram,
    serialization::{
        Deserializer, Serializer as _, V2DeflateSerializer,
        interval_log::{IntervalLogIterator, LogEntry},
    },
};
use thiserror::Error;

use crate::model::{HistogramBucket, Latency};

/// The longest latency of a log in microseconds, about 36 years.
const MAX_LATENCY_US: u64 = 1 << 50;

/// Name of latencies without a tag.
const NO_TAG: &str = "-";

/// Latencies in microseconds as one entry of a log: V2, compressed, in Base64.
#[must_use]
pub fn encode(buckets: &[HistogramBucket]) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(&histogram(buckets), &mut bytes)
        .expect("a vector accepts all bytes, and the size of a histogram up to the longest latency fits");
    STANDARD.encode(bytes)
}

/// The histogram of latencies in microseconds. Longer ones than 36 years are counted as this.
pub(crate) fn histogram(buckets: &[HistogramBucket]) -> Histogram<u64> {
    let mut histogram = empty();
    for bucket in buckets {
        // A saved run can contain any number.
        histogram
            .record_n(bucket.0.min(MAX_LATENCY_US), bucket.1)
            .expect("it may resize, and up to the longest latency its size fits any address space");
    }
    histogram
}

fn empty() -> Histogram<u64> {
    Histogram::new(3).expect("three digits are one of the one to five that it takes")
}

/// A log that cannot be read.
#[derive(Debug, Error)]
pub enum LogError {
    /// A line is invalid.
    #[error("line {line} is not an entry of an HdrHistogram log: {reason}")]
    Entry {
        /// Its number, counted from 1.
        line: usize,
        /// The reason.
        reason: String,
    },
    /// The log has no latencies.
    #[error("the log has no latencies")]
    Empty,
}

/// A distribution of latencies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distribution {
    /// Number of latencies.
    pub count: u64,
    /// Their percentiles. Bounds have three digits.
    pub latency: Latency,
}

/// Latencies of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged {
    /// All latencies.
    pub total: Distribution,
    /// Latencies by tag, which is the worker.
    pub tags: BTreeMap<String, Distribution>,
}

/// Merges the latencies of logs in microseconds.
#[derive(Debug, Default)]
pub struct Merger {
    tags: BTreeMap<String, Histogram<u64>>,
}

impl Merger {
    /// Adds all entries of a log.
    ///
    /// # Errors
    /// If a line is invalid.
    pub fn add(&mut self, log: &[u8]) -> Result<(), LogError> {
        for (number, line) in log.split(|byte| *byte == b'\n').enumerate() {
            let failed = |reason: String| LogError::Entry { line: number + 1, reason };
            let line = line.trim_ascii_end();
            // The names of the columns, which other tools write with quotation marks.
            if line.is_empty() || line.starts_with(b"\"StartTimestamp\"") {
                continue;
            }
            // The parser wants complete lines.
            let line = [line, b"\n"].concat();
            for entry in IntervalLogIterator::new(&line) {
                let LogEntry::Interval(interval) = entry.map_err(|cause| failed(format!("{cause:?}")))? else {
                    continue;
                };
                let bytes = STANDARD.decode(interval.encoded_histogram()).map_err(|cause| failed(cause.to_string()))?;
                let part: Histogram<u64> = Deserializer::new()
                    .deserialize(&mut bytes.as_slice())
                    .map_err(|cause| failed(format!("{cause:?}")))?;
                let tag = interval.tag().map_or(NO_TAG, |tag| tag.as_str()).to_owned();
                let sum = self.tags.entry(tag).or_insert_with(empty);
                sum.add(&part).map_err(|cause| failed(format!("{cause:?}")))?;
            }
        }
        Ok(())
    }

    /// The merged latencies.
    ///
    /// # Errors
    /// If there are none.
    pub fn finish(self) -> Result<Merged, LogError> {
        let mut total = empty();
        for histogram in self.tags.values() {
            total.add(histogram).map_err(|cause| LogError::Entry { line: 0, reason: format!("{cause:?}") })?;
        }
        let total = distribution(&total).ok_or(LogError::Empty)?;
        let tags = self.tags.iter().filter_map(|(tag, histogram)| Some((tag.clone(), distribution(histogram)?)));
        Ok(Merged { total, tags: tags.collect() })
    }
}

fn distribution(histogram: &Histogram<u64>) -> Option<Distribution> {
    let at = |quantile| histogram.value_at_quantile(quantile).min(histogram.max());
    (!histogram.is_empty()).then(|| Distribution {
        count: histogram.len(),
        latency: Latency {
            min_us: histogram.min(),
            mean_us: histogram.mean(),
            p50_us: at(0.5),
            p90_us: at(0.9),
            p95_us: at(0.95),
            p99_us: at(0.99),
            p999_us: at(0.999),
            max_us: histogram.max(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(entries: &[(&str, &[(u64, u64)])]) -> String {
        let mut log = "#[Histogram log format version 1.3]\n\"StartTimestamp\",\"Interval_Length\"\n".to_owned();
        for (tag, buckets) in entries {
            let buckets: Vec<_> = buckets.iter().map(|(value, count)| HistogramBucket(*value, *count)).collect();
            log.push_str(&format!("{tag}0.000,3.000,1.000,{}\n", encode(&buckets)));
        }
        log
    }

    #[test]
    fn latencies_of_all_workers_and_intervals_are_one_distribution() {
        let mut merger = Merger::default();
        merger.add(log(&[("Tag=a,", &[(100, 98)]), ("Tag=b,", &[(200, 1)])]).as_bytes()).unwrap();
        merger.add(log(&[("Tag=a,", &[(100, 1)]), ("", &[(5_000, 1)])]).as_bytes()).unwrap();
        let merged = merger.finish().unwrap();
        let counts: Vec<_> = merged.tags.iter().map(|(tag, of)| (tag.as_str(), of.count, of.latency.max_us)).collect();
        assert_eq!(counts, [("-", 1, 5_003), ("a", 99, 100), ("b", 1, 200)]);
        let Distribution { count, latency } = merged.total;
        assert_eq!((count, latency.p50_us, latency.p99_us, latency.p999_us), (101, 100, 200, 5_003));
        assert!((latency.mean_us - (9_900.0 + 200.0 + 5_002.0) / 101.0).abs() < 1.0, "{latency:?}");
    }

    #[test]
    fn invalid_lines_are_named_and_a_log_without_latencies_fails() {
        let broken = format!("{}Tag=a,1,2,3,HISTF\n", log(&[("", &[(1, 1)])]));
        let error = Merger::default().add(broken.as_bytes()).unwrap_err();
        assert!(error.to_string().starts_with("line 4 is not an entry"), "{error}");
        let mut empty = Merger::default();
        empty.add(log(&[]).as_bytes()).unwrap();
        assert!(matches!(empty.finish(), Err(LogError::Empty)));
    }
}
