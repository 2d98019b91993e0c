//! How often, and after which waits, a server that was lost is tried again. Pure: the draw comes from the caller.

use std::time::Duration;

/// How a server that fails is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// How many tries in a row may fail.
    pub tries: u32,
    /// The wait after the first failure; each wait is twice the one before.
    pub first: Duration,
    /// How long a connection has to last before earlier failures are forgotten: a server that starts well and dies at
    /// once is failing too.
    pub healthy: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { tries: 5, first: Duration::from_secs(1), healthy: Duration::from_secs(30) }
    }
}

impl Backoff {
    /// The wait after this many failures in a row. `draw`, from 0 to 1, lengthens it by up to a half, so that clients which
    /// lost a server at the same moment do not come back at the same moment.
    #[must_use]
    pub fn wait(&self, failures: u32, draw: f64) -> Duration {
        let Some(doublings) = failures.checked_sub(1) else { return Duration::ZERO };
        let plain = self.first.saturating_mul(2_u32.saturating_pow(doublings));
        plain.saturating_add(plain.mul_f64(draw.clamp(0.0, 1.0) / 2.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_and_adds_up_to_a_half() {
        let backoff = Backoff::default();
        let plain: Vec<_> = (0..=5).map(|failures| backoff.wait(failures, 0.0).as_secs()).collect();
        assert_eq!(plain, [0, 1, 2, 4, 8, 16]);
        assert_eq!(backoff.wait(2, 1.0), Duration::from_secs(3));
        assert_eq!(backoff.wait(2, 7.0), Duration::from_secs(3));
        assert_eq!(backoff.wait(0, 1.0), Duration::ZERO);
    }
}
