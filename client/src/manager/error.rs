//! Errors of managed servers, and the resulting status.

use std::sync::Arc;

use super::Status;
use crate::error::{CallError, ConnectError, ConnectFailure, ListError};

/// The reason why a server cannot be used. All callers that share a start get the same error.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// A server of this name does not exist.
    #[error("server `{server}` does not exist")]
    Unknown {
        /// The server.
        server: String,
    },
    /// The server is disabled in the configuration.
    #[error("server `{server}` is disabled")]
    Disabled {
        /// The server.
        server: String,
    },
    /// Starting it failed.
    #[error(transparent)]
    Start(Arc<ConnectError>),
    /// It no longer accepts the credentials. Only an explicit connect, after a login, starts it again.
    #[error("the login at server `{server}` is over: {reason}")]
    LoginOver {
        /// The server.
        server: String,
        /// The reason.
        reason: String,
    },
    /// It failed too often in a row. Only an explicit connect starts it again.
    #[error("server `{server}` failed {failures} times; last error: {last}")]
    GaveUp {
        /// The server.
        server: String,
        /// Number of failures.
        failures: u32,
        /// The last failure.
        last: String,
    },
    /// It was disconnected, removed or reconfigured while it was starting.
    #[error("server `{server}` was stopped while it was starting")]
    Stopped {
        /// The server.
        server: String,
    },
}

impl ServerError {
    /// A stable name of the kind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "unknown-server",
            Self::Disabled { .. } => "disabled",
            Self::Start(error) => error.kind(),
            Self::LoginOver { .. } => "login-required",
            Self::GaveUp { .. } => "gave-up",
            Self::Stopped { .. } => "stopped",
        }
    }

    /// The resulting status.
    pub(super) fn status(&self) -> Status {
        match self {
            Self::Disabled { .. } => Status::Disabled,
            Self::Stopped { .. } | Self::Unknown { .. } => Status::Disconnected,
            Self::Start(error) => match error.kind() {
                "client-registration-required" => Status::NeedsClientRegistration,
                "needs-auth" | "login-required" | "insufficient-scope" | "token-refused" => Status::NeedsAuth,
                _ => Status::Failed { reason: in_full(error) },
            },
            Self::LoginOver { .. } => Status::NeedsAuth,
            Self::GaveUp { .. } => Status::Failed { reason: self.to_string() },
        }
    }

    /// Whether another attempt would fail in the same way.
    pub(super) fn is_permanent(&self) -> bool {
        let Self::Start(error) = self else { return true };
        match &*error.failure {
            ConnectFailure::StartupTimeout { .. }
            | ConnectFailure::Spawn { .. }
            | ConnectFailure::Exited { .. }
            | ConnectFailure::Rpc { .. }
            | ConnectFailure::Transport { .. }
            | ConnectFailure::Closed => false,
            // 408 and 429 are temporary (RFC 9110, 15.5.9; RFC 6585, 4); other 4xx statuses mean that the request is
            // wrong.
            ConnectFailure::HttpStatus { status, .. } => (400..500).contains(status) && !matches!(status, 408 | 429),
            ConnectFailure::Auth { source } => source.kind() != "authorization-unreachable",
            _ => true,
        }
    }
}

/// An error with its causes.
fn in_full(error: &ConnectError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error.failure);
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// Required servers could not be started.
#[derive(Debug, Clone, thiserror::Error)]
#[error("required servers failed to start: {}", .failures.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct RequiredError {
    /// The error of each server.
    pub failures: Vec<ServerError>,
}

/// Two servers have the same name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("two servers have the name `{name}`")]
pub struct DuplicateName {
    /// The duplicate name.
    pub name: String,
}

/// The reason why a configuration was not applied, or only partially.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StartError {
    /// Nothing was changed.
    #[error(transparent)]
    Duplicate(#[from] DuplicateName),
    /// The other servers were applied.
    #[error(transparent)]
    Required(#[from] RequiredError),
}

/// The reason why a managed server could not be used for a request.
#[derive(Debug, thiserror::Error)]
pub enum UseError {
    /// The server cannot be used.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// A call failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A list could not be read.
    #[error(transparent)]
    List(#[from] ListError),
    /// The tool is disabled in the configuration.
    #[error("tool `{tool}` of server `{server}` is disabled")]
    ToolDisabled {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
}

impl UseError {
    /// A stable name of the kind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Server(error) => error.kind(),
            Self::Call(error) => error.kind(),
            Self::List(error) => error.kind(),
            Self::ToolDisabled { .. } => "tool-disabled",
        }
    }
}
