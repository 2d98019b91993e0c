//! The clock of recorded timestamps.

/// Microseconds of `CLOCK_MONOTONIC`, which all processes of the machine share.
#[cfg(unix)]
#[must_use]
pub fn now_us() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0) / 1_000
}

/// Microseconds since 1970. It never goes back within a process; the timestamps of two processes differ if the clock of the
/// system was set between their starts.
#[cfg(not(unix))]
#[must_use]
pub fn now_us() -> u64 {
    use std::{
        sync::LazyLock,
        time::{Instant, SystemTime, UNIX_EPOCH},
    };

    static START: LazyLock<(Instant, SystemTime)> = LazyLock::new(|| (Instant::now(), SystemTime::now()));

    let (started, wall) = *START;
    let now = wall.duration_since(UNIX_EPOCH).unwrap_or_default() + started.elapsed();
    u64::try_from(now.as_micros()).unwrap_or(u64::MAX)
}
