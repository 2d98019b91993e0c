//! Programs that are run to their end, bounded, with their output kept in files.
//!
//! Each runs under a supervisor, so that its whole tree ends with it, with its limit, or with this program.

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

/// How long everything below a supervisor may take to end once it is told to; the supervisor itself kills after 2 s.
const ENDING: Duration = Duration::from_secs(5);

/// A program under a supervisor. Dropping it tells the supervisor to end it and all that it started.
#[derive(Debug)]
pub(super) struct Supervised {
    pub(super) child: Child,
}

impl Supervised {
    /// Starts a command that [`command`] has made.
    pub(super) fn start(command: Command) -> std::io::Result<Self> {
        Ok(Self { child: tokio::process::Command::from(command).spawn()? })
    }

    /// Ends it and waits until nothing is left, within bounds.
    pub(super) async fn end(&mut self) {
        self.terminate();
        // If even the supervisor does not end, the drop signals again; there is nothing more to be done from here.
        let _ = tokio::time::timeout(ENDING, self.child.wait()).await;
    }

    fn terminate(&self) {
        let pid = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // It may have ended in between; until it is waited for its number is still its own.
            let _ = kill_process(pid, Signal::TERM);
        }
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        self.terminate();
    }
}

/// A command whose program will run under a supervisor.
pub(super) fn command(program: impl AsRef<OsStr>) -> anyhow::Result<Command> {
    let mut command = Supervision::default().command(program).context("cannot supervise")?;
    command.stdin(Stdio::null());
    Ok(command)
}

/// Where the output of a program is kept.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) stdout: PathBuf,
    pub(super) stderr: PathBuf,
}

impl Output {
    /// Two files in a folder.
    pub(super) fn in_folder(folder: &Path, name: &str) -> Self {
        Self { stdout: folder.join(format!("{name}.out")), stderr: folder.join(format!("{name}.err")) }
    }

    /// The last lines of what the program complained about.
    pub(super) fn complaint(&self) -> String {
        let last = |path: &Path| {
            let text = fs::read(path).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
            lines[lines.len().saturating_sub(5)..].join(" | ")
        };
        let complaint = last(&self.stderr);
        if complaint.is_empty() { last(&self.stdout) } else { complaint }
    }
}

/// Runs a command to its end and returns its exit code.
///
/// # Errors
/// If it cannot be started, is ended by a signal, or takes longer than the limit: then all that it started is killed.
pub(super) async fn run(mut command: Command, output: &Output, limit: Duration) -> anyhow::Result<i32> {
    let file = |path: &Path| File::create(path).with_context(|| format!("cannot write {}", path.display()));
    command.stdout(file(&output.stdout)?).stderr(file(&output.stderr)?);
    let mut supervised = Supervised::start(command).context("cannot start a program")?;
    match tokio::time::timeout(limit, supervised.child.wait()).await {
        Ok(status) => match status?.code() {
            Some(code) => Ok(code),
            None => bail!("ended by a signal: {}", output.complaint()),
        },
        Err(_) => {
            supervised.end().await;
            bail!("not done after {} s: {}", limit.as_secs(), output.complaint());
        }
    }
}
