//! From the records of calls to the statistics of Locust. Each report has the calls that ended since the previous one.

use std::collections::BTreeMap;

use super::{
    entry::{Counts, Entry, ErrorEntry},
    message::{Histogram, Stats, UserClasses},
};
use crate::bench::{latencies::Latencies, raw::users::UserInterval};
use reports::histogram_log;

/// Name of the entry with all calls.
const TOTAL: &str = "Aggregated";

/// Kind of error of calls without a response when their user stopped.
pub(super) const UNFINISHED: &str = "unfinished";

/// Why a call is unfinished.
const STOPPED: &str = "no response before the users stopped";

/// An operation, as Locust shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OperationName {
    /// Its type.
    pub(super) method: String,
    /// Its name.
    pub(super) name: String,
}

/// The operations of a load.
#[derive(Debug, Clone)]
pub(super) struct Operations {
    /// By row; one if the load has a single tool.
    pub(super) names: Vec<OperationName>,
    /// Whether an iteration executes all of them, one after the other.
    pub(super) are_sequence: bool,
}

/// Calls that were not reported yet.
pub(super) struct Pending {
    of: Operations,
    /// Start of the report.
    since: f64,
    /// From the scheduled time, as in a load test of one machine: calls with a result, and waiting times.
    latencies: Latencies,
    unsent: u64,
    total: Tally,
    /// By operation.
    operations: Vec<Tally>,
    errors: BTreeMap<String, ErrorEntry>,
}

/// The calls of one name.
#[derive(Default)]
struct Tally {
    requests: u64,
    failures: u64,
    /// Those of all calls, also of failures.
    times: Latencies,
    bytes: u64,
    last: Option<u64>,
    requests_by_second: BTreeMap<u64, u64>,
    failures_by_second: BTreeMap<u64, u64>,
}

impl Pending {
    pub(super) fn new(of: Operations, since: f64) -> Self {
        Self {
            since,
            latencies: Latencies::new(),
            unsent: 0,
            total: Tally::default(),
            operations: of.names.iter().map(|_| Tally::default()).collect(),
            errors: BTreeMap::new(),
            of,
        }
    }

    /// Adds calls.
    pub(super) fn add(&mut self, interval: &UserInterval) {
        let UserInterval { second, recorder, unsent } = interval;
        self.latencies.merge(&recorder.latencies);
        self.latencies.merge(unsent);
        self.unsent += unsent.count();
        let (requests, failures) = (recorder.finished(), recorder.failed() + recorder.abandoned);
        let times = [&recorder.latencies, &recorder.failed_after];
        if !self.of.are_sequence {
            self.total.add(*second, requests, failures, times);
        }
        self.total.bytes += recorder.bytes_received;
        let sample = |kind: &str| recorder.samples.get(kind).map_or("", |sample| sample.text.as_str());
        if self.of.names.len() == 1 && !self.of.are_sequence {
            self.operations[0].add(*second, requests, failures, times);
            self.operations[0].bytes += recorder.bytes_received;
            for (kind, count) in &recorder.errors {
                self.fail(0, kind, sample(kind), *count, *second);
            }
            self.fail(0, UNFINISHED, STOPPED, recorder.abandoned, *second);
            return;
        }
        for (row, record) in recorder.operations().iter().enumerate() {
            let failures = record.failed() + record.abandoned;
            let times = [&record.latencies, &record.failed_after];
            self.operations[row].add(*second, record.sent(), failures, times);
            // The total of Locust has requests, of which an iteration has several.
            if self.of.are_sequence {
                self.total.add(*second, record.sent(), failures, times);
            }
            for (kind, count) in record.errors() {
                self.fail(row, kind, sample(kind), *count, *second);
            }
            self.fail(row, UNFINISHED, STOPPED, record.abandoned, *second);
        }
    }

    fn fail(&mut self, row: usize, kind: &str, text: &str, count: u64, second: u64) {
        if count == 0 {
            return;
        }
        let (seen, OperationName { method, name }) = (second as f64, &self.of.names[row]);
        let error = self.errors.entry(format!("{method}.{name}.{kind}")).or_insert_with(|| ErrorEntry {
            name: name.clone(),
            method: method.clone(),
            error: if text.is_empty() { kind.to_owned() } else { format!("{kind}: {text}") },
            occurrences: 0,
            first_seen: seen,
            last_seen: seen,
        });
        error.occurrences += count;
        error.first_seen = error.first_seen.min(seen);
        error.last_seen = error.last_seen.max(seen);
    }

    /// The report of these calls, which are then reported. The histogram is absent without latencies.
    pub(super) fn take(&mut self, users: &UserClasses, now: f64) -> (Stats, Option<Histogram>) {
        let of = self.of.clone();
        let Self { since, latencies, unsent, total, operations, errors, of } =
            std::mem::replace(self, Self::new(of, now));
        let histogram = latencies.bounds().map(|(_, max_us)| Histogram {
            start: since,
            duration: (now - since).max(0.0),
            max_us,
            histogram: histogram_log::encode(&latencies.buckets()),
            unsent,
        });
        let called = of.names.into_iter().zip(operations).filter(|(_, tally)| tally.requests > 0);
        let stats = called.map(|(operation, tally)| tally.entry(operation, since)).collect();
        let stats_total = total.entry(OperationName { method: String::new(), name: TOTAL.to_owned() }, since);
        let user_count = users.values().sum();
        (Stats { stats, stats_total, errors, user_classes_count: users.clone(), user_count }, histogram)
    }
}

impl Tally {
    fn add(&mut self, second: u64, requests: u64, failures: u64, times: [&Latencies; 2]) {
        self.requests += requests;
        self.failures += failures;
        times.into_iter().for_each(|times| self.times.merge(times));
        if requests > 0 {
            self.last = self.last.max(Some(second));
            *self.requests_by_second.entry(second).or_default() += requests;
        }
        if failures > 0 {
            *self.failures_by_second.entry(second).or_default() += failures;
        }
    }

    fn entry(self, OperationName { method, name }: OperationName, since: f64) -> Entry {
        let millis = |micros: u64| micros as f64 / 1_000.0;
        let bounds = self.times.bounds();
        let mut response_times = Counts::default();
        response_times.add(&self.times);
        Entry {
            name,
            method,
            start_time: since,
            last_request_timestamp: self.last.map(|second| second as f64),
            num_requests: self.requests,
            num_none_requests: 0,
            num_failures: self.failures,
            total_response_time: self.times.sum() as f64 / 1_000.0,
            min_response_time: bounds.map(|(min, _)| millis(min)),
            max_response_time: bounds.map_or(0.0, |(_, max)| millis(max)),
            total_content_length: self.bytes,
            response_times,
            num_reqs_per_sec: self.requests_by_second,
            num_fail_per_sec: self.failures_by_second,
        }
    }
}
