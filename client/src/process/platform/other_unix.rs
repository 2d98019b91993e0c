//! macOS and other Unix systems without a child subreaper: process groups and parent ids.

use std::{collections::HashSet, io, time::Duration};

use rustix::process::{Pid, getpgid, getpid, getppid};

use super::{
    Coverage, ProcessEntry, Reaped,
    list::{all_processes, while_true},
    posix::{self, Tree, Watch},
    watch_parent,
};

/// The longest time between two looks at a tree. The system does not notify about orphans.
pub(in crate::process) const RECHECK_INTERVAL: Duration = Duration::from_millis(20);

/// The interval at which a supervisor compares the id of its parent.
const PARENT_INTERVAL: Duration = Duration::from_millis(50);

/// What supervision covers.
pub(in crate::process) fn coverage() -> Coverage {
    Coverage::Partial {
        covered: "a server is stopped with its process group and the descendants of its members",
        missing: "a process that left the group of a server is not stopped if its parent has exited",
    }
}

/// Prepares this process for the supervision of a program.
///
/// # Errors
/// If the parent has exited, or the system refuses.
pub(in crate::process) fn supervise(parent: i32) -> io::Result<(Tree, Watch)> {
    let parent = posix::pid(parent)?;
    let is_alive = move || getppid() == Some(parent);
    if !is_alive() {
        return Err(io::Error::other("the parent process has exited"));
    }
    Ok((Tree::default(), Watch::new(watch_parent(while_true(PARENT_INTERVAL, is_alive))?)?))
}

/// The processes below this supervisor, and those in the group of the program with their descendants.
impl Tree {
    /// Reaps the program after its exit, and looks for the processes that it left.
    pub(in crate::process) fn reap(&mut self) -> Reaped {
        let reaped = self.reap_children();
        Reaped { empty: reaped.empty && self.alive().is_empty(), ..reaped }
    }

    /// The living processes.
    pub(in crate::process) fn alive(&self) -> Vec<ProcessEntry> {
        let mut others: Vec<ProcessEntry> = all_processes().filter(|process| !process.zombie).collect();
        let own = getpid().as_raw_nonzero().get();
        others.retain(|process| process.pid != own);
        let in_group = |process: &ProcessEntry| {
            self.program.is_some() && Pid::from_raw(process.pid).and_then(|pid| getpgid(Some(pid)).ok()) == self.program
        };
        let mut parents = HashSet::from([own]);
        let mut found: Vec<ProcessEntry> = Vec::new();
        // A process may precede its parent in the list, so it is searched until nothing is found.
        loop {
            let (new, rest): (Vec<_>, Vec<_>) =
                others.into_iter().partition(|process| parents.contains(&process.ppid) || in_group(process));
            others = rest;
            if new.is_empty() {
                return found;
            }
            parents.extend(new.iter().map(|process| process.pid));
            found.extend(new);
        }
    }
}
