//! The process of a stdio server: starting it, watching it, and ending it with everything it started.
//!
//! A server is started through a [`supervisor`]: a second process of this same program that adopts whatever the server
//! leaves behind and ends with this process, however this one dies. A host program takes part by calling
//! [`supervisor::main_if_requested`] first thing in its `main`. Where it does not, the server gets its own process group
//! and the group alone is killed: processes that left the group, and all of them when the client is killed with
//! SIGKILL, then stay behind.

pub mod supervisor;

mod child;
mod diagnosis;
pub(crate) mod environment;
mod exit;
mod stderr;
pub mod subtree;

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

pub(crate) use child::{ChildProcess, Ended};
pub use diagnosis::StartProblem;
pub(crate) use diagnosis::diagnose;
pub use exit::end_all;

/// How a process ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitInfo {
    /// The exit code, if it exited.
    pub code: Option<i32>,
    /// The signal, if one ended it.
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

/// What it took to end the process of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// It had ended before.
    AlreadyOver,
    /// It ended when its standard input was closed.
    StdinClosed,
    /// It ended after SIGTERM.
    Terminated,
    /// It was killed.
    Killed,
    /// It could not be seen to end in time.
    Unknown,
}

/// How the process of a server was ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Closing {
    /// What it took.
    pub ending: Ending,
    /// How it ended, as far as is known.
    pub exit: Option<ExitInfo>,
    /// How long it took.
    pub took: Duration,
    /// Processes that it had left behind, by their command lines.
    pub left_behind: Vec<Vec<String>>,
}
