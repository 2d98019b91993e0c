//! Timers without a message: the expiry of tasks and request states.
//!
//! The transport gets them as a [`Step::Wake`] of a dispatch without a message.

use std::{collections::HashMap, time::Duration};

use super::{DispatchId, Engine, Output, Step, Target};
use crate::human_duration::HumanDuration;

/// A timer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Timer {
    /// Only the time.
    Tick,
    /// The end of a task's life.
    Task(String),
}

/// The timers, and the due times of all wake-ups.
#[derive(Debug, Clone, Default)]
pub(crate) struct Timers {
    set: HashMap<DispatchId, Timer>,
    due: HashMap<DispatchId, Duration>,
}

impl Engine {
    /// Sets a timer.
    pub(crate) fn set_timer(&mut self, after: Duration, timer: Timer) {
        let id = self.new_dispatch();
        self.background.timers.set.insert(id, timer);
        self.background.outputs.push(Output::new(Target::Dispatch(id), Step::Wake(after)));
    }

    /// Makes the clock advance at least this far.
    pub(crate) fn wake_at_expiry(&mut self, ttl: HumanDuration, out: &mut Vec<Output>) {
        let id = self.new_dispatch();
        self.background.timers.set.insert(id, Timer::Tick);
        out.push(Output::new(Target::Dispatch(id), Step::Wake(ttl.0)));
    }

    /// Records when the wake-ups among these outputs are due.
    pub(crate) fn note_wakes(&mut self, outputs: &[Output]) {
        for output in outputs {
            if let (Target::Dispatch(id), Step::Wake(after)) = (output.to, &output.step) {
                self.background.timers.due.insert(id, self.background.clock.due(*after));
            }
        }
    }

    /// Advances the clock to a wake-up; returns whether it was that of a timer, which then runs.
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
