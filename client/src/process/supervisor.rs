//! A process between the client and a program, which stops all descendants of the program.
//!
//! The supervisor is this program with a private first argument. On Linux it becomes the child subreaper of the program's
//! descendants, so that `setsid`, double forks and empty environments do not hide them. It watches its parent through
//! a pidfd, which reports the end of the process, not of a thread. Other systems have other means, which find less:
//! [`Coverage`](super::Coverage). "SIGTERM" and "SIGKILL" mean asking and killing with their means.
//!
//! - The parent dies: all descendants are killed with SIGKILL immediately.
//! - The program exits: descendants may exit within `settle`. The remaining ones are recorded and get SIGTERM, and
//!   SIGKILL after `leftover_grace`. The supervisor exits with the program's exit code, or 128 plus the number of its
//!   signal.
//! - SIGTERM, SIGINT or SIGHUP: all descendants get SIGTERM, and SIGKILL after `term_grace`.
//!
//! It cannot act after it was killed with SIGKILL, nor on processes of other users.

mod options;
mod report;
mod run;

use std::{
    ffi::OsStr,
    io,
    process::{Command, ExitCode},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use super::platform::{self, Stop};
pub use report::{LeftBehind, SupervisorReport, Trigger};

/// The first argument of a supervisor, which also identifies it in a list of processes.
pub const MARKER: &str = "__mcp-workbench-supervise";
/// The exit code if the program could not be started, as in a shell.
const NOT_STARTED: u8 = 127;

static AVAILABLE: AtomicBool = AtomicBool::new(false);

/// Settings of a supervisor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Supervision {
    /// Grace period after SIGTERM.
    pub term_grace: Duration,
    /// Time after the program's exit in which descendants may exit before they count as left behind.
    pub settle: Duration,
    /// Grace period after SIGTERM for processes that were left behind.
    pub leftover_grace: Duration,
    /// The file for a [`SupervisorReport`] as JSON.
    pub report: Option<std::path::PathBuf>,
}

impl Default for Supervision {
    fn default() -> Self {
        Self {
            term_grace: Duration::from_secs(2),
            settle: Duration::ZERO,
            leftover_grace: Duration::from_millis(500),
            report: None,
        }
    }
}

impl Supervision {
    /// A command that runs `program` under a supervisor, in its own process group. Arguments, environment, working
    /// directory and standard streams of the command apply to the program. The program is killed when the calling
    /// process exits.
    ///
    /// # Errors
    /// If the host program did not call [`main_if_requested`].
    pub fn command(&self, program: impl AsRef<OsStr>) -> io::Result<Command> {
        self.command_with(program.as_ref(), None)
    }

    /// The same, with a report on standard error, in one line after the nonce.
    pub(super) fn command_with(&self, program: &OsStr, nonce: Option<&str>) -> io::Result<Command> {
        if !is_available() {
            let reason = "`process::supervisor::main_if_requested` was not called by the host program";
            return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
        }
        let mut command = Command::new(platform::own_program()?);
        command.arg(MARKER).args(options::to_arguments(self, nonce, std::process::id())).arg("--").arg(program);
        platform::own_group(&mut command);
        Ok(command)
    }
}

/// Stops a supervisor and its processes: after [`Stop::Ask`] it asks them, and kills those that remain after its grace
/// period. After [`Stop::Kill`] it cannot act any more, so its processes are to be killed before.
///
/// # Errors
/// If the process has exited, or belongs to another user.
pub fn stop(pid: i32, stop: Stop) -> io::Result<()> {
    platform::stop_supervisor(pid, stop)
}

/// Whether [`main_if_requested`] was called, so that supervisors can be started.
#[must_use]
pub fn is_available() -> bool {
    AVAILABLE.load(Ordering::Relaxed)
}

/// Runs the supervisor if this process was started as one, and returns the exit code for `main`. Otherwise returns
/// `None`, and servers are started under supervision from then on.
///
/// Call it first in `main`, before threads are started and arguments are read.
#[must_use]
pub fn main_if_requested() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().as_deref() != Some(OsStr::new(MARKER)) {
        AVAILABLE.store(true, Ordering::Relaxed);
        return None;
    }
    Some(match options::from_arguments(arguments) {
        Ok(task) => ExitCode::from(run::run(task)),
        Err(_) => ExitCode::from(NOT_STARTED),
    })
}
