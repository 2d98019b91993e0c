//! A process under a supervisor, which terminates the whole process tree. Used by the runner and the raw peer.

use std::{io, time::Duration};

use client::process::subtree::descendants;
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};

/// Timeout of waiting for a killed supervisor.
const KILLED: Duration = Duration::from_millis(400);

/// A running supervisor and its process tree. Dropping it terminates the tree.
#[derive(Debug)]
pub(crate) struct Supervised {
    /// The supervisor; its streams are those of the program.
    pub(crate) child: Child,
    /// Its process id.
    pub(crate) pid: i32,
}

impl Supervised {
    /// Starts a command that was made by a `Supervision`.
    pub(crate) fn start(command: std::process::Command) -> io::Result<Self> {
        let child = Command::from(command).spawn()?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok());
        let pid = pid.ok_or_else(|| io::Error::other("the process has ended at once"))?;
        Ok(Self { child, pid })
    }

    /// Waits until the supervisor and its process tree have exited.
    pub(crate) async fn ended(&mut self) {
        // The only error is that the process was already waited for, so it has exited.
        let _ = self.child.wait().await;
    }

    /// Like [`ended`](Self::ended) with a timeout; returns whether it exited.
    pub(crate) async fn ended_within(&mut self, limit: Duration) -> bool {
        tokio::time::timeout(limit, self.ended()).await.is_ok()
    }

    /// Terminates the process tree; kills it after `limit`.
    pub(crate) async fn end(&mut self, limit: Duration) {
        self.signal(Signal::TERM);
        if !self.ended_within(limit).await {
            for process in descendants(self.pid) {
                process.signal(Signal::KILL);
            }
            self.signal(Signal::KILL);
            self.ended_within(KILLED).await;
        }
    }

    fn signal(&self, signal: Signal) {
        if let (Some(_), Some(pid)) = (self.child.id(), Pid::from_raw(self.pid)) {
            // It may have ended in between; it stays a zombie until it is waited for, so the number is still its own.
            let _ = kill_process(pid, signal);
        }
    }
}

impl Drop for Supervised {
    /// The supervisor terminates its process tree after SIGTERM.
    fn drop(&mut self) {
        self.signal(Signal::TERM);
    }
}
