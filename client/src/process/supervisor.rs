//! A process that stands between the client and a program, and leaves nothing of it behind.
//!
//! The supervisor is this same program, started again with a private first argument. It becomes the child subreaper of
//! all that the program starts, so `setsid`, double forks and empty environments do not escape it, and it watches its
//! parent through a pidfd, so that the death of any thread means nothing and the death of the process everything.
//!
//! - The parent dies: everything below is killed with SIGKILL, at once.
//! - The program ends: what it left behind may vanish by itself within `settle`; what remains is recorded, receives
//!   SIGTERM, and SIGKILL after `leftover_grace`. The supervisor then ends with the program's exit code, or 128 plus the
//!   number of the signal that ended it.
//! - SIGTERM, SIGINT or SIGHUP arrives: everything below receives SIGTERM, and SIGKILL after `term_grace`.
//!
//! It cannot help when it is itself killed with SIGKILL, or against processes of another user.

mod options;
mod report;
mod run;

use std::{
    ffi::OsStr,
    io,
    os::unix::process::CommandExt,
    process::{Command, ExitCode},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

pub use report::{LeftBehind, SupervisorReport, Trigger};

/// The first argument that makes the program a supervisor, and by which one is known in a list of processes.
pub const MARKER: &str = "__mcp-workbench-supervise";
/// The exit code of a supervisor whose program could not be started: that of a shell that does not find a command.
const NOT_STARTED: u8 = 127;

static AVAILABLE: AtomicBool = AtomicBool::new(false);

/// How a supervisor treats its program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Supervision {
    /// How long after SIGTERM the processes may live on.
    pub term_grace: Duration,
    /// How long after the program's end the processes that it started may take to vanish by themselves, before they
    /// count as left behind.
    pub settle: Duration,
    /// How long those left behind may live on after SIGTERM.
    pub leftover_grace: Duration,
    /// Where to write a [`SupervisorReport`] as JSON.
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
    /// A command that runs `program` under a supervisor, in a process group of its own. Arguments, environment, working
    /// directory and standard streams are set on it as usual: the program receives them. The caller must keep running
    /// while the program runs: its end is the program's end.
    ///
    /// # Errors
    /// If the host program has not called [`main_if_requested`].
    pub fn command(&self, program: impl AsRef<OsStr>) -> io::Result<Command> {
        self.command_with(program.as_ref(), None)
    }

    /// The same. At its end the supervisor also writes its report to standard error, on one line behind the nonce.
    pub(super) fn command_with(&self, program: &OsStr, nonce: Option<&str>) -> io::Result<Command> {
        if !is_available() {
            let reason = "`process::supervisor::main_if_requested` was not called by the host program";
            return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
        }
        // The link still leads to the running program where its file was replaced, by a new build for instance.
        let mut command = Command::new("/proc/self/exe");
        command.arg(MARKER).args(options::to_arguments(self, nonce, std::process::id())).arg("--").arg(program);
        command.process_group(0);
        Ok(command)
    }
}

/// Whether this program can start supervisors, because its `main` has called [`main_if_requested`].
#[must_use]
pub fn is_available() -> bool {
    AVAILABLE.load(Ordering::Relaxed)
}

/// Runs the supervisor if this process was started as one, and returns the exit code that `main` is to return. In every
/// other process it returns `None` at once, and from then on servers are started under supervision.
///
/// Call it first thing in `main`, before any thread is started and before the arguments are read.
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
