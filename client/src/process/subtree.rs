//! The descendants of a process, from `/proc`.
//!
//! A child subreaper inherits all orphaned descendants, so following the parent ids finds them all, regardless of
//! session, group and environment.

use std::{collections::HashMap, fs, time::Duration};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Length of a tick of CPU times: `USER_HZ` is 100 on every architecture that this program is built for (proc_pid_stat(5)).
const TICK: Duration = Duration::from_millis(10);

/// Resources of one or more processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceUsage {
    /// Number of processes.
    pub processes: u64,
    /// Memory in use, in KiB.
    pub resident_kb: u64,
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
            cpu: self.cpu + other.cpu,
            own_cpu: self.own_cpu + other.own_cpu,
            fds: self.fds.zip(other.fds).map(|(one, other)| one + other),
            threads: self.threads + other.threads,
        }
    }
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
    /// Start time in ticks since boot, which distinguishes it from a later process with the same id.
    started: u64,
}

impl ProcessEntry {
    fn read(pid: i32) -> Option<Self> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        Self::parse(pid, &stat)
    }

    /// The name in parentheses may contain parentheses, so fields are counted from the last one (proc_pid_stat(5)).
    fn parse(pid: i32, stat: &[u8]) -> Option<Self> {
        let end = stat.iter().rposition(|byte| *byte == b')')?;
        let text = std::str::from_utf8(&stat[end + 1..]).ok()?;
        let fields: Vec<_> = text.split_ascii_whitespace().collect();
        Some(Self {
            pid,
            ppid: fields.get(1)?.parse().ok()?,
            zombie: matches!(*fields.first()?, "Z" | "X"),
            started: fields.get(19)?.parse().ok()?,
        })
    }

    /// Its command line, or its name in brackets.
    #[must_use]
    pub fn argv(&self) -> Vec<String> {
        let raw = fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        let argv: Vec<String> = raw
            .split(|byte| *byte == 0)
            .map(|part| String::from_utf8_lossy(part).into_owned())
            .filter(|part| !part.is_empty())
            .take(64)
            .collect();
        if argv.is_empty() {
            let name = fs::read_to_string(format!("/proc/{}/comm", self.pid)).unwrap_or_default();
            return vec![format!("[{}]", name.trim_end())];
        }
        argv
    }

    /// Its memory in use in KiB, 0 if it has exited.
    #[must_use]
    pub fn resident_kb(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap_or_default();
        parse_resident_kb(&status).unwrap_or_default()
    }

    /// Its resources; `None` if it has exited.
    #[must_use]
    pub fn usage(&self) -> Option<ResourceUsage> {
        let stat = fs::read(format!("/proc/{}/stat", self.pid)).ok()?;
        let (own_cpu, cpu, threads) = parse_times(&stat)?;
        let open = fs::read_dir(format!("/proc/{}/fd", self.pid)).ok();
        let fds = open.map(|entries| entries.count() as u64);
        Some(ResourceUsage { processes: 1, resident_kb: self.resident_kb(), cpu, own_cpu, fds, threads })
    }

    /// Sends a signal, unless its id was reused.
    pub fn signal(&self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.pid) else { return };
        let Ok(fd) = pidfd_open(pid, PidfdFlags::empty()) else { return };
        if Self::read(self.pid).is_some_and(|now| now.started == self.started) {
            // The process may have exited, or belong to another user.
            let _ = pidfd_send_signal(&fd, signal);
        }
    }
}

fn parse_resident_kb(status: &str) -> Option<u64> {
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    resident.split_whitespace().next()?.parse().ok()
}

/// CPU time without and with that of children, and number of threads.
fn parse_times(stat: &[u8]) -> Option<(Duration, Duration, u64)> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let text = std::str::from_utf8(&stat[end + 1..]).ok()?;
    let fields: Vec<u64> = text.split_ascii_whitespace().map(|field| field.parse().unwrap_or_default()).collect();
    let time = |ticks: &[u64]| TICK * u32::try_from(ticks.iter().sum::<u64>()).unwrap_or(u32::MAX);
    // utime, stime, cutime and cstime.
    Some((time(fields.get(11..13)?), time(fields.get(11..15)?), *fields.get(17)?))
}

/// A living process.
#[must_use]
pub fn process(pid: i32) -> Option<ProcessEntry> {
    ProcessEntry::read(pid).filter(|entry| !entry.zombie)
}

/// All living descendants of `root`, nearest first.
#[must_use]
pub fn descendants(root: i32) -> Vec<ProcessEntry> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let mut children: HashMap<i32, Vec<ProcessEntry>> = HashMap::new();
    for pid in entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()) {
        if let Some(entry) = ProcessEntry::read(pid) {
            children.entry(entry.ppid).or_default().push(entry);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_process_whose_name_is_hostile() {
        let mut stat = b"7 (a) S 1 b)) R 42 43 44".to_vec();
        stat.extend(b" 0".repeat(15));
        stat.extend(b" 99 1 2");
        let entry = ProcessEntry::parse(7, &stat).unwrap();
        assert_eq!(entry, ProcessEntry { pid: 7, ppid: 42, zombie: false, started: 99 });
        assert_eq!(ProcessEntry::parse(7, b"7 (x"), None);
    }

    #[test]
    fn measures_the_memory_of_a_process() {
        let own = ProcessEntry::read(i32::try_from(std::process::id()).unwrap()).unwrap();
        assert!(own.resident_kb() > 100, "{own:?}");
    }

    #[test]
    fn sums_the_resources_of_processes() {
        let stat = b"7 (a) b) S 1 7 7 0 -1 0 1 2 3 4 150 50 20 30 20 0 9 0 99 1000 25 0".to_vec();
        assert_eq!(parse_times(&stat), Some((Duration::from_millis(2_000), Duration::from_millis(2_500), 9)));
        assert_eq!(parse_times(b"7 (a) S 1 2 3"), None);
        assert_eq!(parse_resident_kb("Name:\tx\nVmRSS:\t   1024 kB\n"), Some(1_024));
        assert_eq!(parse_resident_kb("VmSize: 3 kB"), None);
        let own = process(i32::try_from(std::process::id()).unwrap()).unwrap().usage().unwrap();
        assert!(own.threads >= 1 && own.fds.is_some_and(|fds| fds >= 3), "{own:?}");
        let foreign = ResourceUsage { fds: None, ..own };
        assert_eq!((own.plus(own).threads, own.plus(foreign).fds), (2 * own.threads, None));
    }

    #[test]
    fn finds_a_child_of_this_process() {
        let own = i32::try_from(std::process::id()).unwrap();
        let mut child = std::process::Command::new("sleep").arg("30").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let found = descendants(own).into_iter().find(|entry| entry.pid == pid).unwrap();
        found.signal(Signal::KILL);
        child.wait().unwrap();
        assert!(descendants(own).iter().all(|entry| entry.pid != pid));
    }
}
