//! Why something that was asked for did not come about, as those who ask are told: what kind of trouble, what happened, and
//! what helps.

use std::{error::Error, fmt};

use client::{CallError, ConnectError, ConnectFailure, ListError, auth::AuthError};
use mock_servers::reading::printable;
use scenarios::{
    bench::connect::LoadConnectError, peer::PeerError, run::load_case::LoadCaseError, select::SelectError,
};

/// The most characters of a message: some quote what a server wrote.
const LONGEST: usize = 4_000;

/// Something did not come about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trouble {
    /// A stable name of the kind.
    pub(crate) kind: String,
    /// What happened, with its causes.
    pub(crate) message: String,
    /// What helps.
    pub(crate) advice: Option<String>,
}

impl Trouble {
    pub(crate) fn new(kind: &str, message: impl Into<String>) -> Self {
        Self { kind: kind.to_owned(), message: bounded(&message.into()), advice: None }
    }

    /// The same, of an error.
    pub(crate) fn of(kind: &str, error: &dyn Error) -> Self {
        Self::new(kind, in_full(error))
    }

    pub(crate) fn advise(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }

    /// What was asked for makes no sense.
    pub(crate) fn arguments(message: impl Into<String>) -> Self {
        Self::new("invalid-arguments", message)
    }

    /// It is too much.
    pub(crate) fn over_limit(what: &str, asked: impl fmt::Display, limit: impl fmt::Display) -> Self {
        Self::new("over-limit", format!("{what} of {asked} is more than the {limit} that is allowed here"))
            .advise(format!("ask for at most {limit}"))
    }

    /// Whoever asked does not want it any more.
    pub(crate) fn cancelled() -> Self {
        Self::new("cancelled", "the run was cancelled; what it had started is ended")
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.kind)?;
        self.advice.iter().try_for_each(|advice| write!(f, "\nadvice: {advice}"))
    }
}

/// An error with its causes, as far as its own words do not tell them already.
pub(crate) fn in_full(error: &dyn Error) -> String {
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

/// What a server wrote may hold anything: no control characters, and not too much.
fn bounded(text: &str) -> String {
    let cut: String = text.chars().take(LONGEST).collect();
    let whole = cut.len() == text.len();
    let shown = cut.split('\n').map(printable).collect::<Vec<_>>().join("\n");
    if whole { shown } else { format!("{shown} […]") }
}

impl From<PeerError> for Trouble {
    fn from(error: PeerError) -> Self {
        let (kind, advice) = match &error {
            PeerError::Start { .. } => ("spawn-failed", "check the command, and that it is in PATH or is a whole path"),
            PeerError::Silent { server, .. } if server.starts_with("http") => {
                ("no-answer", "check that the server runs, and that this is its URL")
            }
            PeerError::Silent { .. } => {
                ("no-answer", "run the command by hand: it has to read JSON-RPC from standard input and answer there")
            }
            PeerError::Unreachable { .. } => ("unreachable", "check that the server runs, and that this is its URL"),
            PeerError::Unauthorized { .. } => {
                ("needs-auth", "give a token: `headers: {\"Authorization\": \"Bearer …\"}`")
            }
            PeerError::Header { .. } => ("invalid-arguments", "correct the header"),
            _ => ("environment", "this is no fault of the server; try again"),
        };
        let message = match &error {
            PeerError::Silent { stderr, .. } if !stderr.trim().is_empty() => {
                format!("{}; its standard error ends with:\n{}", in_full(&error), stderr.trim())
            }
            error => in_full(error),
        };
        Self::new(kind, message).advise(advice)
    }
}

impl From<ConnectError> for Trouble {
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
        let trouble = Self::of(error.kind(), &error);
        Self { advice, ..trouble }
    }
}

impl From<ListError> for Trouble {
    fn from(error: ListError) -> Self {
        Self::of(error.kind(), &error).advise("`validate_server` says what is wrong with the server's lists")
    }
}

impl From<CallError> for Trouble {
    fn from(error: CallError) -> Self {
        Self::of(error.kind(), &error)
    }
}

impl From<AuthError> for Trouble {
    fn from(error: AuthError) -> Self {
        let advice = error.command().map(|command| format!("run `{command}`"));
        Self { advice, ..Self::of(error.kind(), &error) }
    }
}

impl From<SelectError> for Trouble {
    fn from(error: SelectError) -> Self {
        Self::of("invalid-arguments", &error).advise("`list_scenarios` lists what there is")
    }
}

impl From<LoadCaseError> for Trouble {
    fn from(error: LoadCaseError) -> Self {
        match error {
            LoadCaseError::Connect(error) => error.into(),
            LoadCaseError::Plan(_) => Self::of("invalid-arguments", &error),
            error => Self::of("environment", &error),
        }
    }
}

impl From<LoadConnectError> for Trouble {
    fn from(error: LoadConnectError) -> Self {
        match error {
            LoadConnectError::UnknownTool { .. } | LoadConnectError::RejectedTool { .. } => {
                Self::of("unknown-tool", &error).advise("`list_tools` lists what the server offers")
            }
            error => Self::of("no-connection", &error)
                .advise("`validate_server` says more about a server that cannot be connected to"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_wrote_is_cut_and_cannot_act_upon_a_terminal() {
        let trouble = Trouble::new("k", format!("\u{1b}[2J{}", "x".repeat(10_000)));
        assert!(!trouble.message.contains('\u{1b}'), "{trouble}");
        assert!(trouble.message.len() < 5_000 && trouble.message.ends_with("[…]"));
        assert_eq!(Trouble::new("k", "short\nlines").message, "short\nlines");
    }
}
