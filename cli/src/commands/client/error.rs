//! Errors of client commands: kind, exit code and help.

use std::{process::ExitCode, sync::Arc};

use agent::{
    host::HostError,
    permissions::{Decider, PermissionDecision, PermissionTargetName},
    prompts::PromptError,
    resources::RequestError,
};
use client::{
    CallError, ConnectError, ConnectFailure, ListError, ListErrorKind,
    auth::{AuthError, store::StoreError},
    connection::SkillError,
    manager::{ServerError, UseError},
};
use serde_json::json;

use crate::{
    error::{CommandError, CommandResult},
    print,
};

/// Why a client command failed.
#[derive(Debug)]
pub(crate) struct ClientCommandError {
    kind: String,
    /// The command line that fixes it.
    command: Option<String>,
    error: CommandError,
}

impl ClientCommandError {
    /// The input is invalid.
    pub(crate) fn input(kind: &str, cause: anyhow::Error) -> Self {
        Self { kind: kind.to_owned(), command: None, error: CommandError::input(cause) }
    }

    /// The server rejected the request.
    pub(crate) fn rejected(kind: &str, cause: anyhow::Error) -> Self {
        Self { kind: kind.to_owned(), command: None, error: CommandError::rejected(cause) }
    }

    /// The error, for a command that prints no JSON errors.
    pub(crate) fn into_inner(self) -> CommandError {
        self.error
    }

    /// Replaces the help of the kind of error.
    pub(crate) fn with_help(self, help: impl Into<String>) -> Self {
        Self { error: self.error.with_help(help), ..self }
    }

    /// An error of this kind. A rejection by the server is a result, not an environment error.
    fn from_kind(kind: &str, cause: impl Into<anyhow::Error>) -> Self {
        let error = match kind {
            "rpc-error" | "unknown-tool" | "input-refused" | "not-declared" | "not-in-revision" => {
                CommandError::rejected(cause)
            }
            "invalid-config" | "headers-helper-failed" => CommandError::input(cause),
            _ => CommandError::environment(cause),
        };
        let error = match help(kind) {
            Some(help) => error.with_help(help),
            None => error,
        };
        Self { kind: kind.to_owned(), command: None, error }
    }
}

impl From<ConnectError> for ClientCommandError {
    fn from(error: ConnectError) -> Self {
        match &*error.failure {
            // A server that rejects initialization cannot be used, so this is an environment error.
            ConnectFailure::Rpc { .. } => {
                Self { kind: error.kind().to_owned(), command: None, error: CommandError::environment(error) }
            }
            ConnectFailure::Auth { source } => {
                let command = source.command();
                Self { command, ..Self::from_kind(error.kind(), error) }
            }
            _ => Self::from_kind(error.kind(), error),
        }
    }
}

impl From<ServerError> for ClientCommandError {
    fn from(error: ServerError) -> Self {
        let (kind, command, rejected) = match &error {
            ServerError::Start(start) => {
                let command = match &*start.failure {
                    ConnectFailure::Auth { source } => source.command(),
                    _ => None,
                };
                (start.kind(), command, matches!(&*start.failure, ConnectFailure::Rpc { .. }))
            }
            other => (other.kind(), None, false),
        };
        // A server that rejects initialization cannot be used, so this is an environment error.
        if rejected {
            return Self { kind: kind.to_owned(), command, error: CommandError::environment(error) };
        }
        Self { command, ..Self::from_kind(kind, error) }
    }
}

impl From<Arc<UseError>> for ClientCommandError {
    fn from(error: Arc<UseError>) -> Self {
        match &*error {
            UseError::Server(server) => server.clone().into(),
            UseError::Call(CallError::Auth { source }) => {
                let command = source.command();
                Self { command, ..Self::from_kind(error.kind(), Arc::clone(&error)) }
            }
            _ => Self::from_kind(error.kind(), Arc::clone(&error)),
        }
    }
}

impl From<RequestError> for ClientCommandError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Server(error) => error.into(),
            RequestError::Call(error) => error.into(),
            RequestError::List(error) => error.into(),
            RequestError::Timeout { .. } => Self::from_kind("timed-out", error),
        }
    }
}

