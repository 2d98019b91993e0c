//! Processes of stdio servers: start, watch and stop them with all their descendants.
//!
//! A server is started through a [`supervisor`]: a second process of this program, which adopts orphaned descendants
//! and ends with this process, even after SIGKILL. A host program enables it by calling
//! [`supervisor::main_if_requested`] first in `main`. Otherwise the server gets its own process group, and only the
//! group is killed: processes that left it survive, and all survive if the client is killed with SIGKILL.
//!
//! Systems differ in what they find and how they stop it: see [`coverage`].

pub mod supervisor;

mod child;
mod diagnosis;
pub(crate) mod environment;
mod exit;
mod platform;
mod server;
mod stderr;
pub mod subtree;

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

pub(crate) use child::{ChildProcess, Ended};
pub use diagnosis::StartProblem;
pub(crate) use diagnosis::diagnose;
pub use exit::end_all;
pub(crate) use platform::async_pipes;
pub use platform::{Coverage, Stop};
pub use server::{ServerPipes, ServerProcess};

/// What the supervision of processes covers on this system.
#[must_use]
pub fn coverage() -> Coverage {
    platform::coverage()
}

/// The exit status of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitInfo {
    /// The exit code.
    pub code: Option<i32>,
    /// The signal that terminated it; `None` on Windows.
    pub signal: Option<i32>,
}

impl fmt::Display for ExitInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exit code {code}"),
            (None, Some(signal)) => write!(f, "signal {signal}"),
            (None, None) => f.write_str("unknown status"),
        }
    }
}

/// The step that stopped a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// It had exited before.
    AlreadyOver,
    /// Closing standard input.
    StdinClosed,
    /// SIGTERM.
    Terminated,
    /// SIGKILL.
    Killed,
    /// It was not seen to exit in time.
    Unknown,
}

/// The result of stopping a server process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Closing {
    /// The step that stopped it.
    pub ending: Ending,
    /// The exit status, if known.
    pub exit: Option<ExitInfo>,
    /// Duration.
    pub took: Duration,
    /// Command lines of processes that it left behind.
    pub left_behind: Vec<Vec<String>>,
}
