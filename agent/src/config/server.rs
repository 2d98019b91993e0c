//! One configured server, before variables are expanded.

mod authorization;
mod finish;
mod managed;
mod read;

use std::time::Duration;

use client::{
    Inherit, RevisionChoice,
    auth::DpopPolicy,
    manager::{StartMode, ToolFilter},
};
use diagnostics::document::TreeCursor;

use super::{origin::ConfigString, reader::Reader};

pub(super) use self::managed::SpawnContext;
pub(super) use self::read::rules;

/// Reads a server; `None` if it has errors.
pub(super) fn read(reader: &mut Reader<'_>, entry: TreeCursor<'_>) -> Option<Server> {
    let before = reader.errors;
    let raw = read::RawServer::read(reader, entry)?;
    finish::finish(raw, reader, entry).filter(|_| reader.errors == before)
}

/// A configured server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Command or URL.
    pub endpoint: Endpoint,
    /// Whether the server may be used.
    pub enabled: bool,
    /// Whether startup fails if this server fails to start.
    pub required: bool,
    /// Start at once, or with the first use.
    pub start: StartMode,
    /// Timeout of the start.
    pub startup_timeout: Option<Duration>,
    /// Timeout of a tool call.
    pub tool_timeout: Option<Duration>,
    /// Protocol revision.
    pub protocol: RevisionChoice,
    /// Tools that are available.
    pub tools: ToolFilter,
    /// Permission rules for the tools of the server.
    pub permissions: PermissionRules,
    /// OAuth settings.
    pub oauth: OauthSettings,
    /// Whether the model always sees the tools, even if other tools are found by search.
    pub always_load: bool,
    /// Description for users.
    pub description: Option<String>,
}

/// A command or a URL, with its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A command.
    Stdio(Stdio),
    /// A URL.
    Remote(Remote),
}

/// A command that is launched as a stdio server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stdio {
    /// Name or path of the program.
    pub command: ConfigString,
    /// Arguments.
    pub args: Vec<ConfigString>,
    /// Environment variables to set.
    pub env: Vec<(String, ConfigString)>,
    /// Names of environment variables to pass on.
    pub env_vars: Vec<String>,
    /// The other environment variables to pass on.
    pub inherit: Inherit,
    /// The working directory.
    pub cwd: Option<ConfigString>,
}

/// Transport of a URL.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum TransportChoice {
    /// Streamable HTTP, or HTTP+SSE if the server supports nothing else.
    #[default]
    Auto,
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE of revision 2024-11-05.
    Sse,
}

impl TransportChoice {
    /// The name of the transport in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}

/// A URL with the headers of its requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// Transport.
    pub transport: TransportChoice,
    /// The URL.
    pub url: ConfigString,
    /// Headers with their values.
    pub headers: Vec<(String, ConfigString)>,
    /// Headers with the environment variables that contain their values.
    pub env_headers: Vec<(String, String)>,
    /// The environment variable with a bearer token.
    pub bearer_token_variable: Option<String>,
    /// The command that prints more headers: a program with its arguments, or one string for a shell.
    pub headers_helper: Vec<ConfigString>,
}

impl Remote {
    /// Whether the configuration contains an `Authorization` header or a bearer token. Then OAuth is not used.
    #[must_use]
    pub fn has_static_authorization(&self) -> bool {
        let named = |name: &str| name.eq_ignore_ascii_case("authorization");
        self.bearer_token_variable.is_some()
            || self.headers.iter().any(|(name, _)| named(name))
            || self.env_headers.iter().any(|(name, _)| named(name))
    }
}

/// Permission rules, as written. [`crate::permissions`] parses them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PermissionRules {
    /// Tools that are called without approval.
    pub allow: Vec<String>,
    /// Tools that need the approval of the user.
    pub ask: Vec<String>,
    /// Tools that are never called.
    pub deny: Vec<String>,
}

impl PermissionRules {
    /// A rule of one server that matches only this tool.
    #[must_use]
    pub fn exactly(tool: &str) -> String {
        let plain = |ch: char| ch.is_alphanumeric() || matches!(ch, '_' | '-' | '.');
        tool.chars().flat_map(|ch| (!plain(ch)).then_some('\\').into_iter().chain([ch])).collect()
    }
}

/// OAuth settings of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OauthSettings {
    /// Whether OAuth is used.
    pub enabled: bool,
    /// The ID of a pre-registered client.
    pub client_id: Option<ConfigString>,
    /// The environment variable with the client secret.
    pub client_secret_variable: Option<String>,
    /// The PEM file with the private key of the client.
    pub private_key_file: Option<ConfigString>,
    /// The client name for dynamic client registration.
    pub client_name: Option<String>,
    /// The URL of the client metadata document.
    pub client_metadata_url: Option<ConfigString>,
    /// The URL of the authorization server metadata; `None` to discover it.
    pub server_metadata_url: Option<ConfigString>,
    /// The resource to request tokens for; `None` for the one that the server names.
    pub resource: Option<ConfigString>,
    /// The issuer that the client is registered with.
    pub issuer: Option<ConfigString>,
    /// The scopes to request.
    pub scopes: Option<Vec<String>>,
    /// Whether to use the client credentials grant, without a user.
    pub client_credentials: bool,
    /// Whether tokens are bound to a key (DPoP).
    pub dpop: DpopPolicy,
    /// The port of the redirect URI on 127.0.0.1.
    pub callback_port: Option<u16>,
    /// The path of the redirect URI.
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
