//! Things that come due without any message: the end of a task's life, the end of a state's.
//!
//! They travel to the front as a [`Step::Wake`] of an exchange that no message opened.

use std::{collections::HashMap, time::Duration};

use super::{Engine, ExchangeId, Output, Step, Target};
use crate::period::Period;

/// What comes due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Timer {
    /// Nothing but the time itself.
    Tick,
    /// The end of a task's life.
    Task(String),
}

/// The timers that are set, and the moments at which anything is due.
#[derive(Debug, Clone, Default)]
pub(crate) struct Timers {
    set: HashMap<ExchangeId, Timer>,
    due: HashMap<ExchangeId, Duration>,
}

impl Engine {
    /// Lets something come due after this time.
    pub(crate) fn set_timer(&mut self, after: Duration, timer: Timer) {
        let id = self.new_exchange();
        self.timers.set.insert(id, timer);
        self.asides.push(Output::new(Target::Exchange(id), Step::Wake(after)));
    }

    /// Lets the server's own time go on at least this far.
    pub(crate) fn wake_at_expiry(&mut self, ttl: Period, out: &mut Vec<Output>) {
        let id = self.new_exchange();
        self.timers.set.insert(id, Timer::Tick);
        out.push(Output::new(Target::Exchange(id), Step::Wake(ttl.0)));
    }

    /// Notes when the wakes among these outputs are due.
    pub(crate) fn note_wakes(&mut self, outputs: &[Output]) {
        for output in outputs {
            if let (Target::Exchange(id), Step::Wake(after)) = (output.to, &output.step) {
                self.timers.due.insert(id, self.time.due(*after));
            }
        }
    }

    /// A wake is due: time has gone on. Whether it was that of a timer, which is then dealt with.
    pub(crate) fn timer_is_due(&mut self, id: ExchangeId) -> bool {
        if let Some(due) = self.timers.due.remove(&id) {
            self.time.reach(due);
        }
        match self.timers.set.remove(&id) {
            Some(Timer::Task(task)) => self.expire_task(&task),
            Some(Timer::Tick) => {}
            None => return false,
        }
        true
    }
}
