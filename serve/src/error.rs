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
    pub(crate) help: Option<String>,
}

impl ToolError {
    pub(crate) fn new(kind: &str, message: impl Into<String>) -> Self {
        Self { kind: kind.to_owned(), message: truncated(&message.into()), help: None }
    }

    /// Converts an error and its causes.
    pub(crate) fn from_error(kind: &str, error: &dyn Error) -> Self {
        Self::new(kind, error_chain(error))
    }

    pub(crate) fn with_help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// Invalid arguments.
    pub(crate) fn arguments(message: impl Into<String>) -> Self {
        Self::new("invalid-arguments", message)
    }

    /// An argument that exceeds a limit.
    pub(crate) fn over_limit(what: &str, value: impl fmt::Display, limit: impl fmt::Display) -> Self {
        Self::new("over-limit", format!("{what} of {value} exceeds the limit of {limit}"))
            .with_help(format!("use at most {limit}"))
    }

    /// The client cancelled the call.
    pub(crate) fn cancelled() -> Self {
        Self::new("cancelled", "the run was cancelled, and its processes were terminated")
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.kind)?;
        self.help.iter().try_for_each(|help| write!(f, "\nhelp: {help}"))
    }
}

/// An error with its causes in one line; causes that the message already contains are omitted.
pub(crate) fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        cause = error.source();
    }
    text
}

/// Escapes control characters and truncates the text, which may come from a server.
fn truncated(text: &str) -> String {
    let cut: String = text.chars().take(MAX_LEN).collect();
    let whole = cut.len() == text.len();
    let shown = cut.split('\n').map(printable).collect::<Vec<_>>().join("\n");
    if whole { shown } else { format!("{shown} […]") }
}

impl From<PeerError> for ToolError {
    fn from(error: PeerError) -> Self {
        let (kind, help) = match &error {
            PeerError::Start { .. } => ("spawn-failed", "check that the command is in PATH, or use an absolute path"),
            PeerError::Silent(silent) if ["http", "unix:"].iter().any(|scheme| silent.server.starts_with(scheme)) => {
                ("no-response", "check that the server runs, and that this is its URL")
            }
            PeerError::Silent(_) => (
                "no-response",
                "run the command in a terminal: it must read JSON-RPC from standard input and respond on standard output",
            ),
            PeerError::Unreachable { .. } => ("unreachable", "check that the server runs, and that this is its URL"),
            PeerError::Unauthorized { .. } => {
                ("needs-auth", "add a token: `headers: {\"Authorization\": \"Bearer …\"}`")
            }
            PeerError::Header { .. } => ("invalid-arguments", "correct the header"),
            _ => ("environment", "this is not an error of the server; try again"),
        };
        Self::from_error(kind, &error).with_help(help)
    }
}

impl From<ConnectError> for ToolError {
    fn from(error: ConnectError) -> Self {
        let help = match &*error.failure {
            ConnectFailure::Auth { source } => source.command().map(|command| format!("run `{command}`")),
            ConnectFailure::NeedsAuth { .. } => {
                Some("add a token: `headers: {\"Authorization\": \"Bearer …\"}`".to_owned())
            }
            ConnectFailure::Spawn { .. } => Some("check the command, and that it is in PATH".to_owned()),
            ConnectFailure::HttpStatus { .. } => Some("check the path of the URL".to_owned()),
            _ => Some("run `validate_server` for a detailed diagnosis".to_owned()),
        };
        let error = Self::from_error(error.kind(), &error);
        Self { help, ..error }
    }
}

impl From<ListError> for ToolError {
    fn from(error: ListError) -> Self {
        Self::from_error(error.kind(), &error).with_help("run `validate_server` for details about the server's lists")
    }
}

impl From<CallError> for ToolError {
    fn from(error: CallError) -> Self {
        Self::from_error(error.kind(), &error)
    }
}

impl From<AuthError> for ToolError {
    fn from(error: AuthError) -> Self {
        let help = error.command().map(|command| format!("run `{command}`"));
        Self { help, ..Self::from_error(error.kind(), &error) }
    }
}

impl From<SelectError> for ToolError {
    fn from(error: SelectError) -> Self {
        Self::from_error("invalid-arguments", &error).with_help("`list_scenarios` lists all scenarios")
    }
}

impl From<RunError> for ToolError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Peer(error) => error.into(),
            RunError::Load(error) => error.into(),
            RunError::ClientCommand { .. } => {
                Self::from_error("spawn-failed", &error).with_help("check the command, and that it is in PATH")
            }
            error => Self::from_error("internal", &error),
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
                Self::from_error("unknown-tool", &error).with_help("`list_tools` lists the tools of the server")
            }
            error => {
                Self::from_error("no-connection", &error).with_help("run `validate_server` for a detailed diagnosis")
            }
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
