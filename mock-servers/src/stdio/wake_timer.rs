//! Timer of wake-ups, for a server without an asynchronous runtime.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    sync::{Condvar, Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::engine::DispatchId;

/// A queue of wake-ups: one thread waits on it, others add to it.
#[derive(Debug, Default)]
pub(super) struct WakeTimer {
    due: Mutex<BinaryHeap<Reverse<(Instant, DispatchId)>>>,
    changed: Condvar,
}

impl WakeTimer {
    pub(super) fn set(&self, after: Duration, exchange: DispatchId) {
        // A time that the clock cannot represent never comes.
        let Some(at) = Instant::now().checked_add(after) else { return };
        self.due.lock().unwrap_or_else(PoisonError::into_inner).push(Reverse((at, exchange)));
        self.changed.notify_one();
    }

    /// Waits for the next dispatch that is due.
    pub(super) fn next(&self) -> DispatchId {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let now = Instant::now();
            match due.peek().map(|Reverse((at, exchange))| (*at, *exchange)) {
                Some((at, exchange)) if at <= now => {
                    due.pop();
                    return exchange;
                }
                Some((at, _)) => {
                    due = self.changed.wait_timeout(due, at - now).unwrap_or_else(PoisonError::into_inner).0;
                }
                None => due = self.changed.wait(due).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}
