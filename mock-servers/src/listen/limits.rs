//! Limits for clients: time, memory and descriptors.

use std::{io, time::Duration};

use crate::system;

/// Limits for clients. The defaults allow for debuggers and slow machines, and still end connections that would never
/// end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Timeout of the head of a request, and with it of an idle connection.
    pub head_time: Duration,
    /// Timeout of the body of a request, which then gets 408.
    pub body_time: Duration,
    /// Grace period of pending responses when the server is stopped. Later responses are dropped.
    pub stop_time: Duration,
    /// Maximum number of unread bytes of a stream. After one more message the connection is dropped.
    pub unread_bytes: usize,
    /// Maximum number of sessions. One more ends the session that was idle for longest, as a server may at any time
    /// (2025-11-25, transports, session management, 3).
    pub sessions: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_time: Duration::from_secs(30),
            body_time: Duration::from_secs(60),
            stop_time: Duration::from_secs(2),
            unread_bytes: 32 * 1024 * 1024,
            sessions: 10_000,
        }
    }
}

impl Limits {
    /// The same with this timeout of heads.
    #[must_use]
    pub fn with_head_time(self, head_time: Duration) -> Self {
        Self { head_time, ..self }
    }

    /// The same with this timeout of bodies.
    #[must_use]
    pub fn with_body_time(self, body_time: Duration) -> Self {
        Self { body_time, ..self }
    }

    /// The same with this grace period of pending responses.
    #[must_use]
    pub fn with_stop_time(self, stop_time: Duration) -> Self {
        Self { stop_time, ..self }
    }

    /// The same with this many bytes unread.
    #[must_use]
    pub fn with_unread_bytes(self, unread_bytes: usize) -> Self {
        Self { unread_bytes, ..self }
    }

    /// The same with this many sessions.
    #[must_use]
    pub fn with_sessions(self, sessions: usize) -> Self {
        Self { sessions, ..self }
    }
}

/// Raises the process's limit of open files from the usual 1,024 to the maximum that the system allows. Returns the new
/// limit; `None` means unlimited. On Windows there is nothing to raise.
///
/// # Errors
/// When the system refuses.
pub fn raise_descriptor_limit() -> io::Result<Option<u64>> {
    system::raise_descriptor_limit()
}

/// Wait before the next attempt to accept a connection, after this many failures in a row. Without a free descriptor
/// the next attempt would fail at once.
pub(super) fn pause_after(failures: u32) -> Duration {
    Duration::from_millis(10).saturating_mul(1 << failures.min(7))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_nothing_can_be_accepted_the_longer_it_waits_up_to_a_bound() {
        let pauses: Vec<_> = [0, 1, 7, 8, u32::MAX].map(pause_after).map(|pause| pause.as_millis()).to_vec();
        assert_eq!(pauses, [10, 20, 1_280, 1_280, 1_280]);
    }
}
