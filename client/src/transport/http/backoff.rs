//! Delays before a stream is reopened.

use std::time::Duration;

use rmcp::transport::common::client_side_sse::SseRetryPolicy;

use crate::jitter::draw;

/// Maximum number of attempts.
const TRIES: usize = 5;
/// First delay. It doubles with each attempt.
const FIRST: Duration = Duration::from_secs(1);

/// Five attempts, from one second, doubled each time. Each delay varies by up to a quarter, so that clients do not
/// reconnect at the same time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Backoff;

impl SseRetryPolicy for Backoff {
    fn retry(&self, tries_so_far: usize) -> Option<Duration> {
        wait(tries_so_far, draw())
    }
}

/// `jitter` is between 0 and 1.
fn wait(tries_so_far: usize, jitter: f64) -> Option<Duration> {
    let doubling = u32::try_from(tries_so_far).ok().filter(|_| tries_so_far < TRIES)?;
    Some(FIRST.mul_f64(f64::from(2_u32.pow(doubling)) * (0.75 + jitter / 2.0)))
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
