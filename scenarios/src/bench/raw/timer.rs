//! A timer with a precision of microseconds. That of polls and of tokio is a millisecond, longer than most calls.

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd, RawFd},
    time::Duration,
};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::{io::unix::AsyncFd, time::Instant};

/// A descriptor that becomes readable at a time.
#[derive(Debug)]
pub(super) struct Timer {
    fd: OwnedFd,
    /// The time for which it is set.
    at: Option<Instant>,
}

impl Timer {
    /// # Errors
    /// If the system has no descriptors.
    pub(super) fn new() -> io::Result<Self> {
        let fd = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        Ok(Self { fd, at: None })
    }

    /// The time for which it is set.
    pub(super) fn at(&self) -> Option<Instant> {
        self.at
    }

    /// Sets the time, instead of an earlier one.
    ///
    /// # Errors
    /// If the system rejects it.
    pub(super) fn set(&mut self, at: Instant) -> io::Result<()> {
        if self.at == Some(at) {
            return Ok(());
        }
        self.at = Some(at);
        // Zero would disarm the timer.
        let wait = at.saturating_duration_since(Instant::now()).max(Duration::from_nanos(1));
        let it_value = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() };
        let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        timerfd_settime(&self.fd, TimerfdTimerFlags::empty(), &Itimerspec { it_interval, it_value })?;
        Ok(())
    }

    /// Registers it with the runtime of the current task.
    ///
    /// # Errors
    /// If the system has no descriptors.
    #[expect(deprecated, reason = "its replacement is unsafe code; the descriptor of a timer never changes")]
    pub(super) fn new_async() -> io::Result<AsyncFd<Self>> {
        AsyncFd::new(Self::new()?)
    }

    /// Notes that the time was reached.
    pub(super) fn expired(&mut self) {
        self.at = None;
    }
}

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}
