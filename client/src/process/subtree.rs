//! The descendants of a process, found through parent ids.
//!
//! On Linux these are all descendants of a child subreaper: it inherits those whose parent has exited. On other systems
//! such orphans are missing; [`platform`](super::platform) describes what a supervisor does about them.

use super::platform;
pub use super::platform::{MainThread, ProcessEntry, ResourceUsage, descendants};

/// A living process.
#[must_use]
pub fn process(pid: i32) -> Option<ProcessEntry> {
    platform::process(pid).filter(|entry| !entry.zombie)
}

#[cfg(test)]
mod tests {
    use super::{super::Stop, *};

    #[test]
    fn finds_a_child_of_this_process() {
        let own = i32::try_from(std::process::id()).unwrap();
        let mut child = std::process::Command::new("sleep").arg("30").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let found = descendants(own).into_iter().find(|entry| entry.pid == pid).unwrap();
        found.stop(Stop::Kill).unwrap();
        child.wait().unwrap();
        assert!(descendants(own).iter().all(|entry| entry.pid != pid));
    }
}
