//! What a command ends with, and the exit codes that stand for it. They are part of the public interface.

use std::{io::Write as _, process::ExitCode};

use mock_servers::reading::printable;

/// A verdict or a threshold failed, or nothing was judged.
pub(crate) const VERDICT: u8 = 1;
/// The input is wrong: arguments, a scenario, a configuration.
pub(crate) const INPUT: u8 = 2;
/// The environment failed: a server would not start, a file could not be written.
pub(crate) const ENVIRONMENT: u8 = 3;
/// The workbench itself is at fault.
pub(crate) const FAULT: u8 = 4;

/// Why a command could not do its work. A failed verdict is no failure of the command: it did what it was asked to.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    cause: anyhow::Error,
    advice: Option<String>,
}

/// What a command comes back with.
pub(crate) type CommandResult = Result<ExitCode, Failure>;

impl Failure {
    fn new(code: u8, cause: impl Into<anyhow::Error>) -> Self {
        Self { code, cause: cause.into(), advice: None }
    }

    /// Whoever was asked said no.
    pub(crate) fn refused(cause: impl Into<anyhow::Error>) -> Self {
        Self::new(VERDICT, cause)
    }

    /// The input is wrong.
    pub(crate) fn input(cause: impl Into<anyhow::Error>) -> Self {
        Self::new(INPUT, cause)
    }

    /// The environment failed.
    pub(crate) fn environment(cause: impl Into<anyhow::Error>) -> Self {
        Self::new(ENVIRONMENT, cause)
    }

    /// The workbench itself is at fault.
    pub(crate) fn fault(cause: impl Into<anyhow::Error>) -> Self {
        Self::new(FAULT, cause)
    }

    /// What the user can do about it.
    pub(crate) fn advise(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }

    /// What the user can do about it, where that is known.
    pub(crate) fn advice(&self) -> Option<&str> {
        self.advice.as_deref()
    }

    /// All of it in one line.
    pub(crate) fn message(&self) -> String {
        self.causes().join(": ")
    }

    /// What happened and why. Some errors tell their causes in their own words, and those are not repeated.
    fn causes(&self) -> Vec<String> {
        let mut told: Vec<String> = Vec::new();
        for cause in self.cause.chain().map(ToString::to_string) {
            if !told.iter().any(|before| before.contains(&cause)) {
                told.push(cause);
            }
        }
        told
    }

    /// Tells it on standard error, with its causes, and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        let mut text = self.causes().join("\n  because: ");
        if let Some(advice) = &self.advice {
            text.push_str("\n  advice: ");
            text.push_str(advice);
        }
        // What a library renders as whole diagnostics says `error:` itself, once for each.
        let prefix = if text.starts_with("error: ") { "" } else { "error: " };
        // A cause may quote a name, a file or a server: no control character of theirs gets to the terminal.
        let text = text.split('\n').map(printable).collect::<Vec<_>>().join("\n");
        let _ = writeln!(std::io::stderr(), "{prefix}{text}");
        if self.code == FAULT {
            let _ =
                writeln!(std::io::stderr(), "this is a fault of mcp-workbench; please report it with the command line");
        }
        ExitCode::from(self.code)
    }
}

/// The exit code of a run: 0 if all held, 1 if not.
pub(crate) fn held(held: bool) -> ExitCode {
    if held { ExitCode::SUCCESS } else { ExitCode::from(VERDICT) }
}
