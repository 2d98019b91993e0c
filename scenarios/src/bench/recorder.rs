//! The recorder owns the histograms, the time series and the counts by error kind.

use std::{collections::BTreeMap, time::Duration};

use hdrhistogram::Histogram;
use reports::model::ErrorSample;
use tokio::{sync::mpsc, time::Instant};

use super::{
    TIMED_OUT,
    latencies::{Latencies, add, enter, histogram, micros},
    notifications::NotificationRecord,
    operation::{KINDS, OTHER, OperationRecord},
    series::Series,
    shared::{Record, Sample, Timing},
};

/// The records of the calls of a load, or of one worker.
pub(super) struct Recorder {
    /// From the scheduled time: latencies of successful calls and waiting times of calls without a response.
    pub(super) latencies: Latencies,
    /// From the time of sending: latencies of successful calls and of timeouts.
    pub(super) uncorrected: Latencies,
    /// Times until a failure, except timeouts, which are among the latencies.
    pub(super) failed_after: Latencies,
    /// For successes after the end of the window, the time since then in microseconds.
    late: Histogram<u64>,
    /// Calls that succeeded.
    pub(super) succeeded: u64,
    /// Calls that failed, by kind.
    pub(super) errors: BTreeMap<String, u64>,
    /// The first failure of each kind.
    pub(super) samples: BTreeMap<String, ErrorSample>,
    /// Notifications before the responses.
    pub(super) notifications: NotificationRecord,
    /// Number of waiting times among the latencies.
    pub(super) ages: u64,
    /// Calls that were abandoned.
    pub(super) abandoned: u64,
    /// Bytes that were sent and received; 0 if the driver does not know them.
    pub(super) bytes_sent: u64,
    pub(super) bytes_received: u64,
    /// The load over time.
    pub(super) series: Series,
    /// The operations, as far as one ended.
    operations: Vec<OperationRecord>,
}

impl Recorder {
    pub(super) fn new(timing: &Timing) -> Self {
        Self {
            latencies: Latencies::new(),
            uncorrected: Latencies::new(),
            failed_after: Latencies::new(),
            late: histogram(),
            succeeded: 0,
            errors: BTreeMap::new(),
            samples: BTreeMap::new(),
            notifications: NotificationRecord::default(),
            ages: 0,
            abandoned: 0,
            bytes_sent: 0,
            bytes_received: 0,
            series: Series::new(timing),
            operations: Vec::new(),
        }
    }

    /// The records of calls that end in one short interval: without a time series, which other code has.
    pub(super) fn interval(timing: &Timing) -> Self {
        Self { series: Series::single(timing), ..Self::new(timing) }
    }

    /// Records until all senders are dropped.
    pub(super) async fn collect(mut inbox: mpsc::UnboundedReceiver<Record>, timing: &Timing) -> Self {
        /// Takes some microseconds to record: the schedule runs in the same task.
        const BATCH: usize = 128;
        let mut recorder = Self::new(timing);
        let mut batch = Vec::with_capacity(BATCH);
        while inbox.recv_many(&mut batch, BATCH).await > 0 {
            for record in batch.drain(..) {
                match record {
                    Record::Step { row, latency } => recorder.record_step(row, latency),
                    Record::Iteration(sample) => recorder.record(sample, timing.end()),
                }
            }
        }
        recorder
    }

    /// Records an operation that succeeded, and after which its iteration goes on.
    pub(super) fn record_step(&mut self, row: usize, latency: Duration) {
        self.operation(row).record(micros(latency), Ok(()));
    }

    /// The records of the operations, as far as one ended.
    pub(super) fn operations(&self) -> &[OperationRecord] {
        &self.operations
    }

    /// The record of an operation.
    pub(super) fn operation(&mut self, row: usize) -> &mut OperationRecord {
        if row >= self.operations.len() {
            self.operations.resize_with(row + 1, OperationRecord::default);
        }
        &mut self.operations[row]
    }

    /// Records an iteration. `end` is the end of the window.
    pub(super) fn record(&mut self, sample: Sample, end: Instant) {
        let Sample { intended, sent, ended, last, outcome } = sample;
        if let Some((row, begun)) = last {
            let failure = outcome.as_ref().copied().map_err(|failure| failure.as_ref().map(|one| one.kind.as_ref()));
            self.operation(row).record(micros(ended.saturating_duration_since(begun)), failure);
        }
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
                } else {
                    self.failed_after.enter(latency, 1);
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
        self.failed_after.merge(&other.failed_after);
        add(&mut self.late, &other.late);
        self.succeeded += other.succeeded;
        let mut samples = other.samples;
        for (kind, count) in other.errors {
            let sample = samples.remove(&kind);
            self.fail(&kind, count, sample);
        }
        self.notifications.merge(&other.notifications);
        self.ages += other.ages;
        self.abandoned += other.abandoned;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.series.merge(other.series);
        for (row, record) in other.operations.into_iter().enumerate() {
            self.operation(row).merge(record);
        }
    }

    /// Number of latencies.
    pub(super) fn samples(&self) -> u64 {
        self.latencies.count()
    }

    /// Calls that ended, with a result or not.
    pub(super) fn finished(&self) -> u64 {
        self.succeeded + self.failed() + self.abandoned
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
