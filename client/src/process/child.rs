//! One child process: the supervisor of a server, or the server itself where there is no supervisor.
//!
//! Two plain threads serve it, one that reads standard error and one that waits for its end, so that nothing here needs
//! a runtime: a connection can be dropped after its runtime is gone.

use std::{
    io,
    os::{fd::OwnedFd, unix::process::CommandExt},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use tokio::sync::watch;

use super::{
    Closing, Ending, ExitInfo, environment, exit,
    stderr::StderrTail,
    supervisor::{self, Supervision, SupervisorReport, Trigger},
};
use crate::config::{Graces, StdioEndpoint};

/// How long to wait for a process that was killed, or that is about to say how it ended.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a supervisor may take, after its own graces, to end what it supervises.
const SLACK: Duration = Duration::from_millis(1_500);

/// How a child ended.
#[derive(Debug, Clone)]
pub(crate) enum Ended {
    /// It never started.
    NotStarted { os_error: Option<i32>, message: String },
    /// It ended.
    Exited { exit: ExitInfo, killed: bool, left_behind: Vec<Vec<String>> },
}

/// The ends of the pipes to a server.
#[derive(Debug)]
pub(crate) struct Pipes {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
}

/// A running, or ended, child.
#[derive(Debug)]
pub(crate) struct ChildProcess {
    /// Its id until it is reaped: afterwards the id may belong to someone else.
    pid: Arc<Mutex<Option<Pid>>>,
    ended: watch::Receiver<Option<Ended>>,
    stderr: StderrTail,
    supervised: bool,
    graces: Graces,
}

impl ChildProcess {
    /// Starts the program.
    ///
    /// # Errors
    /// If it cannot be started. Under a supervisor this shows later, as [`Ended::NotStarted`].
    pub(crate) fn spawn(endpoint: &StdioEndpoint, graces: Graces, stderr_lines: usize) -> io::Result<(Self, Pipes)> {
        let supervised = supervisor::is_available();
        let nonce = supervised.then(nonce);
        let mut command = if supervised {
            let supervision = Supervision { term_grace: graces.sigterm, ..Supervision::default() };
            supervision.command_with(endpoint.command.as_ref(), nonce.as_deref())?
        } else {
            let mut command = Command::new(&endpoint.command);
            command.process_group(0);
            command
        };
        prepare(&mut command, endpoint);
        let mut child = command.spawn()?;
        let missing = || io::Error::other("the child has no pipe");
        let pipes = Pipes {
            stdin: child.stdin.take().ok_or_else(missing)?.into(),
            stdout: child.stdout.take().ok_or_else(missing)?.into(),
        };
        let stderr = StderrTail::new(stderr_lines);
        let pid = Arc::new(Mutex::new(Some(Pid::from_child(&child))));
        exit::remember(&pid, supervised);
        let ended = watch_over(child, nonce, stderr.clone(), Arc::clone(&pid))?;
        Ok((Self { pid, ended, stderr, supervised, graces }, pipes))
    }

    /// The last lines of standard error.
    pub(crate) fn stderr(&self) -> Vec<String> {
        self.stderr.lines()
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&self) -> Option<Ended> {
        self.ended.borrow().clone()
    }

    /// Waits for its end, but no longer than `limit`.
    pub(crate) async fn wait(&self, limit: Duration) -> Option<Ended> {
        let mut ended = self.ended.clone();
        let found = tokio::time::timeout(limit, ended.wait_for(Option::is_some)).await;
        found.ok()?.ok()?.clone()
    }

    /// Ends it. Its standard input must have been closed before; `was_over` says whether it had ended even before that.
    pub(crate) async fn shut_down(&self, was_over: bool) -> Closing {
        let begun = Instant::now();
        let (ending, ended) = self.escalate(was_over).await;
        let took = begun.elapsed();
        match ended {
            Some(Ended::Exited { exit, killed, left_behind }) => {
                Closing { ending: if killed { Ending::Killed } else { ending }, exit: Some(exit), took, left_behind }
            }
            _ => Closing { ending, exit: None, took, left_behind: Vec::new() },
        }
    }

    async fn escalate(&self, was_over: bool) -> (Ending, Option<Ended>) {
        if let Some(ended) = self.ended().filter(|_| was_over) {
            return (Ending::AlreadyOver, Some(ended));
        }
        if let Some(ended) = self.wait(self.graces.stdin_close).await {
            return (Ending::StdinClosed, Some(ended));
        }
        self.signal(Signal::TERM);
        // A supervisor escalates by itself; only if it is stuck is it killed as well.
        let grace = if self.supervised { self.graces.sigterm + SLACK } else { self.graces.sigterm };
        if let Some(ended) = self.wait(grace).await {
            return (Ending::Terminated, Some(ended));
        }
        self.signal(Signal::KILL);
        match self.wait(PATIENCE).await {
            Some(ended) => (Ending::Killed, Some(ended)),
            None => (Ending::Unknown, None),
        }
    }

    /// Sends a signal to the supervisor, or to the group of a server without one.
    fn signal(&self, signal: Signal) {
        // The lock is held while the signal is sent: the id cannot be reaped and reused meanwhile.
        if let Some(pid) = *lock(&self.pid) {
            let result = if self.supervised { kill_process(pid, signal) } else { kill_process_group(pid, signal) };
            if let Err(error) = result {
                tracing::debug!(%error, ?signal, "signal not delivered");
            }
        }
    }
}

impl Drop for ChildProcess {
    /// Needs no runtime. A supervisor receives SIGTERM and does the rest by itself, with its own graces; without one there
    /// is nobody to escalate later, so the group is killed at once.
    fn drop(&mut self) {
        if self.ended().is_none() {
            self.signal(if self.supervised { Signal::TERM } else { Signal::KILL });
        }
    }
}

fn prepare(command: &mut Command, endpoint: &StdioEndpoint) {
    command.args(&endpoint.args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env_clear().envs(environment::of(endpoint));
    if let Some(cwd) = &endpoint.cwd {
        command.current_dir(cwd);
    }
}

/// Starts the two threads. The second ends after the child, and publishes how that ended.
fn watch_over(
    mut child: Child,
    nonce: Option<String>,
    tail: StderrTail,
    pid: Arc<Mutex<Option<Pid>>>,
) -> io::Result<watch::Receiver<Option<Ended>>> {
    let (publish, ended) = watch::channel(None);
    let stderr = child.stderr.take();
    let (words_out, words_in) = std::sync::mpsc::sync_channel(1);
    let spawned = std::thread::Builder::new().name("mcp-stderr".into()).spawn(move || {
        let words = stderr.and_then(|source| tail.drain(source, nonce.as_deref()));
        // Nobody listens any more once the child has been given up.
        let _ = words_out.send(words);
    });
    let spawned = spawned.and_then(|_| {
        std::thread::Builder::new().name("mcp-reaper".into()).spawn(move || {
            let exit = reap(&mut child, &pid);
            let words = words_in.recv_timeout(PATIENCE.min(Duration::from_secs(1))).ok().flatten();
            let report = words.and_then(|json| serde_json::from_str::<SupervisorReport>(&json).ok());
            publish.send_replace(Some(conclude(exit, report)));
        })
    });
    spawned.map(|_| ended)
}

fn reap(child: &mut Child, pid: &Mutex<Option<Pid>>) -> ExitInfo {
    // First wait without reaping, then reap under the lock: whoever holds the lock can trust the id.
    let id = *lock(pid);
    if let Some(id) = id {
        while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
        {
        }
    }
    let mut guard = lock(pid);
    *guard = None;
    let status = child.wait().ok();
    drop(guard);
    ExitInfo {
        code: status.and_then(|status| status.code()),
        signal: status.and_then(|status| std::os::unix::process::ExitStatusExt::signal(&status)),
    }
}

/// The supervisor's own words say more than its exit code, if it had the time to speak.
fn conclude(exit: ExitInfo, report: Option<SupervisorReport>) -> Ended {
    match report {
        Some(SupervisorReport { trigger: Trigger::NotStarted, os_error, start_error, .. }) => {
            Ended::NotStarted { os_error, message: start_error.unwrap_or_else(|| "unknown reason".into()) }
        }
        Some(report) => Ended::Exited {
            exit: report.exit,
            killed: report.killed,
            left_behind: report.left_behind.into_iter().map(|process| process.argv).collect(),
        },
        None => Ended::Exited { exit, killed: exit.signal == Some(Signal::KILL.as_raw()), left_behind: Vec::new() },
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Text that a server does not write by chance.
fn nonce() -> String {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let word = || RandomState::new().build_hasher().finish();
    format!("mcp-workbench-{:016x}{:016x}", word(), word())
}
