//! The clock for issuing and verifying tokens: the system's, or one that a test sets.
//!
//! It does not affect delays: they use real time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use super::script::ClockOffset;

/// A clock that counts from the Unix epoch. Clones share the time: advancing one advances all.
#[derive(Debug, Clone)]
pub struct Clock {
    /// The start of a manual clock; `None` for the system's.
    start: Option<Duration>,
    /// The offset since the start, in milliseconds.
    moved: Arc<AtomicI64>,
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

impl Clock {
    /// The system's clock. It can be moved too, to test jumps of the clock.
    #[must_use]
    pub fn system() -> Self {
        Self { start: None, moved: Arc::default() }
    }

    /// A clock that stays at this time since the Unix epoch until it is moved.
    #[must_use]
    pub fn manual(start: Duration) -> Self {
        Self { start: Some(start), moved: Arc::default() }
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        self.moved.fetch_add(millis(by), Ordering::SeqCst);
    }

    /// Moves the clock back, like a correction of the system's time.
    pub fn rewind(&self, by: Duration) {
        self.moved.fetch_sub(millis(by), Ordering::SeqCst);
    }

    /// Moves the clock by the offset of a script.
    pub(crate) fn jump(&self, jump: ClockOffset) {
        match jump {
            ClockOffset::Forward(period) => self.advance(period.0),
            ClockOffset::Back(period) => self.rewind(period.0),
        }
    }

    /// The time since the Unix epoch.
    #[must_use]
    pub fn now(&self) -> Duration {
        // A system time before 1970 counts as 1970.
        let base = self.start.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default());
        let moved = self.moved.load(Ordering::SeqCst);
        let by = Duration::from_millis(moved.unsigned_abs());
        if moved < 0 { base.saturating_sub(by) } else { base.saturating_add(by) }
    }

    /// The whole seconds since the Unix epoch, as JWTs count them (RFC 7519 section 2, `NumericDate`).
    #[must_use]
    pub fn seconds(&self) -> u64 {
        self.now().as_secs()
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_stands_until_it_is_moved_and_its_clones_move_with_it() {
        let clock = Clock::manual(Duration::from_secs(1_000));
        let other = clock.clone();
        clock.advance(Duration::from_millis(1_500));
        assert_eq!(other.now(), Duration::from_millis(1_001_500));
        other.rewind(Duration::from_secs(2_000));
        assert_eq!(clock.seconds(), 0);
    }
}
