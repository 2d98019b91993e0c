//! The server's own time: what it knows of time without a clock.
//!
//! Time goes by when the engine is woken, and at no other moment. So a script gives the same bytes every time it is
//! run, timestamps included, and no answer speaks of a time that lies behind what was waited for. Only an engine that is
//! to go by the calendar is told what the clock says, with each message.

use std::time::{Duration, Instant, SystemTime};

use crate::period::Period;

/// When the server's own time begins unless it is told: at the day of the newest revision, 2026-07-28.
const EPOCH: Duration = Duration::from_secs(1_785_196_800);

/// How far the server's own time is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Time {
    epoch: SystemTime,
    elapsed: Duration,
    /// When it began, where it goes by with the calendar.
    begun: Option<Instant>,
}

impl Time {
    pub(crate) fn new() -> Self {
        Self { epoch: SystemTime::UNIX_EPOCH + EPOCH, elapsed: Duration::ZERO, begun: None }
    }

    /// Lets it begin at this time.
    pub(crate) fn begin_at(&mut self, epoch: SystemTime) {
        self.epoch = epoch;
    }

    /// Lets it go by with the calendar, which it began at this moment to do.
    pub(crate) fn go_by_since(&mut self, begun: Instant) {
        self.begun = Some(begun);
    }

    /// It is this late on the clock that it goes by, if it goes by one.
    pub(crate) fn is_now(&mut self, now: Instant) {
        if let Some(begun) = self.begun {
            self.reach(now.saturating_duration_since(begun));
        }
    }

    /// The moment this far from now.
    pub(crate) fn due(&self, after: Duration) -> Duration {
        self.elapsed.saturating_add(after)
    }

    /// This moment has come.
    pub(crate) fn reach(&mut self, moment: Duration) {
        self.elapsed = self.elapsed.max(moment);
    }

    /// The moment this far from now, in milliseconds.
    pub(crate) fn after(&self, period: Period) -> u64 {
        millis(self.due(period.0))
    }

    /// Whether such a moment has come.
    pub(crate) fn has_come(&self, moment: u64) -> bool {
        millis(self.elapsed) >= moment
    }

    /// Now, as RFC 3339 has it.
    pub(crate) fn stamp(&self) -> String {
        // Beyond the year 9999 there are no such timestamps, and no server that runs so long.
        let now = self.epoch.checked_add(self.elapsed).unwrap_or(self.epoch);
        humantime::format_rfc3339_millis(now).to_string()
    }
}

/// Whole milliseconds, as the protocol counts.
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
        let mut time = Time::new();
        time.is_now(later);
        assert_eq!(time.stamp(), "2026-07-28T00:00:00.000Z");
        time.begin_at(SystemTime::UNIX_EPOCH);
        time.go_by_since(begun);
        time.is_now(later);
        time.is_now(begun);
        assert_eq!(time.stamp(), "1970-01-01T00:00:01.500Z");
    }

    #[test]
    fn goes_by_only_with_what_was_waited_for() {
        let mut time = Time::new();
        assert_eq!(time.stamp(), "2026-07-28T00:00:00.000Z");
        let (soon, late) = (time.due(Duration::from_millis(5)), time.after(Period::from_millis(10)));
        assert!(!time.has_come(late));
        time.reach(soon);
        time.reach(Duration::ZERO);
        assert_eq!(time.stamp(), "2026-07-28T00:00:00.005Z");
        time.reach(time.due(Duration::from_millis(5)));
        assert!(time.has_come(late));
    }
}
