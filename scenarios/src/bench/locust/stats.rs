//! From the records of calls to the statistics of Locust. Each report has the calls that ended since the previous one.

use std::collections::BTreeMap;

use super::{
    entry::{Counts, Entry, ErrorEntry},
    message::{Histogram, Stats, UserClasses},
};
use crate::bench::{latencies::Latencies, raw::users::UserInterval};
use reports::histogram_log;

/// Method of all calls, which Locust shows as their type.
const METHOD: &str = "tools/call";

/// Name of the entry with all calls.
const TOTAL: &str = "Aggregated";

/// Kind of error of calls without a response when their user stopped.
pub(super) const UNFINISHED: &str = "unfinished";

/// Calls that were not reported yet.
pub(super) struct Pending {
    tool: String,
    /// Start of the report.
    since: f64,
    requests: u64,
    failures: u64,
    /// From the scheduled time, as in a load test of one machine: calls with a result, and waiting times.
    latencies: Latencies,
    /// Those of the calls that Locust counts.
    times: Latencies,
    unsent: u64,
    bytes: u64,
    last: Option<u64>,
    requests_by_second: BTreeMap<u64, u64>,
    failures_by_second: BTreeMap<u64, u64>,
    errors: BTreeMap<String, ErrorEntry>,
}

impl Pending {
    pub(super) fn new(tool: &str, since: f64) -> Self {
        Self {
            tool: tool.to_owned(),
            since,
            requests: 0,
            failures: 0,
            latencies: Latencies::new(),
            times: Latencies::new(),
            unsent: 0,
            bytes: 0,
            last: None,
            requests_by_second: BTreeMap::new(),
            failures_by_second: BTreeMap::new(),
            errors: BTreeMap::new(),
        }
    }

    /// Adds calls.
    pub(super) fn add(&mut self, interval: &UserInterval) {
        let UserInterval { second, recorder, unsent } = interval;
        let (requests, failures) = (recorder.finished(), recorder.failed() + recorder.abandoned);
        self.requests += requests;
        self.failures += failures;
        self.latencies.merge(&recorder.latencies);
        self.latencies.merge(unsent);
        self.times.merge(&recorder.latencies);
        self.times.merge(&recorder.failed_after);
        self.unsent += unsent.count();
        self.bytes += recorder.bytes_received;
        if requests > 0 {
            self.last = self.last.max(Some(*second));
            *self.requests_by_second.entry(*second).or_default() += requests;
        }
        if failures > 0 {
            *self.failures_by_second.entry(*second).or_default() += failures;
        }
        for (kind, count) in &recorder.errors {
            let text = recorder.samples.get(kind).map_or("", |sample| sample.text.as_str());
            self.fail(kind, text, *count, *second);
        }
        if recorder.abandoned > 0 {
            self.fail(UNFINISHED, "no response before the users stopped", recorder.abandoned, *second);
        }
    }

    fn fail(&mut self, kind: &str, text: &str, count: u64, second: u64) {
        let seen = second as f64;
        let error = self.errors.entry(format!("{METHOD}.{}.{kind}", self.tool)).or_insert_with(|| ErrorEntry {
            name: self.tool.clone(),
            method: METHOD.to_owned(),
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
        let tool = self.tool.clone();
        let Self { since, errors, .. } = &*self;
        let (entry, errors) = (self.entry(), errors.clone());
        let histogram = self.latencies.bounds().map(|(_, max_us)| Histogram {
            start: *since,
            duration: (now - since).max(0.0),
            max_us,
            histogram: histogram_log::encode(&self.latencies.buckets()),
            unsent: self.unsent,
        });
        let total = Entry { name: TOTAL.to_owned(), method: String::new(), ..entry.clone() };
        *self = Self::new(&tool, now);
        let stats = if entry.num_requests > 0 { vec![entry] } else { Vec::new() };
        let user_count = users.values().sum();
        (Stats { stats, stats_total: total, errors, user_classes_count: users.clone(), user_count }, histogram)
    }

    fn entry(&self) -> Entry {
        let millis = |micros: u64| micros as f64 / 1_000.0;
        let bounds = self.times.bounds();
        let mut response_times = Counts::default();
        response_times.add(&self.times);
        Entry {
            name: self.tool.clone(),
            method: METHOD.to_owned(),
            start_time: self.since,
            last_request_timestamp: self.last.map(|second| second as f64),
            num_requests: self.requests,
            num_none_requests: 0,
            num_failures: self.failures,
            total_response_time: self.times.sum() as f64 / 1_000.0,
            min_response_time: bounds.map(|(min, _)| millis(min)),
            max_response_time: bounds.map_or(0.0, |(_, max)| millis(max)),
            total_content_length: self.bytes,
            response_times,
            num_reqs_per_sec: self.requests_by_second.clone(),
            num_fail_per_sec: self.failures_by_second.clone(),
        }
    }
}
