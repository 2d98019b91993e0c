//! Supervision of processes with the means of the system, behind one interface. All code that depends on the system is in
//! the modules below this one.
//!
//! | | Linux | macOS and other Unix systems | Windows |
//! | --- | --- | --- | --- |
//! | Descendants of a program | children of a child subreaper | process group and parent ids | job object |
//! | End of the parent | pidfd | comparison of parent ids | comparison of start times |
//! | Asking to stop | SIGTERM | SIGTERM | not possible, except for a supervisor |
//! | Killing | SIGKILL | SIGKILL | termination |
//!
//! What is missing:
//!
//! - macOS and other Unix systems: a descendant is not found if it left the process group and its parent has exited.
//! - Windows: no program can be asked to stop. It is terminated after the grace period of its closed standard input. The
//!   supervisor keeps the pipes of the program open, so that a program that closes its output seems to have it open until
//!   it exits.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod list;
#[cfg(all(unix, not(target_os = "linux")))]
mod other_unix;
#[cfg(unix)]
mod posix;
#[cfg(windows)]
mod windows;

use std::{collections::HashMap, io, time::Duration};

use tokio::sync::watch;

#[cfg(not(target_os = "linux"))]
pub(super) use std::env::current_exe as own_program;

#[cfg(target_os = "linux")]
use self::linux as entries;
#[cfg(target_os = "linux")]
pub(super) use self::linux::{RECHECK_INTERVAL, coverage, own_program, process, supervise};
#[cfg(not(target_os = "linux"))]
use self::list as entries;
#[cfg(not(target_os = "linux"))]
pub(super) use self::list::process;
#[cfg(all(unix, not(target_os = "linux")))]
pub(super) use self::other_unix::{RECHECK_INTERVAL, coverage, supervise};
#[cfg(unix)]
pub(crate) use self::posix::async_pipes;
#[cfg(unix)]
pub(super) use self::posix::{
    CAN_ASK, DEFAULT_VARIABLES, NOT_A_PROGRAM, Tree, Watch, exit_info, file_names, is_executable, own_group, path_of,
    program, release_streams, same_variable, stop_group, stop_supervisor, wait_for_exit, was_killed,
};
#[cfg(windows)]
pub(crate) use self::windows::async_pipes;
#[cfg(windows)]
pub(super) use self::windows::{
    CAN_ASK, DEFAULT_VARIABLES, NOT_A_PROGRAM, RECHECK_INTERVAL, Tree, Watch, coverage, exit_info, file_names,
    is_executable, own_group, path_of, program, release_streams, same_variable, stop_group, stop_supervisor, supervise,
    wait_for_exit, was_killed,
};
use super::ExitInfo;

/// How a process is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It may finish its work: SIGTERM. Windows has nothing like it.
    Ask,
    /// At once: SIGKILL, or termination.
    Kill,
}

/// What the supervision of processes covers on this system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Coverage {
    /// All descendants of a program. The text names the means.
    Complete(&'static str),
    /// Not all of them, or not in the usual way.
    Partial {
        /// What is covered.
        covered: &'static str,
        /// What is missing.
        missing: &'static str,
    },
    /// The system does not allow what supervision needs. The text is the reason.
    Unavailable(String),
}

/// Resources of one or more processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceUsage {
    /// Number of processes.
    pub processes: u64,
    /// Memory in use, in KiB.
    pub resident_kb: u64,
    /// The most memory that one process has had in use, in KiB.
    pub peak_kb: u64,
    /// CPU time since the start, with that of children that exited.
    pub cpu: Duration,
    /// CPU time since the start, without that of children.
    pub own_cpu: Duration,
    /// Open file descriptors; `None` if one of the processes belongs to another user.
    pub fds: Option<u64>,
    /// Threads.
    pub threads: u64,
}

impl ResourceUsage {
    /// The sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            processes: self.processes + other.processes,
            resident_kb: self.resident_kb + other.resident_kb,
            peak_kb: self.peak_kb.max(other.peak_kb),
            cpu: self.cpu + other.cpu,
            own_cpu: self.own_cpu + other.own_cpu,
            fds: self.fds.zip(other.fds).map(|(one, other)| one + other),
            threads: self.threads + other.threads,
        }
    }
}

/// What the main thread of a process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MainThread {
    /// Whether it runs or waits for a processor.
    pub is_runnable: bool,
    /// How long it ran or waited for a processor since its start.
    pub runnable: Duration,
    /// How long it ran since its start.
    pub ran: Duration,
}

/// A process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessEntry {
    /// Process id.
    pub pid: i32,
    /// Process id of the parent.
    pub ppid: i32,
    /// Whether it has exited and was not reaped.
    pub zombie: bool,
    /// Start time, which distinguishes it from a later process with the same id: in ticks since boot on Linux, otherwise in
    /// seconds since 1970.
    started: u64,
}

impl ProcessEntry {
    /// Its command line, or its name in brackets.
    #[must_use]
    pub fn argv(&self) -> Vec<String> {
        entries::argv(self.pid)
    }

    /// Its memory in use in KiB, 0 if it has exited.
    #[must_use]
    pub fn resident_kb(&self) -> u64 {
        entries::resident_kb(self.pid)
    }

    /// Its resources; `None` if it has exited, and on systems other than Linux.
    #[must_use]
    pub fn usage(&self) -> Option<ResourceUsage> {
        entries::usage(self.pid)
    }

    /// What its main thread does; `None` if it has exited, and on systems other than Linux.
    #[must_use]
    pub fn main_thread(&self) -> Option<MainThread> {
        entries::main_thread(self.pid)
    }

    /// Stops it, unless its id was reused. A process that has exited, or belongs to another user, is ignored.
    ///
    /// # Errors
    /// If the system cannot stop processes in this way: [`Stop::Ask`] on Windows.
    pub fn stop(&self, stop: Stop) -> io::Result<()> {
        entries::stop(self, stop)
    }
}

/// An event for a supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wake {
    /// The parent process has exited.
    ParentDied,
    /// The supervisor was asked to stop.
    Stop,
    /// A process may have exited.
    Look,
}

/// The state of a supervised tree of processes after exited ones were reaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reaped {
    /// The exit status of the program, if it was reaped now.
    pub(super) program: Option<ExitInfo>,
    /// Whether there are no other processes.
    pub(super) empty: bool,
}

/// Waits on a thread, with a function that returns when the parent process has exited.
fn watch_parent(wait: impl FnOnce() + Send + 'static) -> io::Result<watch::Receiver<bool>> {
    let (sender, died) = watch::channel(false);
    std::thread::Builder::new().name("parent-watch".into()).spawn(move || {
        wait();
        sender.send_replace(true);
    })?;
    Ok(died)
}

/// All living descendants of `root`, nearest first.
#[must_use]
pub fn descendants(root: i32) -> Vec<ProcessEntry> {
    let mut children: HashMap<i32, Vec<ProcessEntry>> = HashMap::new();
    for entry in entries::all_processes() {
        children.entry(entry.ppid).or_default().push(entry);
    }
    let mut found = Vec::new();
    let mut queue = vec![root];
    while let Some(parent) = queue.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            queue.push(child.pid);
            if !child.zombie {
                found.push(child);
            }
        }
    }
    found
}
