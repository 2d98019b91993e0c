//! What a client may cost: time, memory and descriptors.

use std::{io, time::Duration};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What a client may cost. The defaults are generous for people at a debugger and for slow machines, and still end what
/// would never end by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// How long the head of a request may take, from when it is waited for: so also how long a connection may be idle.
    pub head_time: Duration,
    /// How long the body of a request may take; a request whose body takes longer gets 408.
    pub body_time: Duration,
    /// How long the answers that are under way may take when the server is stopped. Those that would take longer are not
    /// waited for.
    pub stop_time: Duration,
    /// How many bytes a client may leave unread of what is said on a stream. One message more than that is kept, then
    /// the connection is dropped.
    pub unread_bytes: usize,
    /// How many sessions a server keeps. One more ends the session that was idle for longest, as a server may at any
    /// time (2025-11-25, transports, session management, 3).
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
    /// The same with this time for heads.
    #[must_use]
    pub fn with_head_time(self, head_time: Duration) -> Self {
        Self { head_time, ..self }
    }

    /// The same with this time for bodies.
    #[must_use]
    pub fn with_body_time(self, body_time: Duration) -> Self {
        Self { body_time, ..self }
    }

    /// The same with this time for the answers that are under way when the server is stopped.
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

/// Lets this process open as many files and connections as the system grants it, instead of the 1,024 that are usual.
/// Returns how many that are; none means any number.
///
/// # Errors
/// When the system refuses.
pub fn raise_descriptor_limit() -> io::Result<Option<u64>> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    }
    Ok(limit.maximum)
}

/// How long to wait before the next attempt to accept a connection, after so many in a row that failed: the reason may
/// be that no descriptor is left, and then the next attempt fails at once.
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