impl From<PromptError> for ClientCommandError {
    fn from(error: PromptError) -> Self {
        match error {
            PromptError::Command(error) => Self::input("invalid-command", error.into()),
            PromptError::Request(error) => error.into(),
        }
    }
}

impl From<HostError> for ClientCommandError {
    fn from(error: HostError) -> Self {
        let help = match &error {
            HostError::Use(error) => return Arc::clone(error).into(),
            HostError::Denied { outcome, .. } => {
                let explanation = &outcome.explanation;
                denial_help(&explanation.target, &explanation.decider, outcome.response.is_some())
            }
            HostError::UnknownTool { nearest: Some(nearest), .. } => format!("did you mean `{nearest}`?"),
            HostError::UnknownTool { nearest: None, .. } => {
                "`client tools` lists the tools of all configured servers".to_owned()
            }
            HostError::NotAllowed { .. } => "ask the administrator of this machine".to_owned(),
            HostError::Stale { .. } | HostError::Search(_) => "repeat the command".to_owned(),
        };
        Self::rejected(error.kind(), error.clone().into()).with_help(help)
    }
}

/// What changes a denial.
fn denial_help(target: &PermissionTargetName, decider: &Decider, answered: bool) -> String {
    let PermissionTargetName::Tool { server, tool, .. } = target else {
        return "`client explain` shows the rules".to_owned();
    };
    match decider {
        Decider::Rule { step, text } if step.decision() == PermissionDecision::Ask && !answered => format!(
            "the {step} rule `{text}` requires approval: add `--yes` or `--allow '{server}/{tool}'`, or use a terminal"
        ),
        Decider::Rule { .. } | Decider::Default => format!("`client explain '{server}' {tool}` shows the rules"),
        Decider::InvalidRules => "`client list` shows the errors of the configuration".to_owned(),
    }
}

impl From<CallError> for ClientCommandError {
    fn from(error: CallError) -> Self {
        let command = match &error {
            CallError::Auth { source } => source.command(),
            _ => None,
        };
        Self { command, ..Self::from_kind(error.kind(), error) }
    }
}

impl From<SkillError> for ClientCommandError {
    fn from(error: SkillError) -> Self {
        match error {
            SkillError::Call(error) => error.into(),
            SkillError::List(error) => error.into(),
            SkillError::InvalidEntry { .. } => Self::rejected("invalid-skill", error.into()),
            _ => Self::rejected("skill-mismatch", error.into()),
        }
    }
}

impl From<AuthError> for ClientCommandError {
    fn from(error: AuthError) -> Self {
        Self { command: error.command(), ..Self::from_kind(error.kind(), error) }
    }
}

impl From<StoreError> for ClientCommandError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::UnknownStore { .. } | StoreError::NoDirectory => Self::input(error.kind(), error.into()),
            _ => Self::from_kind(error.kind(), error),
        }
    }
}

impl From<ListError> for ClientCommandError {
    fn from(error: ListError) -> Self {
        Self::from_kind(error.kind(), error)
    }
}

impl From<ListErrorKind> for ClientCommandError {
    fn from(error: ListErrorKind) -> Self {
        Self::from_kind(error.kind(), error)
    }
}

impl From<CommandError> for ClientCommandError {
    fn from(error: CommandError) -> Self {
        Self { kind: "failure".to_owned(), command: None, error }
    }
}

fn help(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "startup-timeout" => "increase `--timeout` if the server starts slowly",
        "timed-out" => "increase `--timeout` if the server is slow",
        "version-mismatch" => "omit `--revision` to negotiate one",
        "transport" => "check that the server runs and that the URL is correct",
        "http-status" => "check the path of the URL",
        "needs-auth" => "the server rejected the `Authorization` header; omit it and run `client login` to get a token",
        _ => return None,
    })
}

/// The result of a command; with `json`, an error is printed to stdout too.
pub(crate) fn settle(outcome: Result<ExitCode, ClientCommandError>, json: bool) -> CommandResult {
    outcome.or_else(|ClientCommandError { kind, command, error }| {
        if json {
            let mut value = json!({ "kind": kind, "message": error.message() });
            if let Some(help) = error.help() {
                value["help"] = help.into();
            }
            if let Some(command) = command {
                value["command"] = command.into();
            }
            print::json(&json!({ "error": value }))?;
        }
        Err(error)
    })
}
