//! How long to wait before a stream is opened again.

use std::time::Duration;

use rmcp::transport::common::client_side_sse::SseRetryPolicy;

use crate::chance::draw;

/// How often a stream is opened again before it is given up.
const TRIES: usize = 5;
/// The first wait; each is twice the one before.
const FIRST: Duration = Duration::from_secs(1);

/// Five tries, one second doubling, each up to a quarter longer or shorter, so that the clients of a server that comes back
/// do not all come at once.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Backoff;

impl SseRetryPolicy for Backoff {
    fn retry(&self, tries_so_far: usize) -> Option<Duration> {
        wait(tries_so_far, draw())
    }
}

/// `chance` is between 0 and 1.
fn wait(tries_so_far: usize, chance: f64) -> Option<Duration> {
    let doubling = u32::try_from(tries_so_far).ok().filter(|_| tries_so_far < TRIES)?;
    Some(FIRST.mul_f64(f64::from(2_u32.pow(doubling)) * (0.75 + chance / 2.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_within_a_quarter_and_ends() {
        let waits: Vec<_> = (0..).map_while(|tries| wait(tries, 0.5)).map(|wait| wait.as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16]);
        assert_eq!(wait(1, 0.0), Some(Duration::from_millis(1_500)));
        assert_eq!(wait(1, 1.0), Some(Duration::from_millis(2_500)));
        let spread: std::collections::BTreeSet<_> = (0..20).map(|_| Backoff.retry(0)).collect();
        assert!(spread.len() > 10, "{spread:?}");
    }
}
