//! Why a command of the client did not do its work: by which exit code it ends, and what may help.

use std::process::ExitCode;

use client::{
    CallError, ConnectError, ConnectFailure, ListError, ListFault,
    auth::{AuthError, store::StoreError},
};
use serde_json::json;

use super::say;
use crate::failure::{CommandResult, Failure};

/// What went wrong, for programs and for people.
#[derive(Debug)]
pub(crate) struct Trouble {
    kind: String,
    /// The command that mends it, word for word.
    command: Option<String>,
    failure: Failure,
}

impl Trouble {
    /// What the user asked for cannot be meant.
    pub(crate) fn input(kind: &str, cause: anyhow::Error) -> Self {
        Self { kind: kind.to_owned(), command: None, failure: Failure::input(cause) }
    }

    /// Whoever was asked says no.
    pub(crate) fn refused(kind: &str, cause: anyhow::Error) -> Self {
        Self { kind: kind.to_owned(), command: None, failure: Failure::refused(cause) }
    }

    /// Something that may help, in place of what the kind of trouble suggests.
    pub(crate) fn advise(self, advice: impl Into<String>) -> Self {
        Self { failure: self.failure.advise(advice), ..self }
    }

    /// A server that says no gave an answer; what makes no sense is the user's to mend; all else is the environment.
    fn of(kind: &str, cause: impl Into<anyhow::Error>) -> Self {
        let failure = match kind {
            "rpc-error" | "unknown-tool" | "input-refused" | "not-in-revision" => Failure::refused(cause),
            "invalid-config" | "headers-helper-failed" => Failure::input(cause),
            _ => Failure::environment(cause),
        };
        let failure = match advice(kind) {
            Some(advice) => failure.advise(advice),
            None => failure,
        };
        Self { kind: kind.to_owned(), command: None, failure }
    }
}

impl From<ConnectError> for Trouble {
    fn from(error: ConnectError) -> Self {
        match &*error.failure {
            // A server that answers its greeting with an error cannot be used: that is no answer to what was asked.
            ConnectFailure::Rpc { .. } => {
                Self { kind: error.kind().to_owned(), command: None, failure: Failure::environment(error) }
            }
            ConnectFailure::Auth { source } => {
                let command = source.command();
                Self { command, ..Self::of(error.kind(), error) }
            }
            _ => Self::of(error.kind(), error),
        }
    }
}

impl From<CallError> for Trouble {
    fn from(error: CallError) -> Self {
        let command = match &error {
            CallError::Auth { source } => source.command(),
            _ => None,
        };
        Self { command, ..Self::of(error.kind(), error) }
    }
}

impl From<AuthError> for Trouble {
    fn from(error: AuthError) -> Self {
        Self { command: error.command(), ..Self::of(error.kind(), error) }
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::UnknownStore { .. } | StoreError::NoFolder => Self::input(error.kind(), error.into()),
            _ => Self::of(error.kind(), error),
        }
    }
}

impl From<ListError> for Trouble {
    fn from(error: ListError) -> Self {
        Self::of(error.kind(), error)
    }
}

impl From<ListFault> for Trouble {
    fn from(fault: ListFault) -> Self {
        Self::of(fault.kind(), fault)
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self { kind: "failure".to_owned(), command: None, failure }
    }
}

fn advice(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "startup-timeout" => "a longer `--timeout` waits for a server that starts slowly",
        "timed-out" => "a longer `--timeout` waits for a slow answer",
        "version-mismatch" => "without `--revision` the client takes what the server offers",
        "transport" => "check that the server runs, and that this is its URL",
        "http-status" => "check the path of the URL",
        "needs-auth" => {
            "the server does not take this `Authorization` header; without one, `client login` gets a token"
        }
        _ => return None,
    })
}

/// Ends a command; with `json`, what went wrong is told on standard output too.
pub(crate) fn settle(outcome: Result<ExitCode, Trouble>, json: bool) -> CommandResult {
    outcome.or_else(|Trouble { kind, command, failure }| {
        if json {
            let mut error = json!({ "kind": kind, "message": failure.message() });
            if let Some(advice) = failure.advice() {
                error["advice"] = advice.into();
            }
            if let Some(command) = command {
                error["command"] = command.into();
            }
            say::json(&json!({ "error": error }))?;
        }
        Err(failure)
    })
}
