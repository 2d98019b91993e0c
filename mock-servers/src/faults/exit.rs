//! The end of the server's process, by an exit code or by any signal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use signal_hook::consts;

use super::Turn;
use crate::engine::Step;

/// How the server's process ends.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Exit {
    /// The exit code.
    pub code: u8,
    /// Whether it dies by SIGKILL instead.
    pub kill: bool,
    /// The signal that it dies by instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<Signal>,
}

impl Exit {
    pub(super) fn turn(&self) -> Turn {
        Turn::End(Step::Exit(self.clone()))
    }

    /// The signal to die by, if it is one.
    pub(crate) fn deadly(&self) -> Option<Signal> {
        self.signal.or_else(|| self.kill.then_some(Signal::Kill))
    }
}

/// A signal that ends a process which does nothing about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the names of signals say all there is to say")]
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
    /// Its number on this system.
    #[must_use]
    pub fn number(self) -> i32 {
        match self {
            Self::Hup => consts::SIGHUP,
            Self::Int => consts::SIGINT,
            Self::Quit => consts::SIGQUIT,
            Self::Ill => consts::SIGILL,
            Self::Trap => consts::SIGTRAP,
            Self::Abrt => consts::SIGABRT,
            Self::Bus => consts::SIGBUS,
            Self::Fpe => consts::SIGFPE,
            Self::Kill => consts::SIGKILL,
            Self::Usr1 => consts::SIGUSR1,
            Self::Segv => consts::SIGSEGV,
            Self::Usr2 => consts::SIGUSR2,
            Self::Pipe => consts::SIGPIPE,
            Self::Alrm => consts::SIGALRM,
            Self::Term => consts::SIGTERM,
            Self::Xcpu => consts::SIGXCPU,
            Self::Xfsz => consts::SIGXFSZ,
            Self::Sys => consts::SIGSYS,
        }
    }
}
