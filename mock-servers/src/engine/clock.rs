//! The clock of an engine, which does not read the system's clock.
//!
//! Time advances only when a wake-up is due, so a script gives the same bytes in every run, timestamps included. An
//! engine that follows the calendar gets the time with each message.

use std::time::{Duration, Instant, SystemTime};

use crate::human_duration::HumanDuration;

/// Default start of the clock: the date of the revision 2026-07-28.
const EPOCH: Duration = Duration::from_secs(1_785_196_800);

/// The time of an engine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VirtualClock {
    epoch: SystemTime,
    elapsed: Duration,
    /// The start, if the clock follows the calendar.
    begun: Option<Instant>,
}

impl VirtualClock {
    pub(crate) fn new() -> Self {
        Self { epoch: SystemTime::UNIX_EPOCH + EPOCH, elapsed: Duration::ZERO, begun: None }
    }

    /// Sets the time of the start.
    pub(crate) fn start_at(&mut self, epoch: SystemTime) {
        self.epoch = epoch;
    }

    /// Makes the clock follow the calendar from this moment on.
    pub(crate) fn follow_since(&mut self, begun: Instant) {
        self.begun = Some(begun);
    }

    /// Advances to this moment, if the clock follows the calendar.
    pub(crate) fn advance_to(&mut self, now: Instant) {
        if let Some(begun) = self.begun {
            self.reach(now.saturating_duration_since(begun));
        }
    }

    /// The moment after this time.
    pub(crate) fn due(&self, after: Duration) -> Duration {
        self.elapsed.saturating_add(after)
    }

    /// Advances to this moment.
    pub(crate) fn reach(&mut self, moment: Duration) {
        self.elapsed = self.elapsed.max(moment);
    }

    /// The moment after this time, in milliseconds.
    pub(crate) fn after(&self, period: HumanDuration) -> u64 {
        millis(self.due(period.0))
    }

    /// Whether such a moment is reached.
    pub(crate) fn is_reached(&self, moment: u64) -> bool {
        millis(self.elapsed) >= moment
    }

    /// The current time in the format of RFC 3339.
    pub(crate) fn stamp(&self) -> String {
        // Timestamps end with the year 9999.
        let now = self.epoch.checked_add(self.elapsed).unwrap_or(self.epoch);
        humantime::format_rfc3339_millis(now).to_string()
    }
}

/// Whole milliseconds.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goes_by_with_the_calendar_where_it_is_to() {
        let begun = Instant::now();
        let later = begun + Duration::from_millis(1_500);
        let mut time = VirtualClock::new();
        time.advance_to(later);
        assert_eq!(time.stamp(), "2026-07-28T00:00:00.000Z");
        time.start_at(SystemTime::UNIX_EPOCH);
        time.follow_since(begun);
        time.advance_to(later);
        time.advance_to(begun);
        assert_eq!(time.stamp(), "1970-01-01T00:00:01.500Z");
    }

    #[test]
    fn goes_by_only_with_what_was_waited_for() {
        let mut time = VirtualClock::new();
        assert_eq!(time.stamp(), "2026-07-28T00:00:00.000Z");
        let (soon, late) = (time.due(Duration::from_millis(5)), time.after(HumanDuration::from_millis(10)));
        assert!(!time.is_reached(late));
        time.reach(soon);
        time.reach(Duration::ZERO);
        assert_eq!(time.stamp(), "2026-07-28T00:00:00.005Z");
        time.reach(time.due(Duration::from_millis(5)));
        assert!(time.is_reached(late));
    }
}
