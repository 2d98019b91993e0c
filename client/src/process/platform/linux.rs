//! Linux: `/proc`, pidfds and the child subreaper.
//!
//! A child subreaper inherits all orphaned descendants, so following the parent ids finds them all, regardless of
//! session, group and environment.

use std::{fs, io, path::PathBuf, time::Duration};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, getpid, getppid, pidfd_open, pidfd_send_signal, set_child_subreaper};

use super::{
    Coverage, MainThread, ProcessEntry, Reaped, ResourceUsage, Stop, descendants,
    posix::{self, Tree, Watch},
    watch_parent,
};

/// Length of a tick of CPU times: `USER_HZ` is 100 on every architecture that this program is built for (proc_pid_stat(5)).
const TICK: Duration = Duration::from_millis(10);

/// The longest time between two looks at a tree: none, as the exit of each process is an event.
pub(in crate::process) const RECHECK_INTERVAL: Duration = Duration::MAX;

/// The file of this program. This link remains valid if the file is replaced, for example by a new build.
pub(in crate::process) fn own_program() -> io::Result<PathBuf> {
    Ok(PathBuf::from("/proc/self/exe"))
}

/// Tries what supervision needs.
pub(in crate::process) fn coverage() -> Coverage {
    let children = fs::read_to_string(format!("/proc/self/task/{}/children", getpid().as_raw_nonzero()));
    match (pidfd_open(getpid(), PidfdFlags::empty()), children) {
        (Ok(_), Ok(_)) => Coverage::Complete("pidfds and /proc work"),
        (Err(error), _) => Coverage::Unavailable(format!("no pidfd can be opened: {error}")),
        (_, Err(error)) => Coverage::Unavailable(format!("/proc has no list of children: {error}")),
    }
}

/// A process, if its id is in use.
pub(in crate::process) fn process(pid: i32) -> Option<ProcessEntry> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse(pid, &stat)
}

/// All processes of the system.
pub(in crate::process) fn all_processes() -> impl Iterator<Item = ProcessEntry> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter_map(process)
}

/// The fields after the name. It is in parentheses and may contain some, so fields are counted from the last one
/// (proc_pid_stat(5)).
fn fields(stat: &[u8]) -> Option<Vec<&str>> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    Some(std::str::from_utf8(&stat[end + 1..]).ok()?.split_ascii_whitespace().collect())
}

fn parse(pid: i32, stat: &[u8]) -> Option<ProcessEntry> {
    let fields = fields(stat)?;
    Some(ProcessEntry {
        pid,
        ppid: fields.get(1)?.parse().ok()?,
        zombie: matches!(*fields.first()?, "Z" | "X"),
        started: fields.get(19)?.parse().ok()?,
    })
}

pub(super) fn argv(pid: i32) -> Vec<String> {
    let raw = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let argv: Vec<String> = raw
        .split(|byte| *byte == 0)
        .map(|part| String::from_utf8_lossy(part).into_owned())
        .filter(|part| !part.is_empty())
        .take(64)
        .collect();
    if argv.is_empty() {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        return vec![format!("[{}]", name.trim_end())];
    }
    argv
}

pub(super) fn resident_kb(pid: i32) -> u64 {
    parse_memory_kb(&status(pid), "VmRSS:").unwrap_or_default()
}

/// The status of a process (proc_pid_status(5)); empty if it has exited.
fn status(pid: i32) -> String {
    fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default()
}

pub(super) fn usage(pid: i32) -> Option<ResourceUsage> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let (own_cpu, cpu, threads) = parse_times(&stat)?;
    let open = fs::read_dir(format!("/proc/{pid}/fd")).ok();
    let fds = open.map(|entries| entries.count() as u64);
    let status = status(pid);
    let [resident_kb, peak_kb] = ["VmRSS:", "VmHWM:"].map(|name| parse_memory_kb(&status, name).unwrap_or_default());
    Some(ResourceUsage { processes: 1, resident_kb, peak_kb, cpu, own_cpu, fds, threads })
}

/// The state is a field of proc_pid_stat(5), the times are those of proc_pid_schedstat(5), in nanoseconds.
pub(super) fn main_thread(pid: i32) -> Option<MainThread> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let is_runnable = *fields(&stat)?.first()? == "R";
    let times = fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
    let mut times = times.split_ascii_whitespace().map_while(|time| time.parse().ok()).map(Duration::from_nanos);
    let (ran, waited) = (times.next()?, times.next()?);
    Some(MainThread { is_runnable, runnable: ran + waited, ran })
}

