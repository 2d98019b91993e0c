//! The expectations of a server, and the record that they are compared with.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{
    expect::Expect,
    received::Received,
    verification::{UnmetExpectations, judge},
};
use evidence::Recorder;

/// Expectations, and the record that they are compared with.
#[derive(Debug)]
pub(super) struct ExpectationSet {
    recorder: Recorder,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    /// Frames before this position of the record are ignored.
    since: u64,
    expected: Vec<Expect>,
}

impl ExpectationSet {
    pub(super) fn new(recorder: Recorder) -> Self {
        Self { recorder, entries: Mutex::default() }
    }

    pub(super) fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Adds an expectation.
    pub(super) fn enter(&self, expect: Expect) {
        self.lock().expected.push(expect);
    }

    /// Removes expectations and received messages.
    pub(super) fn reset(&self) {
        let since = self.position();
        *self.lock() = Entries { since, expected: Vec::new() };
    }

    /// Removes received messages and keeps the expectations.
    pub(super) fn forget(&self) {
        let since = self.position();
        self.lock().since = since;
    }

    /// The current position of the record.
    pub(super) fn position(&self) -> u64 {
        self.recorder.inspect(|frames| frames.last().map_or(0, |frame| frame.seq + 1))
    }

    /// The messages since this position and the last reset.
    pub(super) fn received(&self, from: u64) -> Vec<Received> {
        let from = from.max(self.lock().since);
        self.recorder.inspect(|frames| {
            let first = frames.partition_point(|frame| frame.seq < from);
            frames[first..].iter().flat_map(Received::from_frame).collect()
        })
    }

    /// Checks the messages since the last reset against all expectations.
    pub(super) fn verify(&self) -> Result<(), UnmetExpectations> {
        let received = self.received(0);
        judge(&self.lock().expected, &received)
    }

    /// Checks the messages since this position against one expectation.
    pub(super) fn verify_one(&self, expect: &Expect, from: u64) -> Result<(), UnmetExpectations> {
        judge(std::slice::from_ref(expect), &self.received(from))
    }

    /// No update under the lock is partial, so the expectations stay valid after a panic elsewhere.
    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
