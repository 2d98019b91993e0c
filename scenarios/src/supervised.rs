//! A process under a supervisor, which terminates the whole process tree. Used by the runner and the raw peer.

use std::{io, time::Duration};

use client::process::{Stop, subtree::descendants, supervisor};
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
        self.stop(Stop::Ask);
        if !self.ended_within(limit).await {
            for process in descendants(self.pid) {
                // It cannot fail when it kills.
                let _ = process.stop(Stop::Kill);
            }
            self.stop(Stop::Kill);
            self.ended_within(KILLED).await;
        }
    }

    fn stop(&self, stop: Stop) {
        if self.child.id().is_some() {
            // It may have ended in between; its number stays its own until it is waited for.
            let _ = supervisor::stop(self.pid, stop);
        }
    }
}

impl Drop for Supervised {
    /// The supervisor terminates its process tree when it is asked to stop.
    fn drop(&mut self) {
        self.stop(Stop::Ask);
    }
}
