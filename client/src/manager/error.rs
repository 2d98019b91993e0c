//! Why a managed server cannot be used, and what that makes of its status.

use std::sync::Arc;

use super::Status;
use crate::error::{CallError, ConnectError, ConnectFailure, ListError};

/// A server cannot be used. Everybody who waited for the same start gets the same error.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// Nobody knows a server of this name.
    #[error("there is no server `{server}`")]
    Unknown {
        /// The name.
        server: String,
    },
    /// Its configuration switches it off.
    #[error("server `{server}` is disabled")]
    Disabled {
        /// The name.
        server: String,
    },
    /// It could not be started.
    #[error(transparent)]
    Start(Arc<ConnectError>),
    /// It failed too often in a row. It is started again when it is connected by hand.
    #[error("server `{server}` failed {failures} times in a row, the last time: {last}")]
    GaveUp {
        /// The name.
        server: String,
        /// How often.
        failures: u32,
        /// The last failure, in words.
        last: String,
    },
    /// It was disconnected, removed or configured anew while it was waited for.
    #[error("server `{server}` was stopped while it was starting")]
    Stopped {
        /// The name.
        server: String,
    },
}

impl ServerError {
    /// A stable name of the kind of failure.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "unknown-server",
            Self::Disabled { .. } => "disabled",
            Self::Start(error) => error.kind(),
            Self::GaveUp { .. } => "gave-up",
            Self::Stopped { .. } => "stopped",
        }
    }

    /// What it makes of the server's status.
    pub(super) fn status(&self) -> Status {
        match self {
            Self::Disabled { .. } => Status::Disabled,
            Self::Stopped { .. } | Self::Unknown { .. } => Status::Disconnected,
            Self::Start(error) => match error.kind() {
                "client-registration-required" => Status::NeedsClientRegistration,
                "needs-auth" | "login-required" | "insufficient-scope" | "token-refused" => Status::NeedsAuth,
                _ => Status::Failed { reason: in_full(error) },
            },
            Self::GaveUp { .. } => Status::Failed { reason: self.to_string() },
        }
    }

    /// Whether another try, without anybody having changed something, would end in the same way.
    pub(super) fn is_permanent(&self) -> bool {
        let Self::Start(error) = self else { return true };
        match &*error.failure {
            ConnectFailure::StartupTimeout { .. }
            | ConnectFailure::Spawn { .. }
            | ConnectFailure::Exited { .. }
            | ConnectFailure::Rpc { .. }
            | ConnectFailure::Transport { .. }
            | ConnectFailure::Closed => false,
            // 408 and 429 ask for patience (RFC 9110, 15.5.9; RFC 6585, 4); the other 4xx say that the request is wrong.
            ConnectFailure::HttpStatus { status, .. } => (400..500).contains(status) && !matches!(status, 408 | 429),
            ConnectFailure::Auth { source } => source.kind() != "authorization-unreachable",
            _ => true,
        }
    }
}

/// An error with its causes, which its own words leave out.
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

/// Servers without which the whole is of no use could not be started.
#[derive(Debug, Clone, thiserror::Error)]
#[error("required servers are missing: {}", .failures.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct RequiredError {
    /// Why each of them.
    pub failures: Vec<ServerError>,
}

/// The servers of a configuration cannot be told apart.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("two servers are called `{name}`")]
pub struct DuplicateName {
    /// The name that occurs twice.
    pub name: String,
}

/// A configuration was not put into effect, or not completely.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StartError {
    /// Nothing was touched.
    #[error(transparent)]
    Duplicate(#[from] DuplicateName),
    /// All others are being started.
    #[error(transparent)]
    Required(#[from] RequiredError),
}

/// Something that was wanted of a managed server did not come about.
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
    /// The configuration switches the tool off.
    #[error("tool `{tool}` of server `{server}` is disabled")]
    ToolDisabled {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
}

impl UseError {
    /// A stable name of the kind of failure.
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
