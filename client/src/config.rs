//! Configuration of one server: endpoint, revision, timeouts and limits.
//!
//! Plain values and their defaults. Nothing here reads a file or the environment.

mod debug;

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use crate::revision::Revision;

/// Configuration of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// The name that the user chose. It is part of the qualified names of the tools.
    pub name: String,
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The protocol revision.
    pub protocol: RevisionChoice,
    /// The timeouts.
    pub timeouts: Timeouts,
    /// The limits.
    pub limits: Limits,
    /// Grace periods for stopping its process.
    pub shutdown: ShutdownGracePeriods,
}

impl ServerConfig {
    /// A server with default timeouts and limits, whose revision is negotiated.
    #[must_use]
    pub fn new(name: impl Into<String>, endpoint: Endpoint) -> Self {
        Self {
            name: name.into(),
            endpoint,
            protocol: RevisionChoice::Auto,
            timeouts: Timeouts::default(),
            limits: Limits::default(),
            shutdown: ShutdownGracePeriods::default(),
        }
    }
}

/// A command or URL with its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A command. Messages travel over its standard input and output.
    Stdio(StdioEndpoint),
    /// A URL for Streamable HTTP.
    StreamableHttp(HttpEndpoint),
    /// A URL for the deprecated HTTP+SSE transport of 2024-11-05.
    Sse(HttpEndpoint),
    /// A URL whose transport is detected. Streamable HTTP is tried first.
    Auto(HttpEndpoint),
}

/// A server that is started as a child process.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct StdioEndpoint {
    /// A path, or a name to look up in `PATH`.
    pub command: String,
    /// Arguments.
    pub args: Vec<String>,
    /// Environment variables to set in addition to the inherited ones.
    pub env: BTreeMap<String, String>,
    /// Names of variables to inherit in addition to `inherit`.
    pub env_vars: Vec<String>,
    /// The set of variables to inherit.
    pub inherit: Inherit,
    /// The working directory. `None` inherits it.
    pub cwd: Option<PathBuf>,
}

/// The environment variables that a child process inherits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inherit {
    /// Variables that programs need to run: directories, user, locale and terminal. Other variables may be secrets.
    #[default]
    Default,
    /// All variables.
    Everything,
    /// No variables.
    Nothing,
}

/// A URL, and the headers of all requests to it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct HttpEndpoint {
    /// `http://…`, `https://…`, or `unix:///path/of/the/socket#/path/of/the/endpoint`.
    pub url: String,
    /// The headers.
    pub headers: BTreeMap<String, String>,
    /// Headers with values from the environment: header names and variable names.
    pub env_headers: BTreeMap<String, String>,
    /// The environment variable with a bearer token.
    pub bearer_token_env: Option<String>,
    /// A command that prints more headers. It runs when the connection is opened, and again after HTTP status 401.
    pub headers_helper: Option<HeadersHelper>,
    /// Whether to use HTTP/2: over TLS as negotiated by ALPN, otherwise with prior knowledge (RFC 9113, 3.3). A server
    /// without HTTP/2 is then an error.
    pub http2: bool,
}

/// A command that prints a JSON object of header names and values.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadersHelper {
    /// A path, or a name to look up in `PATH`.
    pub command: String,
    /// Arguments.
    pub args: Vec<String>,
    /// Timeout of one run.
    pub timeout: Duration,
}

impl HeadersHelper {
    /// A helper without arguments and a timeout of ten seconds.
    #[must_use]
    pub fn new(command: impl Into<String>) -> Self {
        Self { command: command.into(), args: Vec::new(), timeout: Duration::from_secs(10) }
    }
}

/// The protocol revision to use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RevisionChoice {
    /// Negotiate the newest revision that both sides support.
    #[default]
    Auto,
    /// Use this revision, and fail if the server does not support it.
    Pinned(Revision),
}

/// Timeouts of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// From the start of the process or the first request until the server is ready.
    pub startup: Duration,
    /// `server/discover`; afterwards the server counts as legacy. It is limited to a third of `startup`, which leaves
    /// time for the handshake.
    pub probe: Duration,
    /// A tool call without a response. Progress restarts it if the call asks for that.
    pub call: Duration,
    /// A tool call in total, regardless of progress.
    pub call_ceiling: Duration,
    /// Any other request, for example one page of a list.
    pub request: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            startup: Duration::from_secs(10),
            probe: Duration::from_secs(2),
            call: Duration::from_secs(60),
            call_ceiling: Duration::from_secs(600),
            request: Duration::from_secs(30),
        }
    }
}

impl Timeouts {
    /// Effective timeout of `server/discover`.
    pub(crate) fn probe_limit(&self) -> Duration {
        self.probe.min(self.startup / 3)
    }
}

/// Limits for data from a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Pages of one list.
    pub pages: usize,
    /// Items of one list.
    pub items: usize,
    /// Bytes of one line on standard output, of one HTTP body, and of one server-sent event.
    pub message_bytes: usize,
    /// Invalid lines and events during a connection.
    pub garbage: u64,
    /// Lines of standard error to keep.
    pub stderr_lines: usize,
    /// Concurrent HTTP requests that wait for response headers.
    pub concurrent_requests: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            pages: 1_000,
            items: 100_000,
            message_bytes: 16 * 1024 * 1024,
            garbage: 1_000,
            stderr_lines: 50,
            concurrent_requests: 256,
        }
    }
}

/// Grace periods for stopping a stdio server (2025-11-25, lifecycle, "Shutdown").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShutdownGracePeriods {
    /// After closing standard input, before SIGTERM.
    pub stdin_close: Duration,
    /// After SIGTERM, before SIGKILL.
    pub sigterm: Duration,
}

impl Default for ShutdownGracePeriods {
    fn default() -> Self {
        Self { stdin_close: Duration::from_secs(2), sigterm: Duration::from_secs(2) }
    }
}
