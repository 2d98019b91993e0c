//! Delays between attempts to reach a server. Pure: the caller provides the random number.

use std::time::Duration;

/// Delays between attempts to reach a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// Maximum number of consecutive failures.
    pub tries: u32,
    /// Delay after the first failure. It doubles with each failure.
    pub first: Duration,
    /// Minimum duration of a connection that resets the number of failures. A server that starts but exits immediately
    /// keeps failing.
    pub healthy: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { tries: 5, first: Duration::from_secs(1), healthy: Duration::from_secs(30) }
    }
}

impl Backoff {
    /// The delay after this many consecutive failures. `draw`, from 0 to 1, adds up to a half, so that clients do not
    /// reconnect at the same time.
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
