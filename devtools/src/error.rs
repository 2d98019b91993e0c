//! Errors of commands, with the exit codes of the product.

use std::{io::Write as _, process::ExitCode};

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) struct CommandError {
    code: u8,
    cause: anyhow::Error,
}

/// The result of a command.
pub(crate) type CommandResult = Result<ExitCode, CommandError>;

impl CommandError {
    /// The input is invalid.
    pub(crate) fn input(cause: impl Into<anyhow::Error>) -> Self {
        Self { code: 2, cause: cause.into() }
    }

    /// The environment failed.
    pub(crate) fn environment(cause: impl Into<anyhow::Error>) -> Self {
        Self { code: 3, cause: cause.into() }
    }

    /// An internal error.
    pub(crate) fn internal(cause: impl Into<anyhow::Error>) -> Self {
        Self { code: 4, cause: cause.into() }
    }

    /// Prints it to stderr, and returns its exit code.
    pub(crate) fn report(&self) -> ExitCode {
        // The exit code still reports the error if stderr is closed.
        let _ = writeln!(std::io::stderr(), "error: {:#}", self.cause);
        ExitCode::from(self.code)
    }
}

/// The exit code of a run.
pub(crate) fn exit_code(passed: bool) -> ExitCode {
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
