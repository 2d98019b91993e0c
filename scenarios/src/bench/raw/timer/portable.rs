//! Other systems: the timeouts of polls, and the timer of tokio.

use std::{io, time::Duration};

use mio::{Registry, Token};
use tokio::time::{Instant, sleep_until};

/// A time that limits the wait of a poll.
#[derive(Debug)]
pub(in crate::bench::raw) struct Timer {
    at: Option<Instant>,
}

impl Timer {
    pub(in crate::bench::raw) fn new() -> io::Result<Self> {
        Ok(Self { at: None })
    }

    /// Sets the time, instead of an earlier one.
    pub(in crate::bench::raw) fn set(&mut self, at: Instant) -> io::Result<()> {
        self.at = Some(at);
        Ok(())
    }

    /// There is nothing to register, and so no event.
    pub(in crate::bench::raw) fn register(&self, _: &Registry, _: Token) -> io::Result<()> {
        Ok(())
    }

    /// How long a poll may wait: until the time that is set, and not longer than `wait`.
    pub(in crate::bench::raw) fn limit(&mut self, wait: Duration) -> Duration {
        let left = self.at.map(|at| at.saturating_duration_since(Instant::now()));
        match left {
            Some(Duration::ZERO) => {
                self.at = None;
                wait
            }
            Some(left) => left.min(wait),
            None => wait,
        }
    }

    /// Notes that the time was reached.
    pub(in crate::bench::raw) fn expired(&mut self) {
        self.at = None;
    }
}

/// The same for a task of a runtime.
#[derive(Debug)]
pub(in crate::bench::raw) struct AsyncTimer(Timer);

impl AsyncTimer {
    pub(in crate::bench::raw) fn new() -> io::Result<Self> {
        Timer::new().map(Self)
    }

    /// The time for which it is set.
    pub(in crate::bench::raw) fn at(&self) -> Option<Instant> {
        self.0.at
    }

    /// Sets the time, instead of an earlier one.
    pub(in crate::bench::raw) fn set(&mut self, at: Instant) -> io::Result<()> {
        self.0.set(at)
    }

    /// Notes that the time was reached.
    pub(in crate::bench::raw) fn expired(&mut self) {
        self.0.expired();
    }

    /// Waits until the time is reached. Dropping the future changes nothing.
    pub(in crate::bench::raw) async fn reached(&mut self) -> io::Result<()> {
        match self.0.at {
            Some(at) => sleep_until(at).await,
            None => std::future::pending().await,
        }
        self.expired();
        Ok(())
    }
}
