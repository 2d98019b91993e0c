//! The records of one operation of a mix or a sequence.

use std::collections::BTreeMap;

use reports::model::OperationResult;

use super::{TIMED_OUT, latencies::Latencies};

/// Maximum number of error kinds; further kinds are counted together.
pub(super) const KINDS: usize = 64;

/// The kind of further kinds.
pub(super) const OTHER: &str = "other";

/// The executions of an operation.
pub(super) struct OperationRecord {
    /// Latencies of successes, and waiting times of executions without a response. The first operation of an iteration
    /// begins at the scheduled time, further ones after the operation before.
    pub(super) latencies: Latencies,
    /// Times until another failure, which can be short and says nothing about the operation.
    pub(super) failed_after: Latencies,
    pub(super) succeeded: u64,
    errors: BTreeMap<String, u64>,
    pub(super) abandoned: u64,
}

impl Default for OperationRecord {
    fn default() -> Self {
        let (latencies, failed_after) = (Latencies::new(), Latencies::new());
        Self { latencies, failed_after, succeeded: 0, errors: BTreeMap::new(), abandoned: 0 }
    }
}

impl OperationRecord {
    /// Records an execution with its latency in microseconds. The failure is its kind; `Err(None)` is an execution that was
    /// abandoned.
    pub(super) fn record(&mut self, latency: u64, outcome: Result<(), Option<&str>>) {
        match outcome {
            Ok(()) => self.succeeded += 1,
            Err(None) => self.abandoned += 1,
            Err(Some(kind)) => self.fail(kind, 1),
        }
        match outcome {
            Ok(()) | Err(None | Some(TIMED_OUT)) => self.latencies.enter(latency, 1),
            Err(Some(_)) => self.failed_after.enter(latency, 1),
        }
    }

    fn fail(&mut self, kind: &str, count: u64) {
        let kind = if self.errors.contains_key(kind) || self.errors.len() < KINDS { kind } else { OTHER };
        match self.errors.get_mut(kind) {
            Some(known) => *known += count,
            None => drop(self.errors.insert(kind.to_owned(), count)),
        }
    }

    /// Adds the records of another worker.
    pub(super) fn merge(&mut self, other: Self) {
        self.latencies.merge(&other.latencies);
        self.failed_after.merge(&other.failed_after);
        self.succeeded += other.succeeded;
        self.abandoned += other.abandoned;
        for (kind, count) in other.errors {
            self.fail(&kind, count);
        }
    }

    /// The result. `rate` is that of successes.
    pub(super) fn result(&self, name: &str, rate: f64) -> OperationResult {
        OperationResult {
            name: name.to_owned(),
            sent: self.sent(),
            succeeded: self.succeeded,
            errors: self.errors.clone(),
            unfinished: self.abandoned,
            rate,
            latency: self.latencies.summary(),
            histogram: self.latencies.buckets(),
        }
    }

    /// Executions that failed, by kind.
    pub(super) fn errors(&self) -> &BTreeMap<String, u64> {
        &self.errors
    }

    /// Executions that failed.
    pub(super) fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    /// Executions.
    pub(super) fn sent(&self) -> u64 {
        self.succeeded + self.failed() + self.abandoned
    }
}
