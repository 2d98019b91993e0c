//! A child process: the supervisor of a server, or the server itself without supervision.
//!
//! Two threads read standard error and wait for the exit. No runtime is needed, so a connection can be dropped after
//! its runtime.

use std::{
    io,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::watch;

use super::{
    Closing, Ending, ExitInfo, environment,
    exit::{self, SharedPid},
    platform::{self, Stop},
    stderr::StderrTail,
    supervisor::{self, Supervision, SupervisorReport, Trigger},
};
use crate::config::{ShutdownGracePeriods, StdioEndpoint};

/// Timeout for the exit of a process after SIGKILL, and for the supervisor's report.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);
/// Additional time of a supervisor after its own grace periods.
const SLACK: Duration = Duration::from_millis(1_500);

/// The end of a child.
#[derive(Debug, Clone)]
pub(crate) enum Ended {
    /// It was not started.
    NotStarted { os_error: Option<i32>, message: String },
    /// It exited.
    Exited { exit: ExitInfo, killed: bool, left_behind: Vec<Vec<String>> },
}

/// The ends of the pipes to a server.
#[derive(Debug)]
pub(crate) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
}

/// A running, or ended, child.
#[derive(Debug)]
pub(crate) struct ChildProcess {
    /// Its id until it is reaped: afterwards the id may belong to someone else.
    pid: SharedPid,
    ended: watch::Receiver<Option<Ended>>,
    stderr: StderrTail,
    supervised: bool,
    graces: ShutdownGracePeriods,
}

impl ChildProcess {
    /// Starts the program.
    ///
    /// # Errors
    /// If it cannot be started. Under a supervisor this shows later, as [`Ended::NotStarted`].
    pub(crate) fn spawn(
        endpoint: &StdioEndpoint,
        graces: ShutdownGracePeriods,
        stderr_lines: usize,
    ) -> io::Result<(Self, Pipes)> {
        let supervised = supervisor::is_available();
        let nonce = supervised.then(nonce);
        let mut command = if supervised {
            let supervision = Supervision { term_grace: graces.sigterm, ..Supervision::default() };
            supervision.command_with(endpoint.command.as_ref(), nonce.as_deref())?
        } else {
            let mut command = Command::new(platform::program(endpoint.command.as_ref()));
            platform::own_group(&mut command);
            command
        };
        prepare(&mut command, endpoint);
        let mut child = command.spawn()?;
        let missing = || io::Error::other("the child has no pipe");
        let pipes =
            Pipes { stdin: child.stdin.take().ok_or_else(missing)?, stdout: child.stdout.take().ok_or_else(missing)? };
        let stderr = StderrTail::new(stderr_lines);
        let pid = Arc::new(Mutex::new(i32::try_from(child.id()).ok()));
        exit::remember(&pid, supervised);
        let ended = watch_over(child, nonce, stderr.clone(), Arc::clone(&pid))?;
        Ok((Self { pid, ended, stderr, supervised, graces }, pipes))
    }

    /// The last lines of standard error.
    pub(crate) fn stderr(&self) -> Vec<String> {
        self.stderr.lines()
    }

    /// Its process id, until it is reaped.
    pub(crate) fn pid(&self) -> Option<i32> {
        *lock(&self.pid)
    }

    /// How it ended, if it has exited.
    pub(crate) fn ended(&self) -> Option<Ended> {
        self.ended.borrow().clone()
    }

    /// Waits for the exit, up to `limit`.
    pub(crate) async fn wait(&self, limit: Duration) -> Option<Ended> {
        let mut ended = self.ended.clone();
        let found = tokio::time::timeout(limit, ended.wait_for(Option::is_some)).await;
        found.ok()?.ok()?.clone()
    }

    /// Stops it. Its standard input must be closed; `was_over` means that it had exited before that.
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
        // A supervisor can be asked on every system, and reports what it did.
        if self.supervised || platform::CAN_ASK {
            self.stop(Stop::Ask);
            // A supervisor escalates itself and is killed only if it hangs.
            let grace = if self.supervised { self.graces.sigterm + SLACK } else { self.graces.sigterm };
            if let Some(ended) = self.wait(grace).await {
                return (Ending::Terminated, Some(ended));
            }
        }
        self.stop(Stop::Kill);
        match self.wait(EXIT_TIMEOUT).await {
            Some(ended) => (Ending::Killed, Some(ended)),
            None => (Ending::Unknown, None),
        }
    }

    /// Stops the supervisor, or the process group without one.
    fn stop(&self, stop: Stop) {
        exit::stop(&self.pid, self.supervised, stop);
    }
}

impl Drop for ChildProcess {
    /// Needs no runtime. A supervisor is asked to stop and escalates after its own grace periods. Without one, nothing
    /// could escalate later, so the group is killed immediately.
    fn drop(&mut self) {
        if self.ended().is_none() {
            self.stop(if self.supervised { Stop::Ask } else { Stop::Kill });
        }
    }
}

fn prepare(command: &mut Command, endpoint: &StdioEndpoint) {
    command.args(&endpoint.args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env_clear().envs(environment::variables(endpoint));
    if let Some(cwd) = &endpoint.cwd {
        command.current_dir(cwd);
    }
}

/// Starts the two threads. The second one publishes the exit status.
fn watch_over(
    mut child: Child,
    nonce: Option<String>,
    tail: StderrTail,
    pid: SharedPid,
) -> io::Result<watch::Receiver<Option<Ended>>> {
    let (publish, ended) = watch::channel(None);
    let stderr = child.stderr.take();
    let (words_out, words_in) = std::sync::mpsc::sync_channel(1);
    let spawned = std::thread::Builder::new().name("mcp-stderr".into()).spawn(move || {
        let words = stderr.and_then(|source| tail.drain(source, nonce.as_deref()));
        // An error means that the child was dropped.
        let _ = words_out.send(words);
    });
    let spawned = spawned.and_then(|_| {
        std::thread::Builder::new().name("mcp-reaper".into()).spawn(move || {
            let exit = reap(&mut child, &pid);
            let words = words_in.recv_timeout(EXIT_TIMEOUT.min(Duration::from_secs(1))).ok().flatten();
            let report = words.and_then(|json| serde_json::from_str::<SupervisorReport>(&json).ok());
            publish.send_replace(Some(conclude(exit, report)));
        })
    });
    spawned.map(|_| ended)
}

fn reap(child: &mut Child, pid: &Mutex<Option<i32>>) -> ExitInfo {
    // Wait without reaping, then reap under the lock, so that the id is valid while the lock is held.
    platform::wait_for_exit(child);
    let mut guard = lock(pid);
    *guard = None;
    let status = child.wait().ok();
    drop(guard);
    status.map(platform::exit_info).unwrap_or_default()
}

/// The report of the supervisor is more precise than its exit code, if there is one.
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
        None => Ended::Exited { exit, killed: platform::was_killed(exit), left_behind: Vec::new() },
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A string that a server cannot guess.
fn nonce() -> String {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let word = || RandomState::new().build_hasher().finish();
    format!("mcp-workbench-{:016x}{:016x}", word(), word())
}
