//! Linux: a timer with a descriptor, which polls wait for (timerfd_create(2)).

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd, RawFd},
    time::Duration,
};

use mio::{Interest, Registry, Token, unix::SourceFd};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::{io::unix::AsyncFd, time::Instant};

/// A descriptor that becomes readable at a time.
#[derive(Debug)]
pub(in crate::bench::raw) struct Timer {
    fd: OwnedFd,
    /// The time for which it is set.
    at: Option<Instant>,
}

impl Timer {
    /// # Errors
    /// If the system has no descriptors.
    pub(in crate::bench::raw) fn new() -> io::Result<Self> {
        let fd = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        Ok(Self { fd, at: None })
    }

    /// The time for which it is set.
    pub(in crate::bench::raw) fn at(&self) -> Option<Instant> {
        self.at
    }

    /// Sets the time, instead of an earlier one.
    ///
    /// # Errors
    /// If the system rejects it.
    pub(in crate::bench::raw) fn set(&mut self, at: Instant) -> io::Result<()> {
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

    /// Registers it with a poll, which then reports events with this token.
    ///
    /// # Errors
    /// If the poll rejects it.
    pub(in crate::bench::raw) fn register(&self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(&mut SourceFd(&self.as_raw_fd()), token, Interest::READABLE)
    }

    /// How long a poll may wait: its own time, as the timer is an event.
    pub(in crate::bench::raw) fn limit(&mut self, wait: Duration) -> Duration {
        wait
    }

    /// Notes that the time was reached.
    pub(in crate::bench::raw) fn expired(&mut self) {
        self.at = None;
    }
}

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

/// The same for a task of a runtime.
#[derive(Debug)]
pub(in crate::bench::raw) struct AsyncTimer(AsyncFd<Timer>);

impl AsyncTimer {
    /// Registers it with the runtime of the current task.
    ///
    /// # Errors
    /// If the system has no descriptors.
    #[expect(deprecated, reason = "its replacement is unsafe code; the descriptor of a timer never changes")]
    pub(in crate::bench::raw) fn new() -> io::Result<Self> {
        AsyncFd::new(Timer::new()?).map(Self)
    }

    /// The time for which it is set.
    pub(in crate::bench::raw) fn at(&self) -> Option<Instant> {
        self.0.get_ref().at()
    }

    /// Sets the time, instead of an earlier one.
    ///
    /// # Errors
    /// If the system rejects it.
    pub(in crate::bench::raw) fn set(&mut self, at: Instant) -> io::Result<()> {
        self.0.get_mut().set(at)
    }

    /// Notes that the time was reached.
    pub(in crate::bench::raw) fn expired(&mut self) {
        self.0.get_mut().expired();
    }

    /// Waits until the time is reached. Dropping the future changes nothing.
    ///
    /// # Errors
    /// If the runtime ends.
    pub(in crate::bench::raw) async fn reached(&mut self) -> io::Result<()> {
        self.0.readable().await?.clear_ready();
        self.expired();
        Ok(())
    }
}
