//! Errors of tools and of the management API: kind, message and help.

use std::{error::Error, fmt};

use client::{CallError, ConnectError, ConnectFailure, ListError, auth::AuthError};
use diagnostics::printable;
use scenarios::{
    bench::connect::LoadConnectError,
    peer::PeerError,
    run::{LoadCaseError, RunError},
    select::SelectError,
};

/// Maximum length of a message in characters; some quote a server.
const MAX_LEN: usize = 4_000;

/// A failed call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolError {
    /// Stable name of the kind of error.
    pub(crate) kind: String,
    /// Message with its causes.
    pub(crate) message: String,
    /// What to do.
    pub(crate) advice: Option<String>,
}

impl ToolError {
    pub(crate) fn new(kind: &str, message: impl Into<String>) -> Self {
        Self { kind: kind.to_owned(), message: bounded(&message.into()), advice: None }
    }

    /// Converts an error and its causes.
    pub(crate) fn from_error(kind: &str, error: &dyn Error) -> Self {
        Self::new(kind, error_chain(error))
    }

    pub(crate) fn advise(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }

    /// Invalid arguments.
    pub(crate) fn arguments(message: impl Into<String>) -> Self {
        Self::new("invalid-arguments", message)
    }

    /// An argument that exceeds a limit.
    pub(crate) fn over_limit(what: &str, asked: impl fmt::Display, limit: impl fmt::Display) -> Self {
        Self::new("over-limit", format!("{what} of {asked} exceeds the limit of {limit}"))
            .advise(format!("ask for at most {limit}"))
    }

    /// The client cancelled the call.
    pub(crate) fn cancelled() -> Self {
        Self::new("cancelled", "the run was cancelled, and its processes were terminated")
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.kind)?;
        self.advice.iter().try_for_each(|advice| write!(f, "\nhelp: {advice}"))
    }
}

/// An error with its causes in one line; causes that the message already contains are omitted.
pub(crate) fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        cause = error.source();
    }
    text
}

/// Escapes control characters and truncates the text, which may come from a server.
fn bounded(text: &str) -> String {
    let cut: String = text.chars().take(MAX_LEN).collect();
    let whole = cut.len() == text.len();
    let shown = cut.split('\n').map(printable).collect::<Vec<_>>().join("\n");
    if whole { shown } else { format!("{shown} […]") }
}

impl From<PeerError> for ToolError {
    fn from(error: PeerError) -> Self {
        let (kind, advice) = match &error {
            PeerError::Start { .. } => ("spawn-failed", "check that the command is in PATH, or use an absolute path"),
            PeerError::Silent(silent) if silent.server.starts_with("http") => {
                ("no-answer", "check that the server runs, and that this is its URL")
            }
            PeerError::Silent(_) => (
                "no-answer",
                "run the command in a terminal: it has to read JSON-RPC from standard input and respond on standard output",
            ),
            PeerError::Unreachable { .. } => ("unreachable", "check that the server runs, and that this is its URL"),
            PeerError::Unauthorized { .. } => {
                ("needs-auth", "give a token: `headers: {\"Authorization\": \"Bearer …\"}`")
            }
            PeerError::Header { .. } => ("invalid-arguments", "correct the header"),
            _ => ("environment", "this is not an error of the server; try again"),
        };
        Self::from_error(kind, &error).advise(advice)
    }
}

impl From<ConnectError> for ToolError {
    fn from(error: ConnectError) -> Self {
        let advice = match &*error.failure {
            ConnectFailure::Auth { source } => source.command().map(|command| format!("run `{command}`")),
            ConnectFailure::NeedsAuth { .. } => {
                Some("give a token: `headers: {\"Authorization\": \"Bearer …\"}`".to_owned())
            }
            ConnectFailure::Spawn { .. } => Some("check the command, and that it is in PATH".to_owned()),
            ConnectFailure::HttpStatus { .. } => Some("check the path of the URL".to_owned()),
            _ => Some("`validate_server` says more about a server that cannot be connected to".to_owned()),
        };
        let error = Self::from_error(error.kind(), &error);
        Self { advice, ..error }
    }
}

impl From<ListError> for ToolError {
    fn from(error: ListError) -> Self {
        Self::from_error(error.kind(), &error).advise("`validate_server` says what is wrong with the server's lists")
    }
}

impl From<CallError> for ToolError {
    fn from(error: CallError) -> Self {
        Self::from_error(error.kind(), &error)
    }
}

impl From<AuthError> for ToolError {
    fn from(error: AuthError) -> Self {
        let advice = error.command().map(|command| format!("run `{command}`"));
        Self { advice, ..Self::from_error(error.kind(), &error) }
    }
}

impl From<SelectError> for ToolError {
    fn from(error: SelectError) -> Self {
        Self::from_error("invalid-arguments", &error).advise("`list_scenarios` lists what there is")
    }
}

impl From<RunError> for ToolError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Peer(error) => error.into(),
            RunError::Load(error) => error.into(),
            RunError::ClientCommand { .. } => {
                Self::from_error("spawn-failed", &error).advise("check the command, and that it is in PATH")
            }
            error => Self::from_error("fault", &error),
        }
    }
}

impl From<LoadCaseError> for ToolError {
    fn from(error: LoadCaseError) -> Self {
        match error {
            LoadCaseError::Connect(error) => error.into(),
            LoadCaseError::Plan(_) => Self::from_error("invalid-arguments", &error),
            error => Self::from_error("environment", &error),
        }
    }
}

impl From<LoadConnectError> for ToolError {
    fn from(error: LoadConnectError) -> Self {
        match error {
            LoadConnectError::UnknownTool { .. } | LoadConnectError::RejectedTool { .. } => {
                Self::from_error("unknown-tool", &error).advise("`list_tools` lists what the server offers")
            }
            error => Self::from_error("no-connection", &error)
                .advise("`validate_server` says more about a server that cannot be connected to"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_server_is_truncated_and_escaped() {
        let error = ToolError::new("k", format!("\u{1b}[2J{}", "x".repeat(10_000)));
        assert!(!error.message.contains('\u{1b}'), "{error}");
        assert!(error.message.len() < 5_000 && error.message.ends_with("[…]"));
        assert_eq!(ToolError::new("k", "short\nlines").message, "short\nlines");
    }
}
