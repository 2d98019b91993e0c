//! Timers without a message: the expiry of tasks and request states.
//!
//! They travel to the front as a [`Step::Wake`] of a dispatch that no message opened.

use std::{collections::HashMap, time::Duration};

use super::{DispatchId, Engine, Output, Step, Target};
use crate::human_duration::HumanDuration;

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
    set: HashMap<DispatchId, Timer>,
    due: HashMap<DispatchId, Duration>,
}

impl Engine {
    /// Lets something come due after this time.
    pub(crate) fn set_timer(&mut self, after: Duration, timer: Timer) {
        let id = self.new_dispatch();
        self.background.timers.set.insert(id, timer);
        self.background.outputs.push(Output::new(Target::Dispatch(id), Step::Wake(after)));
    }

    /// Lets the server's own time go on at least this far.
    pub(crate) fn wake_at_expiry(&mut self, ttl: HumanDuration, out: &mut Vec<Output>) {
        let id = self.new_dispatch();
        self.background.timers.set.insert(id, Timer::Tick);
        out.push(Output::new(Target::Dispatch(id), Step::Wake(ttl.0)));
    }

    /// Notes when the wakes among these outputs are due.
    pub(crate) fn note_wakes(&mut self, outputs: &[Output]) {
        for output in outputs {
            if let (Target::Dispatch(id), Step::Wake(after)) = (output.to, &output.step) {
                self.background.timers.due.insert(id, self.background.clock.due(*after));
            }
        }
    }

    /// A wake is due: time has gone on. Whether it was that of a timer, which is then dealt with.
    pub(crate) fn timer_is_due(&mut self, id: DispatchId) -> bool {
        if let Some(due) = self.background.timers.due.remove(&id) {
            self.background.clock.reach(due);
        }
        match self.background.timers.set.remove(&id) {
            Some(Timer::Task(task)) => self.expire_task(&task),
            Some(Timer::Tick) => {}
            None => return false,
        }
        true
    }
}
