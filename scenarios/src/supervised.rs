//! A process under a supervisor, as the runner and the raw peer both keep one: told to end, waited for, and never left
//! behind. What is below it is for its owner to watch.

use std::{io, time::Duration};

use client::process::subtree::descendants;
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};

/// How long a supervisor is waited for once it was itself killed.
const KILLED: Duration = Duration::from_millis(400);

/// A supervisor that runs, with everything below it. Dropping it tells it to end everything.
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

    /// Waits for its end, which comes when nothing is left below it.
    pub(crate) async fn ended(&mut self) {
        // The only error is that somebody else has waited for it, and then it has ended too.
        let _ = self.child.wait().await;
    }

    /// The same, for so long at most; says whether it ended.
    pub(crate) async fn ended_within(&mut self, limit: Duration) -> bool {
        tokio::time::timeout(limit, self.ended()).await.is_ok()
    }

    /// Tells it to end everything, and does it itself if it has not within this time.
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
    /// What is given up is ended too: the supervisor does the rest by itself.
    fn drop(&mut self) {
        self.signal(Signal::TERM);
    }
}
