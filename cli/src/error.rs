//! Errors of commands, and the exit codes, which are part of the public interface.

use std::{io::Write as _, process::ExitCode};

use diagnostics::printable;

/// Exit code if a check or a threshold failed, or nothing was checked.
pub(crate) const FAILED: u8 = 1;
/// Exit code of invalid input: arguments, a scenario, a configuration.
pub(crate) const INPUT: u8 = 2;
/// Exit code of environment errors: a server does not start, a file cannot be written.
pub(crate) const ENVIRONMENT: u8 = 3;
/// Exit code of internal errors.
pub(crate) const INTERNAL: u8 = 4;

/// Why a command could not do its work. A failed verdict is a result, not an error.
#[derive(Debug)]
pub(crate) struct CommandError {
    code: u8,
    cause: anyhow::Error,
    help: Option<String>,
}

/// Result of a command.
pub(crate) type CommandResult = Result<ExitCode, CommandError>;

impl CommandError {
    fn new(code: u8, cause: impl Into<anyhow::Error>) -> Self {
        Self { code, cause: cause.into(), help: None }
    }

    /// The server rejected what the user asked for.
    pub(crate) fn rejected(cause: impl Into<anyhow::Error>) -> Self {
        Self::new(FAILED, cause)
    }

    /// The input is invalid.
    pub(crate) fn input(cause: impl Into<anyhow::Error>) -> Self {
        Self::new(INPUT, cause)
    }

    /// The environment failed.
    pub(crate) fn environment(cause: impl Into<anyhow::Error>) -> Self {
        Self::new(ENVIRONMENT, cause)
    }

    /// An internal error.
    pub(crate) fn internal(cause: impl Into<anyhow::Error>) -> Self {
        Self::new(INTERNAL, cause)
    }

    /// Adds what the user can do about it.
    pub(crate) fn with_help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// Adds where it happened.
    pub(crate) fn in_context(self, place: String) -> Self {
        Self { cause: self.cause.context(place), ..self }
    }

    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        self.code
    }

    /// What the user can do about it, if known.
    pub(crate) fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// The message and its causes in one line.
    pub(crate) fn message(&self) -> String {
        self.causes().join(": ")
    }

    /// The message and its causes. Some errors include their causes in their message; those are not repeated.
    fn causes(&self) -> Vec<String> {
        let mut causes: Vec<String> = Vec::new();
        for cause in self.cause.chain().map(ToString::to_string) {
            if !causes.iter().any(|before| before.contains(&cause)) {
                causes.push(cause);
            }
        }
        causes
    }

    /// Prints it to stderr, and returns the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        let mut text = self.causes().join("\n  caused by: ");
        if let Some(help) = &self.help {
            text.push_str("\n  help: ");
            text.push_str(help);
        }
        // Rendered diagnostics have a prefix of their own, one each.
        let prefix = if text.starts_with("error: ") { "" } else { "error: " };
        // A cause may quote a name, a file or a server, whose control characters must not reach the terminal.
        let mut text = text.split('\n').map(printable).collect::<Vec<_>>().join("\n");
        if self.code == INTERNAL {
            text.push_str("\ninternal error in mcp-workbench; please report it with the command line you ran");
        }
        // The exit code still reports the error if stderr is closed.
        let _ = writeln!(std::io::stderr(), "{prefix}{text}");
        ExitCode::from(self.code)
    }
}

/// The exit code of a run: 0 if it passed, 1 if it failed.
pub(crate) fn exit_code(passed: bool) -> ExitCode {
    if passed { ExitCode::SUCCESS } else { ExitCode::from(FAILED) }
}
