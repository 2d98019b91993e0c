//! What a front is still to be woken for, so that it knows at its end which answers are worth waiting for.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use crate::engine::{Engine, ExchangeId};

/// The exchanges that a front is to wake, and when.
#[derive(Debug, Default)]
pub(crate) struct Awaited {
    due: HashMap<ExchangeId, Instant>,
    /// From when on nothing is waited for any more, once that is settled.
    last: Option<Instant>,
}

impl Awaited {
    /// An exchange is to be woken after this time.
    pub(crate) fn set(&mut self, exchange: ExchangeId, after: Duration) {
        // A time beyond what the clock can say never comes.
        if let Some(at) = Instant::now().checked_add(after) {
            self.due.insert(exchange, at);
        }
    }

    /// An exchange is woken.
    pub(crate) fn come(&mut self, exchange: ExchangeId) {
        self.due.remove(&exchange);
    }

    /// From now on this much time is left for everything.
    pub(crate) fn end_after(&mut self, patience: Duration) {
        self.last = Instant::now().checked_add(patience);
    }

    /// The exchanges that go on in time by themselves: all that are to be woken and still have something to say then.
    pub(crate) fn worth_waiting(&self, engine: &Engine) -> impl Iterator<Item = ExchangeId> {
        let in_time = |at: &Instant| self.last.is_none_or(|last| *at < last);
        self.due.iter().filter(move |(id, at)| in_time(at) && engine.has_more_to_say(**id)).map(|(id, _)| *id)
    }
}
