//! Errors, grouped by what a caller can do next.
//!
//! Each error has a stable kebab-case `kind()` for programs.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    auth::AuthError,
    pagination::PaginationError,
    process::{ExitInfo, StartProblem},
    tool::ToolList,
};

/// An error of a lower layer.
pub(crate) type Cause = Box<dyn std::error::Error + Send + Sync>;

/// A step of connecting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Checking the configuration.
    Configure,
    /// Starting the process.
    Spawn,
    /// Opening the connection.
    Connect,
    /// Waiting for the response to `server/discover`.
    Probe,
    /// Waiting for the response to `initialize`.
    Initialize,
}

impl Stage {
    /// The name in JSON and messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Configure => "configure",
            Self::Spawn => "spawn",
            Self::Connect => "connect",
            Self::Probe => "probe",
            Self::Initialize => "initialize",
        }
    }
}

/// Connecting to a server failed.
#[derive(Debug, thiserror::Error)]
#[error("server `{server}` failed at stage `{}`: {failure}{}", stage.as_str(), tail(stderr))]
pub struct ConnectError {
    /// The name of the server.
    pub server: String,
    /// The step that failed.
    pub stage: Stage,
    /// The cause.
    #[source]
    pub failure: Box<ConnectFailure>,
    /// The last lines of standard error.
    pub stderr: Vec<String>,
    /// Earlier attempts, each with its outcome.
    pub tried: Vec<String>,
}

impl ConnectError {
    /// A stable name of the kind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.failure.kind()
    }
}

fn tail(stderr: &[String]) -> String {
    const SHOWN: usize = 5;
    if stderr.is_empty() {
        return String::new();
    }
    let last = &stderr[stderr.len().saturating_sub(SHOWN)..];
    format!("; its standard error ends with: {}", last.join(" | "))
}

/// The reason why connecting failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectFailure {
    /// The configuration is invalid.
    #[error("{detail}")]
    Config {
        /// The problem.
        detail: String,
    },
    /// The headers helper failed.
    #[error("headers helper `{command}` failed: {detail}")]
    HeadersHelper {
        /// The command.
        command: String,
        /// The problem.
        detail: String,
    },
    /// The startup timeout elapsed.
    #[error("not ready within {limit:?}")]
    StartupTimeout {
        /// The limit.
        limit: Duration,
    },
    /// The process could not be started.
    #[error("cannot start `{command}`: {problem}")]
    Spawn {
        /// The command.
        command: String,
        /// The diagnosis from the file system.
        problem: StartProblem,
        /// The error of the operating system.
        #[source]
        source: std::io::Error,
    },
    /// The process exited during startup.
    #[error("the process exited: {exit}")]
    Exited {
        /// The exit status.
        exit: ExitInfo,
    },
    /// The server violated the protocol, and no connection is possible.
    #[error("the server violated the protocol: {detail}")]
    Protocol {
        /// The violation.
        detail: String,
    },
    /// Client and server support no common revision, or the server does not support the pinned one.
    #[error("requested revision {wanted}, the server supports {offered}")]
    VersionMismatch {
        /// The requested revision.
        wanted: String,
        /// The revisions that the server supports.
        offered: String,
    },
    /// The server responded with a JSON-RPC error.
    #[error("the server responded with error {code}: {message}")]
    Rpc {
        /// `code`.
        code: i64,
        /// `message`.
        message: String,
        /// `data`.
        data: Option<Value>,
    },
    /// The server responded with an HTTP error status.
    #[error("the server responded with HTTP status {status}")]
    HttpStatus {
        /// The status.
        status: u16,
        /// The beginning of the body.
        body: String,
    },
    /// The server requires authorization.
    #[error("the server requires authorization (HTTP status {status})")]
    NeedsAuth {
        /// 401 or 403.
        status: u16,
        /// The value of `WWW-Authenticate`, if the server sent one.
        challenge: Option<String>,
    },
    /// Authorization was attempted and failed.
    #[error("authorization failed")]
    Auth {
        /// The reason, with a suggestion.
        #[source]
        source: AuthError,
    },
    /// A redirect was rejected, because following it would drop the message or send the user's headers to another
    /// origin.
    #[error("rejected redirect to `{to}`: {reason}")]
    RedirectRefused {
        /// The target, without query and userinfo.
        to: String,
        /// The reason for rejecting it.
        reason: String,
    },
    /// Reading or writing failed.
    #[error("transport error")]
    Transport {
        /// The cause.
        #[source]
        source: Cause,
    },
    /// The server closed the connection.
    #[error("the server closed the connection")]
    Closed,
}

