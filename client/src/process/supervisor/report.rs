//! What a supervisor has seen.

use std::{fs, io, path::Path};

use serde::{Deserialize, Serialize};

use crate::process::ExitInfo;

/// Why the supervisor ended its program, or did not have to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// The program ended by itself.
    #[default]
    ProgramEnded,
    /// The supervisor was told to end it, by a signal.
    Signalled,
    /// The process that had started the supervisor died.
    ParentDied,
    /// The program could not be started.
    NotStarted,
}

/// A process that was still there when the program had ended and its time to settle was over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftBehind {
    /// Its id.
    pub pid: i32,
    /// The id of its parent at that time.
    pub ppid: i32,
    /// Its command line.
    pub argv: Vec<String>,
    /// When it was seen to be left behind, in milliseconds after the program's end.
    pub seen_after_ms: u64,
}

/// What a supervisor has seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SupervisorReport {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The program's process id, if it was started.
    pub pid: Option<i32>,
    /// What brought the end about.
    pub trigger: Trigger,
    /// How the program ended.
    pub exit: ExitInfo,
    /// How long the program ran, in milliseconds.
    pub ran_ms: u64,
    /// Whether the program itself had to be killed with SIGKILL.
    pub killed: bool,
    /// The processes that the program left behind.
    pub left_behind: Vec<LeftBehind>,
    /// How long after the program's end the last process below the supervisor was gone, in milliseconds.
    pub emptied_after_ms: u64,
    /// Processes that could not be ended, by their ids.
    pub survivors: Vec<i32>,
    /// The number of the system's error that kept the program from starting.
    pub os_error: Option<i32>,
    /// The same in words.
    pub start_error: Option<String>,
}

impl SupervisorReport {
    /// Reads a report from a file.
    ///
    /// # Errors
    /// If the file cannot be read or is not a report. A supervisor that was killed leaves no file.
    pub fn read(path: &Path) -> io::Result<Self> {
        serde_json::from_slice(&fs::read(path)?).map_err(io::Error::from)
    }

    /// Writes it in one step: a reader sees all of it or nothing.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let mut draft = path.as_os_str().to_owned();
        draft.push(".part");
        fs::write(&draft, serde_json::to_vec(self)?)?;
        fs::rename(&draft, path)
    }
}
