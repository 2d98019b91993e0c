//! Processes that a server starts and never reaps.

use std::{
    ffi::OsString,
    io::{self, BufRead, BufReader, Write},
    process::{Command, ExitCode, Stdio},
    thread,
    time::Duration,
};

use super::StdioError;
use crate::{script::ChildScript, system};

/// Maximum lifetime of a child.
const LIFETIME: Duration = Duration::from_secs(60);

/// Starts a child, and returns when it is ready: the child then closes its standard error, which is a pipe.
pub(super) fn spawn(script: &ChildScript, arguments: &[OsString]) -> Result<(), StdioError> {
    let json = serde_json::to_string(script).map_err(|cause| StdioError::Spawn(cause.into()))?;
    let executable = std::env::current_exe().map_err(StdioError::Spawn)?;
    let mut command = Command::new(executable);
    command.args(arguments).arg(json).stdin(Stdio::null()).stderr(Stdio::piped());
    command.stdout(if script.hold_stdout { Stdio::inherit() } else { Stdio::null() });
    if script.clear_env {
        command.env_clear();
    }
    // The child is not reaped on purpose: that is the fault.
    let mut child = command.spawn().map_err(StdioError::Spawn)?;
    let mut line = String::new();
    if let Some(stderr) = child.stderr.take() {
        BufReader::new(stderr).read_line(&mut line).map_err(StdioError::Spawn)?;
    }
    if line.trim_end() == READY { Ok(()) } else { Err(StdioError::ChildNotReady) }
}

const READY: &str = "ready";

/// Runs as such a child: applies its script, reports to the server on standard error, and sleeps.
///
/// # Errors
/// When it cannot do what its script says.
pub fn run_child(script: &ChildScript) -> io::Result<ExitCode> {
    if script.setsid {
        system::new_session()?;
    }
    if script.ignore_sigterm {
        system::ignore_sigterm()?;
    }
    let mut stderr = io::stderr();
    writeln!(stderr, "{READY}")?;
    stderr.flush()?;
    thread::sleep(LIFETIME);
    Ok(ExitCode::SUCCESS)
}
