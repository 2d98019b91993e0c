//! What the client is told about one server, and the bounds within which it trusts it.
//!
//! This module owns plain values and their defaults. It reads no file and no environment.

mod debug;

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use crate::revision::Revision;

/// One server, and how to speak with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// The name under which the user knows it; part of the qualified names of its tools.
    pub name: String,
    /// Where it is.
    pub endpoint: Endpoint,
    /// Which revision to speak.
    pub protocol: ProtocolChoice,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// How much of what to accept.
    pub limits: Limits,
    /// How patiently to end its process.
    pub shutdown: Graces,
}

impl ServerConfig {
    /// A server with the default bounds, whose era the client finds out.
    #[must_use]
    pub fn new(name: impl Into<String>, endpoint: Endpoint) -> Self {
        Self {
            name: name.into(),
            endpoint,
            protocol: ProtocolChoice::Auto,
            timeouts: Timeouts::default(),
            limits: Limits::default(),
            shutdown: Graces::default(),
        }
    }
}

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A program to start; messages travel over its standard input and output.
    Stdio(StdioEndpoint),
    /// A URL that speaks Streamable HTTP.
    StreamableHttp(HttpEndpoint),
    /// A URL that speaks the deprecated HTTP+SSE transport of 2024-11-05.
    Sse(HttpEndpoint),
    /// A URL that speaks one of the two; Streamable HTTP is tried first.
    Auto(HttpEndpoint),
}

/// A program to start.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct StdioEndpoint {
    /// The program: a path, or a name to look up in `PATH`.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment variables to set, on top of what is inherited.
    pub env: BTreeMap<String, String>,
    /// Names of variables of this process to pass on, beside what `inherit` passes on.
    pub env_vars: Vec<String>,
    /// What else the child gets to see of the variables of this process.
    pub inherit: Inherit,
    /// The working directory; this process's own if absent.
    pub cwd: Option<PathBuf>,
}

/// Which variables of this process a child gets to see.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inherit {
    /// Those that programs need to work at all: where their files, their user, their language and their terminal are.
    /// Any other may be a secret that is none of the server's business.
    #[default]
    Default,
    /// All.
    Everything,
    /// None.
    Nothing,
}

/// A URL, and what to send with every request to it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct HttpEndpoint {
    /// The URL: `http://…`, `https://…`, or `unix:///path/of/the/socket#/path/of/the/endpoint`.
    pub url: String,
    /// Headers to send with every request.
    pub headers: BTreeMap<String, String>,
    /// Headers whose values are taken from the environment: their names, and those of the variables.
    pub env_headers: BTreeMap<String, String>,
    /// The environment variable that holds a bearer token.
    pub bearer_token_env: Option<String>,
    /// A command that says more headers. It is asked when the connection is made, and again when the server answers with
    /// 401.
    pub headers_helper: Option<HeadersHelper>,
}

/// A command that writes a JSON object of header names and values to its standard output.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadersHelper {
    /// The program: a path, or a name to look up in `PATH`.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// How long it may take.
    pub timeout: Duration,
}

impl HeadersHelper {
    /// A helper without arguments that may take ten seconds.
    #[must_use]
    pub fn new(command: impl Into<String>) -> Self {
        Self { command: command.into(), args: Vec::new(), timeout: Duration::from_secs(10) }
    }
}

/// Which revision to speak.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProtocolChoice {
    /// Find out the era of the server, and speak the newest revision that both know.
    #[default]
    Auto,
    /// This one and no other.
    Pinned(Revision),
}

/// How long to wait for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// From the start of the program or the first connection to a server that is ready.
    pub startup: Duration,
    /// How long a server may take to answer `server/discover` before it counts as one of the legacy era. Bounded by a
    /// third of `startup`, so that the handshake still has its time.
    pub probe: Duration,
    /// A tool call: without an answer, and without progress where progress resets the clock.
    pub call: Duration,
    /// A tool call, however much progress it reports.
    pub call_ceiling: Duration,
    /// Any other request, one page of a list for instance.
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
    /// How long to wait for the answer to the probe.
    pub(crate) fn probe_limit(&self) -> Duration {
        self.probe.min(self.startup / 3)
    }
}

/// How much of what to accept from a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Pages of one list.
    pub pages: usize,
    /// Items of one list.
    pub items: usize,
    /// Bytes of one line on standard output, of one HTTP body, and of one server-sent event.
    pub message_bytes: usize,
    /// Lines and events that are no JSON-RPC message, over the life of a connection.
    pub garbage: u64,
    /// Lines of standard error to remember.
    pub stderr_lines: usize,
    /// HTTP requests that wait for their first byte at the same time.
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

/// How patiently to end the process of a stdio server (2025-11-25, lifecycle, "Shutdown").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Graces {
    /// After its standard input was closed, before SIGTERM.
    pub stdin_close: Duration,
    /// After SIGTERM, before SIGKILL.
    pub sigterm: Duration,
}

impl Default for Graces {
    fn default() -> Self {
        Self { stdin_close: Duration::from_secs(2), sigterm: Duration::from_secs(2) }
    }
}