impl ConnectFailure {
    /// A stable name of the kind.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Config { .. } => "invalid-config",
            Self::HeadersHelper { .. } => "headers-helper-failed",
            Self::StartupTimeout { .. } => "startup-timeout",
            Self::Spawn { .. } => "spawn-failed",
            Self::Exited { .. } => "exited",
            Self::Protocol { .. } => "protocol-violation",
            Self::VersionMismatch { .. } => "version-mismatch",
            Self::Rpc { .. } => "rpc-error",
            Self::HttpStatus { .. } => "http-status",
            Self::NeedsAuth { .. } => "needs-auth",
            Self::Auth { source } => source.kind(),
            Self::RedirectRefused { .. } => "redirect-refused",
            Self::Transport { .. } => "transport",
            Self::Closed => "connection-lost",
        }
    }
}

/// The timeout that elapsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeoutKind {
    /// Without a response or progress.
    Idle,
    /// In total, regardless of progress.
    Ceiling,
}

/// The reason why a request failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The timeout elapsed. The request was cancelled at the server.
    #[error("no response within {limit:?} ({})", match clock { TimeoutKind::Idle => "timeout", TimeoutKind::Ceiling => "ceiling" })]
    TimedOut {
        /// The timeout that elapsed.
        clock: TimeoutKind,
        /// Its duration.
        limit: Duration,
    },
    /// The caller cancelled it.
    #[error("cancelled by the caller")]
    Cancelled,
    /// The server responded with a JSON-RPC error.
    #[error("the server responded with error {code}: {message}")]
    Rpc {
        /// `code`.
        code: i64,
        /// `message`.
        message: String,
        /// `data`.
        data: Option<Value>,
    },
    /// The server responded with an HTTP error status.
    #[error("the server responded with HTTP status {status}")]
    HttpStatus {
        /// The status.
        status: u16,
        /// The beginning of the body.
        body: String,
    },
    /// The server requires authorization.
    #[error("the server requires authorization (HTTP status {status})")]
    NeedsAuth {
        /// 401 or 403.
        status: u16,
        /// The value of `WWW-Authenticate`, if the server sent one.
        challenge: Option<String>,
    },
    /// Authorization was attempted and failed.
    #[error("authorization failed")]
    Auth {
        /// The reason, with a suggestion.
        #[source]
        source: AuthError,
    },
    /// The connection ended before the response.
    #[error("connection lost: {reason}")]
    ConnectionLost {
        /// The reason.
        reason: String,
    },
    /// The request could not be sent, or its response not be read.
    #[error("transport error")]
    Transport {
        /// The cause.
        #[source]
        source: Cause,
    },
    /// The tool changed since the caller read the list. Nothing was sent.
    #[error("tool `{tool}` changed since it was listed: {change}")]
    Stale {
        /// The tool.
        tool: String,
        /// The change.
        change: String,
    },
    /// The server does not have the tool. Nothing was sent.
    #[error("the server has no tool `{tool}`")]
    UnknownTool {
        /// The tool.
        tool: String,
    },
    /// The server requested input that the client could not provide: the request was invalid, its capability not
    /// declared, or the user declined.
    #[error("input request `{method}` (`{key}`) was declined: {reason}")]
    InputRefused {
        /// The server's key of the input request.
        key: String,
        /// The method of the input request.
        method: String,
        /// The reason.
        reason: String,
    },
    /// The server requires the user to visit URLs, and the visits are not complete: the user declined, there is no
    /// user interface, or a visit timed out (2025-11-25, elicitation, "URL Elicitation Required Error").
    #[error("the server requires a visit to {}", urls(elicitations))]
    UrlElicitationRequired {
        /// The elicitations, as received.
        elicitations: Vec<Value>,
    },
    /// The server cancelled the task of the call.
    #[error("the server cancelled task `{id}`")]
    TaskCancelled {
        /// The task.
        id: String,
    },
    /// The negotiated revision does not have this request. Nothing was sent.
    #[error("the negotiated revision has no `{method}`")]
    NotInRevision {
        /// The method.
        method: String,
    },
    /// The server did not declare the capability that the request needs. Nothing was sent.
    #[error("the server does not declare `{capability}`")]
    NotDeclared {
        /// The capability, such as `resources.subscribe`.
        capability: String,
    },
    /// The server kept requesting input.
    #[error("no result after {limit} rounds of input")]
    TooManyRounds {
        /// The number of requests that were sent.
        limit: usize,
    },
    /// The result does not conform to the specification.
    #[error("malformed result: {detail}")]
    MalformedResult {
        /// The problem.
        detail: String,
    },
    /// The response exceeds [`crate::Limits::message_bytes`]. Only this request failed.
    #[error("the response is longer than {limit} bytes")]
    OversizeReply {
        /// In bytes.
        limit: usize,
    },
    /// The session expired, and the request could not be sent again in a new one.
    #[error("session lost: {reason}")]
    SessionLost {
        /// The reason.
        reason: String,
    },
    /// A redirect was rejected, because following it would drop the message or send the user's headers to another
    /// origin.
    #[error("rejected redirect to `{to}`: {reason}")]
    RedirectRefused {
        /// The target, without query and userinfo.
        to: String,
        /// The reason for rejecting it.
        reason: String,
    },
}

