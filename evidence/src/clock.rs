//! The clock of recorded timestamps.

use rustix::time::{ClockId, clock_gettime};

/// Microseconds of `CLOCK_MONOTONIC`, which all processes of the machine share.
#[must_use]
pub fn now_us() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0) / 1_000
}
