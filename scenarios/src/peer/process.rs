//! The process tree of a stdio server under a supervisor: start, observation and termination in stages.

use std::{collections::BTreeMap, io, process::Stdio, sync::Arc, time::Duration};

use client::process::{
    Stop,
    subtree::{ProcessEntry, descendants},
    supervisor::{Supervision, SupervisorReport, Trigger},
};
use tempfile::TempDir;
use tokio::{
    process::{ChildStderr, ChildStdin, ChildStdout},
    time::Instant,
};

use crate::{
    evidence::{ObservedProcess, ProcessEvidence},
    supervised::Supervised,
};

use super::{ServerCommand, transcript::TranscriptRecorder};

/// File name of the supervisor's report.
const REPORT: &str = "supervisor.json";
/// Grace period between closing the input and SIGTERM.
const INPUT_CLOSED: Duration = Duration::from_millis(700);
/// Grace period between SIGTERM and SIGKILL.
const TERMINATED: Duration = Duration::from_millis(400);
/// Maximum time that a process may outlive the server. One that reports usage takes a second or two.
const OUTLIVED: Duration = Duration::from_secs(5);
/// Grace period of left processes after SIGTERM.
const LEFT: Duration = Duration::from_millis(100);
/// Interval of observing processes.
const OBSERVE_INTERVAL: Duration = Duration::from_millis(15);
/// Minimum time between observations of a server in use. An observation reads all processes of the system.
const IN_USE_INTERVAL: Duration = Duration::from_millis(250);

/// A running server and the observed processes below it.
#[derive(Debug)]
pub(super) struct ServerProcess {
    supervised: Supervised,
    /// Contains the supervisor's report.
    folder: TempDir,
    recorder: Arc<TranscriptRecorder>,
    seen: BTreeMap<i32, ObservedProcess>,
    observed: Option<Instant>,
    evidence: ProcessEvidence,
}

/// The standard streams of a server.
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
    /// Errors of the operating system: no such file, no permission.
    pub(super) fn start(server: &ServerCommand, recorder: Arc<TranscriptRecorder>) -> io::Result<(Self, Streams)> {
        // The supervisor would report a missing program less clearly.
        which::which(&server.program).map_err(|cause| io::Error::new(io::ErrorKind::NotFound, cause))?;
        let folder = tempfile::Builder::new().prefix("mcp-workbench-").tempdir()?;
        let report = Some(folder.path().join(REPORT));
        let supervision = Supervision { term_grace: TERMINATED, settle: OUTLIVED, leftover_grace: LEFT, report };
        let mut command = supervision.command(&server.program)?;
        command.args(&server.args).envs(&server.env);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(directory) = &server.directory {
            command.current_dir(directory);
        }
        let mut supervised = Supervised::start(command)?;
        let child = &mut supervised.child;
        let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(io::Error::other("the streams of the process are missing"));
        };
        let (seen, evidence) = (BTreeMap::new(), ProcessEvidence::default());
        Ok((Self { supervised, folder, recorder, seen, observed: None, evidence }, Streams { stdin, stdout, stderr }))
    }

    /// Records the processes of a server in use, now and then.
    pub(super) fn observe_in_use(&mut self) {
        if self.observed.is_none_or(|observed| observed.elapsed() >= IN_USE_INTERVAL) {
            self.observe();
        }
    }

    /// Records and returns the processes below the supervisor.
    pub(super) fn observe(&mut self) -> Vec<ProcessEntry> {
        self.observed = Some(Instant::now());
        let living = descendants(self.supervised.pid);
        let now = self.recorder.now_us();
        for process in &living {
            let entry = self.seen.entry(process.pid).or_insert_with(|| ObservedProcess {
                pid: process.pid,
                parent: process.ppid,
                command: process.argv().join(" ").chars().take(200).collect(),
                server: true,
                first_us: now,
                last_us: now,
            });
            entry.last_us = now;
        }
        living
    }

    /// Sends SIGTERM to the server itself; its child processes and the supervisor get none.
    pub(super) fn terminate(&mut self) -> Result<(), String> {
        let living = self.observe();
        let server = self.server_pid();
        let process = living.iter().find(|process| Some(process.pid) == server);
        let process = process.ok_or_else(|| "the server has exited".to_owned())?;
        process.stop(Stop::Ask).map_err(|cause| cause.to_string())
    }

    /// The process id of the server: the oldest child of the supervisor, which adopts others later.
    fn server_pid(&self) -> Option<i32> {
        let children = self.seen.values().filter(|seen| seen.parent == self.supervised.pid);
        children.min_by_key(|seen| (seen.first_us, seen.pid)).map(|first| first.pid)
    }

    /// Waits for the server to exit; returns whether it did.
    pub(super) async fn wait(&mut self, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        loop {
            let living = self.observe();
            if self.ended(&living) {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            // The system does not notify about processes that are not children.
            tokio::time::sleep(OBSERVE_INTERVAL).await;
        }
    }

    /// The exit code of the server, if it is known.
    pub(super) fn code(&mut self) -> Option<i32> {
        self.evidence.code.or_else(|| self.supervised.child.try_wait().ok().flatten()?.code())
    }

    /// Whether the server itself has exited; its child processes may exist.
    fn ended(&mut self, living: &[ProcessEntry]) -> bool {
        if self.evidence.ended_us.is_none() {
            let server = self.server_pid();
            let gone = server.is_some_and(|server| living.iter().all(|process| process.pid != server));
            if gone || matches!(self.supervised.child.try_wait(), Ok(Some(_))) {
                self.evidence.ended_us = Some(self.recorder.now_us());
            }
        }
        self.evidence.ended_us.is_some()
    }

    /// Terminates the tree of a server with closed input: waits unless the server is busy, then sends SIGTERM, then SIGKILL.
    /// Returns also the number of frames before SIGTERM, if it was needed.
    pub(super) async fn end(mut self, busy: bool) -> (ProcessEvidence, Option<u64>) {
        let mut before_signal = None;
        if !busy && self.wait(INPUT_CLOSED).await {
            // The supervisor terminates left processes after their grace period.
            self.supervised.ended_within(OUTLIVED + LEFT + TERMINATED).await;
        } else {
            before_signal = Some(self.recorder.frame_count());
        }
        self.supervised.end(TERMINATED + TERMINATED).await;
        self.evidence.ended_us.get_or_insert(self.recorder.now_us());
        self.read_report();
        (self.evidence, before_signal)
    }

    fn read_report(&mut self) {
        let report = SupervisorReport::read(&self.folder.path().join(REPORT)).unwrap_or_default();
        (self.evidence.code, self.evidence.signal) = (report.exit.code, report.exit.signal);
        let now = self.recorder.now_us();
        let left = report.left_behind.iter().map(|left| ObservedProcess {
            pid: left.pid,
            parent: left.ppid,
            command: left.argv.join(" ").chars().take(200).collect(),
            server: true,
            first_us: now,
            last_us: now,
        });
        // Processes count as left only if the server exited by itself.
        self.evidence.left = left.filter(|_| report.trigger == Trigger::ProgramEnded).collect();
        if self.evidence.left.is_empty() {
            self.evidence.empty_us = Some(now);
        }
        self.evidence.seen = std::mem::take(&mut self.seen).into_values().collect();
    }
}
