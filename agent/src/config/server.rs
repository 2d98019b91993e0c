//! One configured server, as its file has it: nothing is expanded yet, and nothing of it that is secret can be printed.

mod authorization;
mod finish;
mod managed;
mod read;

use std::{fmt, ops::Range, time::Duration};

use client::{
    Inherit, RevisionChoice,
    auth::DpopPolicy,
    manager::{StartMode, ToolFilter},
};

pub(super) use self::managed::SpawnContext;
pub(super) use self::read::{read, rules};

/// A text of a file, in which variables may be named. It may hold a secret: `Debug` tells nothing of it. Two of them are
/// equal where their texts are, wherever those stand.
#[derive(Clone)]
pub struct ConfigString {
    text: String,
    span: Range<usize>,
}

impl ConfigString {
    pub(super) fn new(text: &str, span: &Range<usize>) -> Self {
        Self { text: text.to_owned(), span: span.clone() }
    }

    /// The text as it is in the file. It may hold a secret.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.text
    }

    pub(super) fn span(&self) -> &Range<usize> {
        &self.span
    }
}

impl PartialEq for ConfigString {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for ConfigString {}

impl fmt::Debug for ConfigString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConfigString(..)")
    }
}

/// A configured server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Where it is.
    pub endpoint: Endpoint,
    /// Whether it may be used at all.
    pub enabled: bool,
    /// Whether the start as a whole fails without it.
    pub required: bool,
    /// When it is started.
    pub start: StartMode,
    /// How long its start may take.
    pub startup_timeout: Option<Duration>,
    /// How long a call of one of its tools may take.
    pub tool_timeout: Option<Duration>,
    /// Which revision to speak.
    pub protocol: RevisionChoice,
    /// Which of its tools there are.
    pub tools: ToolFilter,
    /// What may be called.
    pub permissions: PermissionRules,
    /// How to log in.
    pub oauth: OauthSettings,
    /// Whether its tools are shown to the model at once, even where tools are searched for.
    pub always_load: bool,
    /// What somebody wrote about it.
    pub description: Option<String>,
}

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A program to start.
    Stdio(Stdio),
    /// A URL.
    Remote(Remote),
}

/// A program to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stdio {
    /// The program.
    pub command: ConfigString,
    /// Its arguments.
    pub args: Vec<ConfigString>,
    /// Variables to set.
    pub env: Vec<(String, ConfigString)>,
    /// Names of variables to pass on.
    pub env_vars: Vec<String>,
    /// What else to pass on.
    pub inherit: Inherit,
    /// The working directory.
    pub cwd: Option<ConfigString>,
}

/// How a URL is spoken to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum TransportChoice {
    /// Streamable HTTP, and HTTP+SSE where the server speaks no other.
    #[default]
    Auto,
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE of 2024-11-05.
    Sse,
}

impl TransportChoice {
    /// How it is written in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}

/// A URL, and what to send with every request to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// How it is spoken to.
    pub transport: TransportChoice,
    /// The URL.
    pub url: ConfigString,
    /// Headers to send.
    pub headers: Vec<(String, ConfigString)>,
    /// Headers whose values are those of variables: their names, and those of the variables.
    pub env_headers: Vec<(String, String)>,
    /// The variable that holds a bearer token.
    pub bearer_token_variable: Option<String>,
    /// The command that says more headers: a program with its arguments, or one text for a shell.
    pub headers_helper: Vec<ConfigString>,
}

impl Remote {
    /// Whether the configuration itself says how to authorize. OAuth never takes the place of that.
    #[must_use]
    pub fn has_static_authorization(&self) -> bool {
        let named = |name: &str| name.eq_ignore_ascii_case("authorization");
        self.bearer_token_variable.is_some()
            || self.headers.iter().any(|(name, _)| named(name))
            || self.env_headers.iter().any(|(name, _)| named(name))
    }
}

/// Rules of permission, word for word. What they mean is the business of [`crate::permissions`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PermissionRules {
    /// What may be called without being asked.
    pub allow: Vec<String>,
    /// What has to be asked for.
    pub ask: Vec<String>,
    /// What may not be called.
    pub deny: Vec<String>,
}

/// How to log in at a server, where the defaults are not enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OauthSettings {
    /// Whether OAuth is tried at all.
    pub enabled: bool,
    /// The ID of a client that is registered already.
    pub client_id: Option<ConfigString>,
    /// The variable that holds its secret.
    pub client_secret_variable: Option<String>,
    /// The file that holds its private key, as PEM.
    pub private_key_file: Option<ConfigString>,
    /// The name under which it registers itself.
    pub client_name: Option<String>,
    /// The URL of a document about it.
    pub client_metadata_url: Option<ConfigString>,
    /// Where the authorization server says what it is, if that is not to be found out.
    pub server_metadata_url: Option<ConfigString>,
    /// The resource to ask tokens for, if it is not the one that the server names.
    pub resource: Option<ConfigString>,
    /// The authorization server that knows it.
    pub issuer: Option<ConfigString>,
    /// The scopes to ask for.
    pub scopes: Option<Vec<String>>,
    /// Whether the client asks in its own name, and not in that of a person.
    pub client_credentials: bool,
    /// Whether tokens are bound to a key.
    pub dpop: DpopPolicy,
    /// The port on 127.0.0.1 to which the browser comes back.
    pub callback_port: Option<u16>,
    /// The path to which the browser comes back.
    pub callback_path: Option<String>,
}

impl Default for OauthSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            client_id: None,
            client_secret_variable: None,
            private_key_file: None,
            client_name: None,
            client_metadata_url: None,
            server_metadata_url: None,
            resource: None,
            issuer: None,
            scopes: None,
            client_credentials: false,
            dpop: DpopPolicy::Auto,
            callback_port: None,
            callback_path: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_tells_nothing_of_a_text() {
        assert_eq!(format!("{:?}", ConfigString::new("hunter2", &(0..7))), "ConfigString(..)");
    }
}
