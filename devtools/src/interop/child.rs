//! Child programs with a timeout, and their output in files.
//!
//! Each runs under a supervisor, which stops its whole process tree when the program exits, times out, or this program exits.

use std::{
    ffi::OsStr,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, bail};
use client::process::supervisor::Supervision;
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Child;

/// Grace period of a supervisor and its process tree; the supervisor kills the tree after 2 s.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// A program under a supervisor. Dropping it stops the program and all its descendants.
#[derive(Debug)]
pub(super) struct Supervised {
    pub(super) child: Child,
}

impl Supervised {
    /// Starts a command of [`command`].
    pub(super) fn start(command: Command) -> std::io::Result<Self> {
        Ok(Self { child: tokio::process::Command::from(command).spawn()? })
    }

    /// Stops the program and waits for its process tree.
    pub(super) async fn stop(&mut self) {
        self.terminate();
        // After a timeout, the drop sends the signal again.
        let _ = tokio::time::timeout(STOP_TIMEOUT, self.child.wait()).await;
    }

    fn terminate(&self) {
        let pid = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // The process id stays reserved until the process is waited for.
            let _ = kill_process(pid, Signal::TERM);
        }
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        self.terminate();
    }
}

/// A command that runs a program under a supervisor.
pub(super) fn command(program: impl AsRef<OsStr>) -> anyhow::Result<Command> {
    let mut command = Supervision::default().command(program).context("cannot start the supervisor")?;
    command.stdin(Stdio::null());
    Ok(command)
}

/// Files with the output of a program.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) stdout: PathBuf,
    pub(super) stderr: PathBuf,
}

impl Output {
    /// `<name>.out` and `<name>.err` in a directory.
    pub(super) fn in_directory(directory: &Path, name: &str) -> Self {
        Self { stdout: directory.join(format!("{name}.out")), stderr: directory.join(format!("{name}.err")) }
    }

    /// The last lines of stderr, or of stdout if stderr is empty.
    pub(super) fn last_lines(&self) -> String {
        let last = |path: &Path| {
            let text = fs::read(path).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
            lines[lines.len().saturating_sub(5)..].join(" | ")
        };
        let stderr = last(&self.stderr);
        if stderr.is_empty() { last(&self.stdout) } else { stderr }
    }
}

/// Runs a command and returns its exit code.
///
/// # Errors
/// If it cannot be started, is terminated by a signal, or exceeds the limit, which stops its process tree.
pub(super) async fn run(mut command: Command, output: &Output, limit: Duration) -> anyhow::Result<i32> {
    let file = |path: &Path| File::create(path).with_context(|| format!("cannot write {}", path.display()));
    command.stdout(file(&output.stdout)?).stderr(file(&output.stderr)?);
    let mut supervised = Supervised::start(command).context("cannot start a program")?;
    match tokio::time::timeout(limit, supervised.child.wait()).await {
        Ok(status) => match status?.code() {
            Some(code) => Ok(code),
            None => bail!("terminated by a signal: {}", output.last_lines()),
        },
        Err(_) => {
            supervised.stop().await;
            bail!("timed out after {} s: {}", limit.as_secs(), output.last_lines());
        }
    }
}
