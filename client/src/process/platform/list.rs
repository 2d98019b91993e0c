//! The list of processes on systems without `/proc`, from the crate `sysinfo`.

use std::{io, time::Duration};

use sysinfo::{Pid, Process, ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, System, UpdateKind};

use super::{MainThread, ProcessEntry, ResourceUsage, Stop};

fn read(processes: ProcessesToUpdate<'_>, kind: ProcessRefreshKind) -> System {
    let mut system = System::new();
    system.refresh_processes_specifics(processes, true, kind);
    system
}

/// What `choose` takes from a process; `None` if its id is not in use.
fn with_process<T>(pid: i32, kind: ProcessRefreshKind, choose: impl FnOnce(&Process) -> T) -> Option<T> {
    let pid = Pid::from_u32(u32::try_from(pid).ok()?);
    read(ProcessesToUpdate::Some(&[pid]), kind).process(pid).map(choose)
}

fn number(pid: Pid) -> Option<i32> {
    i32::try_from(pid.as_u32()).ok()
}

fn entry(process: &Process) -> Option<ProcessEntry> {
    Some(ProcessEntry {
        pid: number(process.pid())?,
        ppid: process.parent().and_then(number).unwrap_or_default(),
        zombie: matches!(process.status(), ProcessStatus::Zombie | ProcessStatus::Dead),
        started: process.start_time(),
    })
}

/// A process, if its id is in use.
pub(in crate::process) fn process(pid: i32) -> Option<ProcessEntry> {
    with_process(pid, ProcessRefreshKind::nothing(), entry).flatten()
}

/// All processes of the system.
pub(in crate::process) fn all_processes() -> impl Iterator<Item = ProcessEntry> {
    let system = read(ProcessesToUpdate::All, ProcessRefreshKind::nothing());
    let entries: Vec<_> = system.processes().values().filter_map(entry).collect();
    entries.into_iter()
}

pub(super) fn argv(pid: i32) -> Vec<String> {
    let kind = ProcessRefreshKind::nothing().with_cmd(UpdateKind::Always);
    let argv = with_process(pid, kind, |process| {
        let words = process.cmd().iter().map(|word| word.to_string_lossy().into_owned());
        let argv: Vec<String> = words.filter(|word| !word.is_empty()).take(64).collect();
        if argv.is_empty() { vec![format!("[{}]", process.name().to_string_lossy())] } else { argv }
    });
    argv.unwrap_or_else(|| vec!["[]".to_owned()])
}

pub(super) fn resident_kb(pid: i32) -> u64 {
    let kind = ProcessRefreshKind::nothing().with_memory();
    with_process(pid, kind, |process| process.memory() / 1_024).unwrap_or_default()
}

/// The crate has neither the CPU time of children that exited nor the number of threads.
pub(super) fn usage(_: i32) -> Option<ResourceUsage> {
    None
}

/// The crate does not know how long a thread waited for a processor.
pub(super) fn main_thread(_: i32) -> Option<MainThread> {
    None
}

#[cfg(unix)]
pub(super) fn stop(entry: &ProcessEntry, stop: Stop) -> io::Result<()> {
    // The id could be reused after this comparison: these systems have no pidfds.
    if process(entry.pid).is_some_and(|now| now.started == entry.started) {
        // The process may have exited, or belong to another user.
        let _ = super::posix::stop_supervisor(entry.pid, stop);
    }
    Ok(())
}

#[cfg(windows)]
pub(super) fn stop(entry: &ProcessEntry, stop: Stop) -> io::Result<()> {
    if stop == Stop::Ask {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "Windows cannot ask a process to stop"));
    }
    // The process may have exited, or belong to another user.
    let _ =
        with_process(entry.pid, ProcessRefreshKind::nothing(), |now| now.start_time() == entry.started && now.kill());
    Ok(())
}

/// Waits until a condition no longer holds, which is tested at an interval.
pub(super) fn while_true(interval: Duration, condition: impl Fn() -> bool) -> impl FnOnce() {
    move || {
        while condition() {
            std::thread::sleep(interval);
        }
    }
}
