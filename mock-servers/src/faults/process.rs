//! Faults of the server's process.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FaultAction, FaultContext, FaultHooks, FaultStep};
use crate::system::signals;

/// A change of a stdio server's process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessAction {
    /// Write lines to standard error.
    Stderr {
        /// The number of bytes in total.
        bytes: usize,
    },
    /// Allocate this many bytes, and keep them.
    Leak {
        /// The number of bytes.
        bytes: usize,
    },
    /// Ignore SIGTERM from now on.
    IgnoreSigterm,
    /// Start a process that the server never reaps.
    Start(ChildScript),
}

fn process(action: ProcessAction) -> FaultAction {
    FaultAction::Do(vec![FaultStep::Process(action)])
}

/// From here on, ignores SIGTERM (only over stdio).
#[derive(JsonSchema)]
pub(super) struct IgnoreSigterm;

impl FaultHooks for IgnoreSigterm {
    fn action(&self, _: &mut FaultContext<'_>) -> FaultAction {
        process(ProcessAction::IgnoreSigterm)
    }
}

/// Allocates memory and keeps it until the process exits (only over stdio), then continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Leak {
    /// The number of bytes.
    pub bytes: usize,
}

impl FaultHooks for Leak {
    fn action(&self, _: &mut FaultContext<'_>) -> FaultAction {
        process(ProcessAction::Leak { bytes: self.bytes })
    }
}

/// Starts a process that the server never reaps (only over stdio), then continues. It sleeps until it is killed, at
/// most for 60 s.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct ChildScript {
    /// It leaves the server's session and process group.
    pub setsid: bool,
    /// It ignores SIGTERM.
    pub ignore_sigterm: bool,
    /// It starts with an empty environment.
    pub clear_env: bool,
    /// It keeps the server's standard output open.
    pub hold_stdout: bool,
}

impl FaultHooks for ChildScript {
    fn action(&self, _: &mut FaultContext<'_>) -> FaultAction {
        process(ProcessAction::Start(self.clone()))
    }
}

/// Terminates the server's process without a response. Over HTTP it closes every connection and refuses new ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Exit {
    /// The exit code.
    pub code: u8,
    /// Whether the process is terminated by SIGKILL instead.
    pub kill: bool,
    /// The signal that terminates the process instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<Signal>,
}

impl Exit {
    /// The signal that terminates the process, if one does.
    pub(crate) fn signal_to_raise(&self) -> Option<Signal> {
        self.signal.or_else(|| self.kill.then_some(Signal::Kill))
    }
}

impl FaultHooks for Exit {
    fn action(&self, _: &mut FaultContext<'_>) -> FaultAction {
        FaultAction::End(FaultStep::Exit(self.clone()))
    }
}

/// A signal that terminates a process without a handler for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the names of signals need no explanation")]
pub enum Signal {
    #[serde(rename = "SIGHUP")]
    Hup,
    #[serde(rename = "SIGINT")]
    Int,
    #[serde(rename = "SIGQUIT")]
    Quit,
    #[serde(rename = "SIGILL")]
    Ill,
    #[serde(rename = "SIGTRAP")]
    Trap,
    #[serde(rename = "SIGABRT")]
    Abrt,
    #[serde(rename = "SIGBUS")]
    Bus,
    #[serde(rename = "SIGFPE")]
    Fpe,
    #[serde(rename = "SIGKILL")]
    Kill,
    #[serde(rename = "SIGUSR1")]
    Usr1,
    #[serde(rename = "SIGSEGV")]
    Segv,
    #[serde(rename = "SIGUSR2")]
    Usr2,
    #[serde(rename = "SIGPIPE")]
    Pipe,
    #[serde(rename = "SIGALRM")]
    Alrm,
    #[serde(rename = "SIGTERM")]
    Term,
    #[serde(rename = "SIGXCPU")]
    Xcpu,
    #[serde(rename = "SIGXFSZ")]
    Xfsz,
    #[serde(rename = "SIGSYS")]
    Sys,
}

impl Signal {
    /// Its number on this system; on Windows, which has no signals, that of Linux.
    #[must_use]
    pub fn number(self) -> i32 {
        match self {
            Self::Hup => signals::SIGHUP,
            Self::Int => signals::SIGINT,
            Self::Quit => signals::SIGQUIT,
            Self::Ill => signals::SIGILL,
            Self::Trap => signals::SIGTRAP,
            Self::Abrt => signals::SIGABRT,
            Self::Bus => signals::SIGBUS,
            Self::Fpe => signals::SIGFPE,
            Self::Kill => signals::SIGKILL,
            Self::Usr1 => signals::SIGUSR1,
            Self::Segv => signals::SIGSEGV,
            Self::Usr2 => signals::SIGUSR2,
            Self::Pipe => signals::SIGPIPE,
            Self::Alrm => signals::SIGALRM,
            Self::Term => signals::SIGTERM,
            Self::Xcpu => signals::SIGXCPU,
            Self::Xfsz => signals::SIGXFSZ,
            Self::Sys => signals::SIGSYS,
        }
    }
}
