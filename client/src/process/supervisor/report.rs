//! The report of a supervisor.

use std::{fs, io, path::Path};

use serde::{Deserialize, Serialize};

use crate::process::ExitInfo;

/// The reason why supervision ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// The program exited.
    #[default]
    ProgramEnded,
    /// The supervisor received a signal.
    Signalled,
    /// The parent process died.
    ParentDied,
    /// The program was not started.
    NotStarted,
}

/// A process that was running after the program's exit and the settle time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftBehind {
    /// The process id.
    pub pid: i32,
    /// The id of its parent at that time.
    pub ppid: i32,
    /// The command line.
    pub argv: Vec<String>,
    /// When it was recorded, in milliseconds after the program's exit.
    pub seen_after_ms: u64,
}

/// The report of a supervisor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SupervisorReport {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The process id, if the program was started.
    pub pid: Option<i32>,
    /// The reason for the end.
    pub trigger: Trigger,
    /// The exit status of the program.
    pub exit: ExitInfo,
    /// Duration of the program in milliseconds.
    pub ran_ms: u64,
    /// Whether the program was killed with SIGKILL.
    pub killed: bool,
    /// Processes that the program left behind.
    pub left_behind: Vec<LeftBehind>,
    /// When the last descendant had exited, in milliseconds after the program's exit.
    pub emptied_after_ms: u64,
    /// Ids of processes that could not be stopped.
    pub survivors: Vec<i32>,
    /// The error number, if the program was not started.
    pub os_error: Option<i32>,
    /// The error message, if the program was not started.
    pub start_error: Option<String>,
}

impl SupervisorReport {
    /// Reads a report from a file.
    ///
    /// # Errors
    /// If the file cannot be read or is not a report. A killed supervisor writes none.
    pub fn read(path: &Path) -> io::Result<Self> {
        serde_json::from_slice(&fs::read(path)?).map_err(io::Error::from)
    }

    /// Writes the report atomically.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let mut draft = path.as_os_str().to_owned();
        draft.push(".part");
        fs::write(&draft, serde_json::to_vec(self)?)?;
        fs::rename(&draft, path)
    }
}
