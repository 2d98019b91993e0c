//! Which server is spoken to, what the user gives to reach it, and why it cannot be spoken to at all.

use std::{collections::BTreeMap, fmt, io, path::PathBuf};

use reqwest::{
    Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use thiserror::Error;

/// A server to judge.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerTarget {
    /// A command that speaks over its standard streams.
    Command(ServerCommand),
    /// The URL of a Streamable HTTP endpoint, or of an HTTP+SSE stream.
    Url(ServerUrl),
}

/// How a server is started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerCommand {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables laid over the workbench's own environment.
    pub env: BTreeMap<String, String>,
    /// The directory to start it in; absent: the workbench's.
    pub directory: Option<PathBuf>,
}

impl fmt::Display for ServerCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.program)?;
        self.args.iter().try_for_each(|arg| write!(f, " {arg}"))
    }
}

/// Where a server is.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerUrl {
    /// The URL, as the user gave it.
    pub url: Url,
    /// Headers to send with everything: sent, never recorded, and their values are scrubbed from what comes back.
    pub headers: Vec<(String, String)>,
}

impl fmt::Debug for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("ServerUrl").field("url", &self.url.as_str()).field("headers", &names).finish()
    }
}

/// Why a server cannot be spoken to at all. None of these is a verdict on it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PeerError {
    /// Its process could not be started.
    #[error("the server `{command}` cannot be started")]
    Start {
        /// The command.
        command: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It was started, and ended or stayed silent before it had said anything that makes it a server.
    #[error("the server `{server}` does not answer: {why}")]
    Silent {
        /// The command or the URL.
        server: String,
        /// What happened instead.
        why: String,
        /// The end of its standard error.
        stderr: String,
    },
    /// Its URL cannot be reached.
    #[error("`{url}` cannot be reached: {error}")]
    Unreachable {
        /// The URL.
        url: String,
        /// What went wrong.
        error: String,
    },
    /// It asks for authorization.
    #[error("`{url}` asks for authorization (HTTP {status})")]
    Unauthorized {
        /// The URL.
        url: String,
        /// The status.
        status: u16,
    },
    /// A header that the user gave is no header.
    #[error("`{name}` is not a header that can be sent")]
    Header {
        /// Its name.
        name: String,
    },
    /// The HTTP client could not be made.
    #[error("the http client cannot be made")]
    Client {
        /// What it said.
        #[source]
        source: reqwest::Error,
    },
}

/// The user's headers, marked so that no log shows them.
pub(super) fn headers(server: &ServerUrl) -> Result<HeaderMap, PeerError> {
    let mut map = HeaderMap::new();
    for (name, value) in &server.headers {
        let refused = || PeerError::Header { name: name.clone() };
        let key = HeaderName::try_from(name.as_str()).map_err(|_| refused())?;
        let mut value = HeaderValue::try_from(value.as_str()).map_err(|_| refused())?;
        value.set_sensitive(true);
        map.append(key, value);
    }
    Ok(map)
}

/// What must never be recorded: the values of the user's headers, their words, and a password in the URL.
pub(super) fn secrets(server: &ServerUrl) -> Vec<String> {
    let values = server.headers.iter().flat_map(|(_, value)| {
        let words = value.split_whitespace().map(str::to_owned).filter(|word| word.len() >= 8);
        words.chain([value.clone()])
    });
    let mut secrets: Vec<String> = values.chain(server.url.password().map(str::to_owned)).collect();
    // The longest first, so that a part does not spoil the whole.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets
}
