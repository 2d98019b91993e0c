//! The server under test, its credentials, and errors that prevent a test.

use std::{collections::BTreeMap, fmt, io, path::PathBuf};

use client::http_client::SocketUrl;
use reqwest::{
    Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use thiserror::Error;

/// Number of lines of standard error in a message.
const STDERR_LINES: usize = 20;

/// A server under test.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerTarget {
    /// A command that communicates over stdio.
    Command(ServerCommand),
    /// The URL of a Streamable HTTP endpoint, or of an HTTP+SSE stream. It may name a Unix socket.
    Url(ServerUrl),
}

/// Command, arguments and environment of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerCommand {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment variables to set.
    pub env: BTreeMap<String, String>,
    /// Working directory; absent: that of mcp-workbench.
    pub directory: Option<PathBuf>,
}

impl fmt::Display for ServerCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.program)?;
        self.args.iter().try_for_each(|arg| write!(f, " {arg}"))
    }
}

/// URL and headers of a server.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerUrl {
    /// The URL.
    pub url: Url,
    /// Headers of every request. They are not recorded, and their values are redacted in recorded responses.
    pub headers: Vec<(String, String)>,
}

impl ServerUrl {
    /// The URL of requests, and the Unix socket of `unix:///path/of/the/socket#/path/of/the/endpoint`.
    pub(super) fn address(&self) -> Result<SocketUrl, PeerError> {
        SocketUrl::new(&self.url).map_err(|error| PeerError::Unreachable { url: self.url.to_string(), error })
    }

    /// Whether the user gave authorization.
    pub(crate) fn has_authorization(&self) -> bool {
        self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"))
    }
}

impl fmt::Debug for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("ServerUrl").field("url", &self.url.as_str()).field("headers", &names).finish()
    }
}

/// A server that cannot be tested at all. This is not a verdict.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PeerError {
    /// Its process cannot be started.
    #[error("cannot start server `{command}`")]
    Start {
        /// The command.
        command: String,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// It exited or did not send a valid response.
    #[error(transparent)]
    Silent(Box<SilentServer>),
    /// Its URL is unreachable.
    #[error("cannot reach `{url}`: {error}")]
    Unreachable {
        /// The URL.
        url: String,
        /// The error.
        error: String,
    },
    /// It requires authorization.
    #[error("`{url}` requires authorization (HTTP {status})")]
    Unauthorized {
        /// The URL.
        url: String,
        /// The HTTP status.
        status: u16,
    },
    /// A header of the user is invalid.
    #[error("`{name}` is not a valid header")]
    Header {
        /// Name of the header.
        name: String,
    },
    /// The HTTP client cannot be created.
    #[error("cannot create the HTTP client")]
    Client {
        /// The error.
        #[source]
        source: reqwest::Error,
    },
}

/// A server that did not respond to the first request.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct SilentServer {
    /// The command or the URL.
    pub server: String,
    /// The requests sent, `initialize` for example.
    pub sent: String,
    /// What happened instead of a response.
    pub why: String,
    /// Whether it had no response within the timeout of the start.
    pub timed_out: bool,
    /// Exit status of the process, if it exited by itself.
    pub exit: Option<String>,
    /// The end of its standard error.
    pub stderr: String,
}

impl fmt::Display for SilentServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server, sent, why, exit, stderr, .. } = self;
        write!(f, "server `{server}` did not respond to {sent}: {why}")?;
        exit.iter().try_for_each(|exit| write!(f, "; it {exit}"))?;
        if stderr.trim().is_empty() {
            return Ok(());
        }
        f.write_str("\n  end of its standard error:")?;
        let lines: Vec<&str> = stderr.trim_end().lines().collect();
        lines.iter().skip(lines.len().saturating_sub(STDERR_LINES)).try_for_each(|line| write!(f, "\n    | {line}"))
    }
}

/// The user's headers, marked as sensitive so that no log contains them.
pub(super) fn headers(server: &ServerUrl) -> Result<HeaderMap, PeerError> {
    let mut map = HeaderMap::new();
    for (name, value) in &server.headers {
        let invalid = || PeerError::Header { name: name.clone() };
        let key = HeaderName::try_from(name.as_str()).map_err(|_| invalid())?;
        let mut value = HeaderValue::try_from(value.as_str()).map_err(|_| invalid())?;
        value.set_sensitive(true);
        map.append(key, value);
    }
    Ok(map)
}

/// Strings to redact: the values of the user's headers, their words, and the password of the URL.
pub(super) fn secrets(server: &ServerUrl) -> Vec<String> {
    let values = server.headers.iter().flat_map(|(_, value)| {
        let words = value.split_whitespace().map(str::to_owned).filter(|word| word.len() >= 8);
        words.chain([value.clone()])
    });
    let mut secrets: Vec<String> = values.chain(server.url.password().map(str::to_owned)).collect();
    // The longest first: a replaced part would hide the rest of a longer secret.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets
}
