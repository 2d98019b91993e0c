//! A stdio server without a connection, for programs that exchange the messages themselves.

use std::{
    io,
    process::{ChildStdin, ChildStdout},
    time::Duration,
};

use super::{
    Closing,
    child::{ChildProcess, Ended, Pipes},
};
use crate::config::{ShutdownGracePeriods, StdioEndpoint};

/// A running server, started as for a connection. Dropping it terminates the process tree.
#[derive(Debug)]
pub struct ServerProcess {
    child: ChildProcess,
}

/// The pipes of a server.
#[derive(Debug)]
pub struct ServerPipes {
    /// Its standard input. The server ends when it is closed.
    pub stdin: ChildStdin,
    /// Its standard output.
    pub stdout: ChildStdout,
}

impl ServerProcess {
    /// Starts a server. `stderr_lines` is the number of lines of standard error to keep.
    ///
    /// # Errors
    /// If the program cannot be started. Under a supervisor this shows later: its output ends.
    pub fn start(
        endpoint: &StdioEndpoint,
        graces: ShutdownGracePeriods,
        stderr_lines: usize,
    ) -> io::Result<(Self, ServerPipes)> {
        let (child, Pipes { stdin, stdout }) = ChildProcess::spawn(endpoint, graces, stderr_lines)?;
        Ok((Self { child }, ServerPipes { stdin, stdout }))
    }

    /// The last lines of standard error.
    #[must_use]
    pub fn stderr(&self) -> Vec<String> {
        self.child.stderr()
    }

    /// The process id of the supervisor, or of the server without one; `None` after its exit.
    #[must_use]
    pub fn pid(&self) -> Option<i32> {
        self.child.pid()
    }

    /// Waits for its exit, up to `limit`, and describes it.
    pub async fn exit(&self, limit: Duration) -> Option<String> {
        match self.child.wait(limit).await? {
            Ended::NotStarted { message, .. } => Some(format!("it could not be started: {message}")),
            Ended::Exited { exit, .. } => Some(format!("it exited with {exit}")),
        }
    }

    /// Stops it with its process tree. Its standard input must be closed.
    pub async fn stop(self) -> Closing {
        self.child.shut_down(self.child.ended().is_some()).await
    }
}
