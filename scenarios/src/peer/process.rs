//! The process of a stdio server, and everything below it: started in a group of its own, watched, ended in steps, and
//! never left behind. It knows nothing of the protocol.

use std::{collections::BTreeMap, io, process::Stdio, sync::Arc, time::Duration};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::{
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    time::Instant,
};

use crate::evidence::{ProcessEvidence, ProcessSeen};

use super::{ServerCommand, wire::Wire};

/// How long a server may take to end once its input is closed, before it is sent SIGTERM.
const INPUT_CLOSED: Duration = Duration::from_millis(700);
/// How long it may take after SIGTERM, before it is killed.
const TERMINATED: Duration = Duration::from_millis(400);
/// How long a process may outlive the server before it counts as left behind.
const OUTLIVED: Duration = Duration::from_millis(500);
/// How often the processes are looked at while something is waited for.
const LOOK: Duration = Duration::from_millis(15);

/// A running server and what has been seen below it.
#[derive(Debug)]
pub(super) struct ServerProcess {
    child: Child,
    group: Pid,
    wire: Arc<Wire>,
    seen: BTreeMap<(i32, u64), ProcessSeen>,
    evidence: ProcessEvidence,
}

/// The streams of a server that was just started.
#[derive(Debug)]
pub(super) struct Streams {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

impl ServerProcess {
    /// Starts the server.
    ///
    /// # Errors
    /// Whatever the system says: no such file, no permission.
    pub(super) fn start(server: &ServerCommand, wire: Arc<Wire>) -> io::Result<(Self, Streams)> {
        let mut command = Command::new(&server.program);
        command.args(&server.args).envs(&server.env).process_group(0).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(directory) = &server.directory {
            command.current_dir(directory);
        }
        let mut child = command.spawn()?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = streams else {
            return Err(io::Error::other("the streams of the process are missing"));
        };
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let group = group.ok_or_else(|| io::Error::other("the process has ended at once"))?;
        let evidence = ProcessEvidence::default();
        Ok((Self { child, group, wire, seen: BTreeMap::new(), evidence }, Streams { stdin, stdout, stderr }))
    }

    /// Looks at what lives below the server now.
    pub(super) fn look(&mut self) -> usize {
        let living = self.living();
        let now = self.wire.now_us();
        for process in &living {
            let entry = self.seen.entry((process.pid, process.started)).or_insert_with(|| ProcessSeen {
                pid: process.pid,
                parent: process.parent,
                command: process.command(),
                server: true,
                first_us: now,
                last_us: now,
            });
            entry.last_us = now;
        }
        self.evidence.most_at_once = self.evidence.most_at_once.max(living.len());
        living.len()
    }

    /// Waits for the server to end by itself, for so long at most.
    pub(super) async fn wait(&mut self, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        loop {
            self.look();
            if self.ended() {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            // Only the processes themselves can say that they are gone, so they are asked again and again.
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The exit code, if the server ended by itself and with one.
    pub(super) fn code(&self) -> Option<i32> {
        self.evidence.code
    }

    /// Whether the server has ended; notes how.
    pub(super) fn ended(&mut self) -> bool {
        if self.evidence.ended_us.is_some() {
            return true;
        }
        let Ok(Some(status)) = self.child.try_wait() else { return false };
        self.evidence.ended_us = Some(self.wire.now_us());
        self.evidence.code = status.code();
        self.evidence.signal = std::os::unix::process::ExitStatusExt::signal(&status);
        true
    }

    /// Ends the server, whose input is closed already: waits, then SIGTERM, then SIGKILL for the whole tree.
    pub(super) async fn end(mut self) -> ProcessEvidence {
        let by_itself = self.wait(INPUT_CLOSED).await;
        if !by_itself {
            let _ = kill_process_group(self.group, Signal::TERM);
            self.wait(TERMINATED).await;
        }
        if by_itself {
            self.wait_for_those_below().await;
            self.evidence.left = self.living().iter().filter_map(|process| self.seen_as(process)).collect();
        }
        self.kill_all().await;
        if self.evidence.left.is_empty() {
            self.evidence.empty_us = Some(self.wire.now_us());
        }
        self.evidence.seen = self.seen.into_values().collect();
        self.evidence
    }

    async fn wait_for_those_below(&mut self) {
        let deadline = Instant::now() + OUTLIVED;
        while self.look() > 0 && Instant::now() < deadline {
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn kill_all(&mut self) {
        let _ = kill_process_group(self.group, Signal::KILL);
        for process in self.living() {
            if let Some(pid) = Pid::from_raw(process.pid) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        if tokio::time::timeout(TERMINATED, self.child.wait()).await.is_ok() {
            self.ended();
        }
    }

    fn seen_as(&self, process: &Living) -> Option<ProcessSeen> {
        self.seen.get(&(process.pid, process.started)).cloned()
    }

    /// Every living process below the server: of its group, started by one of them, or seen before as one of them (a
    /// process that left the group and lost its parent is still ours).
    fn living(&self) -> Vec<Living> {
        let all = Living::all();
        let root = self.group.as_raw_nonzero().get();
        let mut ours: Vec<Living> = Vec::new();
        let mut grown = true;
        while grown {
            grown = false;
            for process in &all {
                let known = ours.iter().any(|other| other.pid == process.pid);
                let below = process.parent == root || ours.iter().any(|other| other.pid == process.parent);
                let seen = self.seen.contains_key(&(process.pid, process.started));
                if !known && process.pid != root && (process.group == root || below || seen) {
                    ours.push(process.clone());
                    grown = true;
                }
            }
        }
        ours
    }
}

/// A process as the system's process table shows it.
#[derive(Debug, Clone)]
struct Living {
    pid: i32,
    parent: i32,
    group: i32,
    /// When it began, in the system's ticks: it tells a process from a later one with the same id.
    started: u64,
}

impl Living {
    /// Every process of the system that has not ended. Empty where there is no `/proc`.
    fn all() -> Vec<Self> {
        let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
        entries.flatten().filter_map(|entry| Self::read(entry.file_name().to_str()?.parse().ok()?)).collect()
    }

    /// The process with this id, unless it is gone or only waits for its parent to notice that it is (proc(5), stat).
    fn read(pid: i32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = stat.get(stat.rfind(')')? + 1..)?.split_whitespace().collect();
        if matches!(*fields.first()?, "Z" | "X") {
            return None;
        }
        let number = |index: usize| fields.get(index)?.parse::<i32>().ok();
        Some(Self { pid, parent: number(1)?, group: number(2)?, started: fields.get(19)?.parse().ok()? })
    }

    fn command(&self) -> String {
        let bytes = std::fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).replace('\0', " ").trim().chars().take(200).collect()
    }
}
