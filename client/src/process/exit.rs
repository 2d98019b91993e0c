//! Ending every server at once, without a runtime: what a program does last.

use std::{
    sync::{Arc, LazyLock, Mutex, PoisonError, Weak},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// How often to look whether they are gone.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// The id of a child until it is reaped, shared with whoever reaps it.
pub(crate) type SharedPid = Arc<Mutex<Option<Pid>>>;

/// A child, and whether a supervisor.
type Entry = (Weak<Mutex<Option<Pid>>>, bool);

static CHILDREN: LazyLock<Mutex<Vec<Entry>>> = LazyLock::new(Mutex::default);

/// Remembers a child for as long as it lives.
pub(crate) fn remember(pid: &SharedPid, supervised: bool) {
    let mut children = CHILDREN.lock().unwrap_or_else(PoisonError::into_inner);
    children.retain(|(pid, _)| pid.strong_count() > 0);
    children.push((Arc::downgrade(pid), supervised));
}

/// Ends the processes of all servers of this program: they receive SIGTERM, and those that are left after `grace` are
/// killed. Returns how many could not be ended. For the end of a program: it blocks the thread, needs no runtime, and the
/// connections of these servers are lost.
///
/// A program that ends without calling it leaves nothing behind either, where it takes part in supervision; its servers
/// are killed at once then.
pub fn end_all(grace: Duration) -> usize {
    let children = CHILDREN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let children: Vec<_> = children.iter().filter_map(|(pid, own)| Some((pid.upgrade()?, *own))).collect();
    signal_all(&children, Signal::TERM);
    // A supervisor kills by itself, after a grace of its own; that is for its servers what this one is for it.
    if left(&children, grace) > 0 {
        signal_all(&children, Signal::KILL);
    }
    left(&children, grace.max(Duration::from_secs(1)))
}

fn signal_all(children: &[(SharedPid, bool)], signal: Signal) {
    for (pid, supervised) in children {
        // The lock is held while the signal is sent: the id cannot be reaped and reused meanwhile.
        if let Some(pid) = *pid.lock().unwrap_or_else(PoisonError::into_inner) {
            let sent = if *supervised { kill_process(pid, signal) } else { kill_process_group(pid, signal) };
            if let Err(error) = sent {
                tracing::debug!(%error, ?signal, "signal not delivered");
            }
        }
    }
}

/// How many are left when all are gone or the time is over.
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