pub(super) fn stop(entry: &ProcessEntry, stop: Stop) -> io::Result<()> {
    let opened = Pid::from_raw(entry.pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    if let Some(fd) = opened
        && process(entry.pid).is_some_and(|now| now.started == entry.started)
    {
        // The process may have exited, or belong to another user.
        let _ = pidfd_send_signal(&fd, posix::signal_of(stop));
    }
    Ok(())
}

fn parse_memory_kb(status: &str, name: &str) -> Option<u64> {
    let memory = status.lines().find_map(|line| line.strip_prefix(name))?;
    memory.split_whitespace().next()?.parse().ok()
}

/// CPU time without and with that of children, and number of threads.
fn parse_times(stat: &[u8]) -> Option<(Duration, Duration, u64)> {
    let fields: Vec<u64> = fields(stat)?.into_iter().map(|field| field.parse().unwrap_or_default()).collect();
    let time = |ticks: &[u64]| TICK * u32::try_from(ticks.iter().sum::<u64>()).unwrap_or(u32::MAX);
    // utime, stime, cutime and cstime.
    Some((time(fields.get(11..13)?), time(fields.get(11..15)?), *fields.get(17)?))
}

/// Prepares this process for the supervision of a program.
///
/// # Errors
/// If the parent has exited, or the system refuses.
pub(in crate::process) fn supervise(parent: i32) -> io::Result<(Tree, Watch)> {
    set_child_subreaper(Some(getpid()))?;
    let parent = posix::pid(parent)?;
    let process = pidfd_open(parent, PidfdFlags::empty())?;
    // If the parent died before the pidfd was opened, this process has another parent and the id may have been reused.
    if getppid() != Some(parent) {
        return Err(io::Error::other("the parent process has exited"));
    }
    // A pidfd becomes readable when its process has exited (pidfd_open(2)).
    let exit = move || {
        let mut events = [PollFd::new(&process, PollFlags::IN)];
        while let Err(Errno::INTR) = poll(&mut events, None) {}
    };
    Ok((Tree::default(), Watch::new(watch_parent(exit)?)?))
}

impl Tree {
    /// Reaps all exited children, including adopted ones.
    ///
    /// Without children there are no descendants: this process adopts those whose parent has exited.
    pub(in crate::process) fn reap(&mut self) -> Reaped {
        self.reap_children()
    }

    /// The living processes.
    pub(in crate::process) fn alive(&self) -> Vec<ProcessEntry> {
        descendants(getpid().as_raw_nonzero().get())
    }
}

#[cfg(test)]
mod tests {
    use std::{process::Command, time::Instant};

    use super::*;

    #[test]
    fn reads_a_process_whose_name_is_hostile() {
        let mut stat = b"7 (a) S 1 b)) R 42 43 44".to_vec();
        stat.extend(b" 0".repeat(15));
        stat.extend(b" 99 1 2");
        let entry = parse(7, &stat).unwrap();
        assert_eq!(entry, ProcessEntry { pid: 7, ppid: 42, zombie: false, started: 99 });
        assert_eq!(parse(7, b"7 (x"), None);
    }

    #[test]
    fn measures_the_memory_of_a_process() {
        let own = process(i32::try_from(std::process::id()).unwrap()).unwrap();
        assert!(own.resident_kb() > 100, "{own:?}");
    }

    #[test]
    fn tells_a_thread_that_works_from_one_that_waits() {
        let limit = Instant::now() + Duration::from_secs(20);
        // Waits until the main thread of a program is as expected since its start.
        let see = |program: &mut Command, is_expected: &dyn Fn(MainThread, MainThread) -> bool| {
            let mut child = program.spawn().unwrap();
            let thread = || process(i32::try_from(child.id()).unwrap()).unwrap().main_thread().unwrap();
            let first = thread();
            while !is_expected(first, thread()) {
                assert!(Instant::now() < limit, "{first:?}, {:?}", thread());
            }
            child.kill().unwrap();
            child.wait().unwrap();
        };
        see(Command::new("sh").args(["-c", "ulimit -t 60; while :; do :; done"]), &|first, now| {
            now.is_runnable && now.runnable > first.runnable
        });
        see(Command::new("sleep").arg("60"), &|_, now| !now.is_runnable);
    }

    #[test]
    fn sums_the_resources_of_processes() {
        let stat = b"7 (a) b) S 1 7 7 0 -1 0 1 2 3 4 150 50 20 30 20 0 9 0 99 1000 25 0".to_vec();
        assert_eq!(parse_times(&stat), Some((Duration::from_millis(2_000), Duration::from_millis(2_500), 9)));
        assert_eq!(parse_times(b"7 (a) S 1 2 3"), None);
        assert_eq!(parse_memory_kb("Name:\tx\nVmRSS:\t   1024 kB\n", "VmRSS:"), Some(1_024));
        assert_eq!(parse_memory_kb("VmSize: 3 kB", "VmRSS:"), None);
        let own = process(i32::try_from(std::process::id()).unwrap()).unwrap().usage().unwrap();
        assert!(own.peak_kb >= own.resident_kb, "{own:?}");
        assert!(own.threads >= 1 && own.fds.is_some_and(|fds| fds >= 3), "{own:?}");
        let foreign = ResourceUsage { fds: None, ..own };
        assert_eq!((own.plus(own).threads, own.plus(foreign).fds), (2 * own.threads, None));
    }
}
