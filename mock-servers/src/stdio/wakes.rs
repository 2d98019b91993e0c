//! When which exchange is to be woken.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    sync::{Condvar, Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::engine::ExchangeId;

/// The alarm clock: one thread waits on it, others set it.
#[derive(Debug, Default)]
pub(super) struct Wakes {
    due: Mutex<BinaryHeap<Reverse<(Instant, ExchangeId)>>>,
    changed: Condvar,
}

impl Wakes {
    pub(super) fn set(&self, after: Duration, exchange: ExchangeId) {
        // A time beyond what the clock can say never comes.
        let Some(at) = Instant::now().checked_add(after) else { return };
        self.due.lock().unwrap_or_else(PoisonError::into_inner).push(Reverse((at, exchange)));
        self.changed.notify_one();
    }

    /// Waits for the next exchange that is due.
    pub(super) fn next(&self) -> ExchangeId {
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
