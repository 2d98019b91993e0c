//! Stops all servers before a program exits, without a runtime.

use std::{
    sync::{Arc, LazyLock, Mutex, PoisonError, Weak},
    time::{Duration, Instant},
};

use super::platform::{self, Stop};

/// Polling interval.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// The id of a child until it is reaped, shared with the reaping thread.
pub(crate) type SharedPid = Arc<Mutex<Option<i32>>>;

/// A child, and whether it is a supervisor.
type Entry = (Weak<Mutex<Option<i32>>>, bool);

static CHILDREN: LazyLock<Mutex<Vec<Entry>>> = LazyLock::new(Mutex::default);

/// Registers a child until it is dropped.
pub(crate) fn remember(pid: &SharedPid, supervised: bool) {
    let mut children = CHILDREN.lock().unwrap_or_else(PoisonError::into_inner);
    children.retain(|(pid, _)| pid.strong_count() > 0);
    children.push((Arc::downgrade(pid), supervised));
}

/// Stops the processes of all servers of this program: they are asked to stop, and killed after `grace`. Returns the number of
/// survivors. It blocks the thread, needs no runtime, and ends all connections.
///
/// A program with supervision that exits without calling this leaves no processes either, but its servers are killed
/// immediately.
pub fn end_all(grace: Duration) -> usize {
    let children = CHILDREN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let children: Vec<_> = children.iter().filter_map(|(pid, own)| Some((pid.upgrade()?, *own))).collect();
    stop_all(&children, Stop::Ask);
    // A supervisor kills its processes after a grace period of its own.
    if left(&children, grace) > 0 {
        stop_all(&children, Stop::Kill);
    }
    left(&children, grace.max(Duration::from_secs(1)))
}

fn stop_all(children: &[(SharedPid, bool)], how: Stop) {
    for (pid, supervised) in children {
        stop(pid, *supervised, how);
    }
}

/// Stops a supervisor, or the process group of a child without one, unless it was reaped.
pub(crate) fn stop(pid: &SharedPid, supervised: bool, how: Stop) {
    // Holding the lock prevents that the id is reaped and reused.
    if let Some(pid) = *pid.lock().unwrap_or_else(PoisonError::into_inner) {
        let stopped = if supervised { platform::stop_supervisor(pid, how) } else { platform::stop_group(pid, how) };
        if let Err(error) = stopped {
            tracing::debug!(%error, ?how, "a process could not be stopped");
        }
    }
}

/// Number of remaining processes after all exited or the time elapsed.
fn left(children: &[(SharedPid, bool)], limit: Duration) -> usize {
    let begun = Instant::now();
    loop {
        let alive = |(pid, _): &&(SharedPid, bool)| pid.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        let left = children.iter().filter(alive).count();
        if left == 0 || begun.elapsed() >= limit {
            return left;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}
