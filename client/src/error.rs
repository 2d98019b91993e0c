//! What can go wrong, grouped by what a caller can do next.
//!
//! Each error has a stable kebab-case `kind()`, for programs; its message is for people.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    auth::AuthError,
    pagination::PageFault,
    process::{ExitInfo, StartProblem},
    tool::ToolList,
};

/// A cause from below, whatever its type.
pub(crate) type Cause = Box<dyn std::error::Error + Send + Sync>;

/// A step on the way to a usable connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// The configuration is looked at.
    Configure,
    /// The program is started.
    Spawn,
    /// The first connection is made.
    Connect,
    /// `server/discover` was sent.
    Probe,
    /// `initialize` was sent.
    Initialize,
}

impl Stage {
    /// Its name.
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

/// A server could not be connected to.
#[derive(Debug, thiserror::Error)]
#[error("server `{server}` failed at stage `{}`: {failure}{}", stage.as_str(), tail(stderr))]
pub struct ConnectError {
    /// The name of the server.
    pub server: String,
    /// How far it came.
    pub stage: Stage,
    /// What went wrong.
    #[source]
    pub failure: Box<ConnectFailure>,
    /// The last lines that the server wrote to standard error.
    pub stderr: Vec<String>,
    /// What was tried before, each with its outcome.
    pub tried: Vec<String>,
}

impl ConnectError {
    /// A stable name of the kind of failure.
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

/// Why a server could not be connected to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectFailure {
    /// The configuration makes no sense.
    #[error("{detail}")]
    Config {
        /// What is wrong.
        detail: String,
    },
    /// The command that was to say the headers did not say them.
    #[error("the headers helper `{command}` is of no use: {detail}")]
    HeadersHelper {
        /// The command.
        command: String,
        /// What is wrong with it.
        detail: String,
    },
    /// The server was not ready in time.
    #[error("not ready within {limit:?}")]
    StartupTimeout {
        /// The limit.
        limit: Duration,
    },
    /// The program could not be started.
    #[error("cannot start `{command}`: {problem}")]
    Spawn {
        /// The program.
        command: String,
        /// Why, as far as can be told by looking at it.
        problem: StartProblem,
        /// The reason.
        #[source]
        source: std::io::Error,
    },
    /// The program ended before it was ready.
    #[error("the program ended: {exit}")]
    Exited {
        /// How.
        exit: ExitInfo,
    },
    /// The server broke the protocol in a way that leaves nothing to work with.
    #[error("the server broke the protocol: {detail}")]
    Protocol {
        /// How.
        detail: String,
    },
    /// There is no revision that both speak, or not the one that was asked for.
    #[error("asked for revision {wanted}, the server offers {offered}")]
    VersionMismatch {
        /// What this client asked for.
        wanted: String,
        /// What the server offers.
        offered: String,
    },
    /// The server answered with a JSON-RPC error.
    #[error("the server answered with error {code}: {message}")]
    Rpc {
        /// The code.
        code: i64,
        /// The message.
        message: String,
        /// More, for programs.
        data: Option<Value>,
    },
    /// The server answered with an HTTP status that stands for a failure.
    #[error("the server answered with HTTP status {status}")]
    HttpStatus {
        /// The status.
        status: u16,
        /// The beginning of the body.
        body: String,
    },
    /// The server wants authorization.
    #[error("the server wants authorization (HTTP status {status})")]
    NeedsAuth {
        /// 401 or 403.
        status: u16,
        /// The value of `WWW-Authenticate`, if the server sent one.
        challenge: Option<String>,
    },
    /// Authorization was tried and failed.
    #[error("authorization failed")]
    Auth {
        /// The reason, and what helps.
        #[source]
        source: AuthError,
    },
    /// The server sends the client elsewhere, and following would lose the message or carry the user's headers to a
    /// stranger.
    #[error("the server redirects to `{to}`, which is not followed: {reason}")]
    RedirectRefused {
        /// Where, without query and user.
        to: String,
        /// Why it is not followed.
        reason: String,
    },
    /// The transport failed.
    #[error("the transport failed")]
    Transport {
        /// The reason.
        #[source]
        source: Cause,
    },
    /// The server closed the connection.
    #[error("the server closed the connection")]
    Closed,
}

impl ConnectFailure {
    /// A stable name of the kind of failure.
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

/// Which of the two clocks of a call ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// The time without an answer, or without progress.
    Idle,
    /// The time that nothing may exceed.
    Ceiling,
}

/// A request failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// No answer came in time. The server was told that nobody waits any more.
    #[error("no answer within {limit:?} ({})", match clock { Clock::Idle => "timeout", Clock::Ceiling => "ceiling" })]
    TimedOut {
        /// Which limit it was.
        clock: Clock,
        /// The limit.
        limit: Duration,
    },
    /// The caller cancelled it.
    #[error("cancelled by the caller")]
    Cancelled,
    /// The server answered with a JSON-RPC error.
    #[error("the server answered with error {code}: {message}")]
    Rpc {
        /// The code.
        code: i64,
        /// The message.
        message: String,
        /// More, for programs.
        data: Option<Value>,
    },
    /// The server answered with an HTTP status that stands for a failure.
    #[error("the server answered with HTTP status {status}")]
    HttpStatus {
        /// The status.
        status: u16,
        /// The beginning of the body.
        body: String,
    },
    /// The server wants authorization.
    #[error("the server wants authorization (HTTP status {status})")]
    NeedsAuth {
        /// 401 or 403.
        status: u16,
        /// The value of `WWW-Authenticate`, if the server sent one.
        challenge: Option<String>,
    },
    /// Authorization was tried and failed.
    #[error("authorization failed")]
    Auth {
        /// The reason, and what helps.
        #[source]
        source: AuthError,
    },
    /// The connection ended before the answer came.
    #[error("connection lost: {reason}")]
    ConnectionLost {
        /// Why.
        reason: String,
    },
    /// The transport could not deliver the request.
    #[error("the transport failed")]
    Transport {
        /// The reason.
        #[source]
        source: Cause,
    },
    /// The tool is no longer what the caller has seen. Nothing was sent.
    #[error("tool `{tool}` has changed since the caller saw it: {change}")]
    Stale {
        /// The tool.
        tool: String,
        /// What has changed.
        change: String,
    },
    /// The server does not offer the tool. Nothing was sent.
    #[error("the server offers no tool `{tool}`")]
    UnknownTool {
        /// The tool.
        tool: String,
    },
    /// The server asked for something on the way that it cannot be given: it was not declared, makes no sense, or was
    /// refused by the user.
    #[error("the server asked for `{method}` (`{key}`) on the way, which was refused: {reason}")]
    InputRefused {
        /// The server's key of the request.
        key: String,
        /// What it asked for.
        method: String,
        /// Why it was refused.
        reason: String,
    },
    /// The user has to visit URLs first, and has not: there is nobody to ask, they refused, or the visit was not over in time
    /// (2025-11-25, elicitation, "URL Elicitation Required Error").
    #[error("the server asks for a visit to {} before it answers", urls(elicitations))]
    UrlElicitationRequired {
        /// The visits, as the server describes them.
        elicitations: Vec<Value>,
    },
    /// The task that the call had become was cancelled at the server.
    #[error("the server has cancelled task `{id}`")]
    TaskCancelled {
        /// The id of the task.
        id: String,
    },
    /// The revision that both speak has no such request. Nothing was sent.
    #[error("the revision of this connection has no `{method}`")]
    NotInRevision {
        /// The method.
        method: String,
    },
    /// The server asked for more input each time that it was given some.
    #[error("no result after {limit} rounds of input")]
    TooManyRounds {
        /// How often the request was made.
        limit: usize,
    },
    /// The answer is not what the specification prescribes.
    #[error("malformed result: {detail}")]
    MalformedResult {
        /// What is wrong with it.
        detail: String,
    },
    /// The answer exceeds [`crate::Limits::message_bytes`]. Only this request is lost.
    #[error("the answer is longer than {limit} bytes")]
    OversizeReply {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The server had forgotten the session, and the request could not be sent again in a new one.
    #[error("the session is lost: {reason}")]
    SessionLost {
        /// Why it could not be sent again.
        reason: String,
    },
    /// The server sends the client elsewhere, and following would lose the message or carry the user's headers to a
    /// stranger.
    #[error("the server redirects to `{to}`, which is not followed: {reason}")]
    RedirectRefused {
        /// Where, without query and user.
        to: String,
        /// Why it is not followed.
        reason: String,
    },
}

impl CallError {
    /// A stable name of the kind of failure.
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

/// A list was not read to its end. What was read before is kept.
#[derive(Debug, thiserror::Error)]
#[error("page {page} of the list of tools could not be used")]
pub struct ListError {
    /// The page at which it went wrong, counted from 1.
    pub page: usize,
    /// What went wrong.
    #[source]
    pub fault: ListFault,
    /// What was read so far.
    pub so_far: ToolList,
}

impl ListError {
    /// A stable name of the kind of failure.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        self.fault.kind()
    }
}

/// Why a list was not read to its end.
#[derive(Debug, thiserror::Error)]
pub enum ListFault {
    /// The cursors or the size of the list.
    #[error(transparent)]
    Page(#[from] PageFault),
    /// The request for a page.
    #[error(transparent)]
    Request(#[from] CallError),
}

impl ListFault {
    /// A stable name of the kind of failure.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Page(fault) => fault.kind(),
            Self::Request(error) => error.kind(),
        }
    }
}
