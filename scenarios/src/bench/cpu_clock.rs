//! CPU time of this process and its threads, from the system.

#[cfg(unix)]
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// CPU time of the calling thread.
#[cfg(unix)]
pub(super) fn thread() -> Duration {
    time_of(ClockId::ThreadCPUTime)
}

/// CPU time of this process.
#[cfg(unix)]
pub(super) fn process() -> Duration {
    time_of(ClockId::ProcessCPUTime)
}

#[cfg(unix)]
fn time_of(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or_default(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// CPU time of the calling thread.
#[cfg(not(unix))]
pub(super) fn thread() -> Duration {
    cpu_time::ThreadTime::now().as_duration()
}

/// CPU time of this process.
#[cfg(not(unix))]
pub(super) fn process() -> Duration {
    cpu_time::ProcessTime::now().as_duration()
}