impl CallError {
    /// A stable name of the kind.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::TimedOut { .. } => "timed-out",
            Self::Cancelled => "cancelled",
            Self::Rpc { .. } => "rpc-error",
            Self::HttpStatus { .. } => "http-status",
            Self::NeedsAuth { .. } => "needs-auth",
            Self::Auth { source } => source.kind(),
            Self::ConnectionLost { .. } => "connection-lost",
            Self::Transport { .. } => "transport",
            Self::Stale { .. } => "stale",
            Self::UnknownTool { .. } => "unknown-tool",
            Self::InputRefused { .. } => "input-refused",
            Self::UrlElicitationRequired { .. } => "url-elicitation-required",
            Self::TaskCancelled { .. } => "task-cancelled",
            Self::NotInRevision { .. } => "not-in-revision",
            Self::NotDeclared { .. } => "not-declared",
            Self::TooManyRounds { .. } => "too-many-rounds",
            Self::MalformedResult { .. } => "malformed-result",
            Self::OversizeReply { .. } => "oversize-reply",
            Self::SessionLost { .. } => "session-lost",
            Self::RedirectRefused { .. } => "redirect-refused",
        }
    }
}

fn urls(elicitations: &[Value]) -> String {
    let urls = elicitations.iter().filter_map(|elicitation| elicitation.get("url")?.as_str());
    urls.map(|url| format!("`{}`", crate::event::excerpt(url.as_bytes()))).collect::<Vec<_>>().join(" and ")
}

/// A list could not be read completely. The items that were read are kept.
#[derive(Debug, thiserror::Error)]
#[error("cannot read page {page} of the list of tools")]
pub struct ListError {
    /// The page, starting at 1.
    pub page: usize,
    /// The cause.
    #[source]
    pub kind: ListErrorKind,
    /// The tools that were read.
    pub so_far: ToolList,
}

impl ListError {
    /// A stable name of the kind.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        self.kind.kind()
    }
}

/// The reason why a list could not be read completely.
#[derive(Debug, thiserror::Error)]
pub enum ListErrorKind {
    /// Invalid pagination.
    #[error(transparent)]
    Page(#[from] PaginationError),
    /// The request for a page failed.
    #[error(transparent)]
    Request(#[from] CallError),
}

impl ListErrorKind {
    /// A stable name of the kind.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Page(error) => error.kind(),
            Self::Request(error) => error.kind(),
        }
    }
}
