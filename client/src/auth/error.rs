//! Errors of authorization, with suggestions.
//!
//! Texts of authorization servers are untrusted: they are truncated and their control characters removed. Errors
//! contain no secrets.

use std::{fmt, sync::Arc};

use crate::event::excerpt;

/// The host of GitHub's server.
const GITHUB: &str = "api.githubcopilot.com";

/// What works at GitHub's server without a registered client.
const GITHUB_ADVICE: &str = ". GitHub's server also accepts a personal access token: put it into an environment variable, \
                             and add the server with `--bearer-token-env-var <variable>`";

/// Authorization failed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("server `{server}`: {failure}{}", Advice(self))]
pub struct AuthError {
    /// The name of the server.
    pub server: String,
    /// The cause.
    #[source]
    pub failure: AuthFailure,
}

/// The reason why authorization failed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum AuthFailure {
    /// The user has to log in: for the first time, or because the grant has expired.
    #[error("the user has to log in: {reason}")]
    LoginRequired {
        /// The reason.
        reason: String,
    },
    /// The user or the authorization server denied the request.
    #[error("authorization was denied: {error}{}", Described(description))]
    Denied {
        /// The error code of the authorization response (RFC 6749, section 4.1.2.1).
        error: String,
        /// The description of the server.
        description: Option<String>,
    },
    /// The client is not registered, and the authorization server supports no registration.
    #[error("authorization server {issuer} does not support client registration: configure a client ID")]
    RegistrationRequired {
        /// The issuer.
        issuer: String,
    },
    /// Registration failed (RFC 7591, section 3.2.2).
    #[error("client registration failed at {endpoint}: {error}{}", Described(description))]
    Registration {
        /// The endpoint.
        endpoint: String,
        /// The error code, or the status.
        error: String,
        /// The description of the server.
        description: Option<String>,
    },
    /// No usable metadata was found.
    #[error("no authorization server was found: {}", tried.join("; "))]
    Discovery {
        /// The URLs, each with its outcome.
        tried: Vec<String>,
    },
    /// The metadata has another issuer (RFC 8414, section 3.3).
    #[error("the metadata of authorization server {expected} has the issuer {found}")]
    IssuerMismatch {
        /// The expected issuer.
        expected: String,
        /// The issuer in the metadata.
        found: String,
    },
    /// The metadata has another resource (RFC 9728, section 3.3).
    #[error("the metadata of {url} has another resource, {resource}")]
    ResourceMismatch {
        /// The URL of the server.
        url: String,
        /// The resource in the metadata.
        resource: String,
    },
    /// The client is registered at another authorization server than the one that the server uses now (2026-07-28,
    /// client registration, "Authorization Server Binding").
    #[error("the client is registered at {registered_at}, but the server now uses {now}")]
    ServerChanged {
        /// The issuer at which the client is registered.
        registered_at: String,
        /// The issuer that the server uses now.
        now: String,
    },
    /// The authorization server lacks a required feature.
    #[error("authorization server {issuer} does not support {what}")]
    Unsupported {
        /// The issuer.
        issuer: String,
        /// The missing feature.
        what: String,
    },
    /// The authorization response is invalid.
    #[error("invalid authorization response: {problem}")]
    Response {
        /// The problem.
        problem: String,
    },
    /// A URL is blocked by the address policy.
    #[error("{what} is blocked by the address policy: {problem}")]
    ForbiddenUrl {
        /// The URL.
        what: String,
        /// The reason.
        problem: String,
    },
    /// The token endpoint returned an error (RFC 6749, section 5.2).
    #[error("the authorization server rejected the {grant} grant: {error}{}", Described(description))]
    Token {
        /// The grant type.
        grant: String,
        /// The error code, or the status.
        error: String,
        /// The description of the server.
        description: Option<String>,
    },
    /// The revocation endpoint returned an error (RFC 7009, section 2.2.1).
    #[error("revocation failed at {endpoint}: {error}{}", Described(description))]
    Revocation {
        /// The endpoint.
        endpoint: String,
        /// The error code, or the status.
        error: String,
        /// The description of the server.
        description: Option<String>,
    },
    /// The response of an endpoint violates the specification.
    #[error("invalid response from {endpoint}: {problem}")]
    Malformed {
        /// The endpoint.
        endpoint: String,
        /// The problem.
        problem: String,
    },
    /// The server still rejects the token.
    #[error("the server still rejects the token after {attempts} attempts{}", Described(error))]
    GaveUp {
        /// Number of attempts.
        attempts: u32,
        /// The last error in the server's challenge.
        error: Option<String>,
    },
    /// The server requires more scopes than the authorization server grants.
    #[error("the server requires the scopes `{}`; requesting them again did not help", scopes.join(" "))]
    InsufficientScope {
        /// The scopes.
        scopes: Vec<String>,
    },
    /// The server requires scopes that the user has not granted, and without a browser the client cannot ask for them.
    #[error("the user has to grant the scopes `{}`", scopes.join(" "))]
    ScopesNotGranted {
        /// The scopes.
        scopes: Vec<String>,
    },
    /// An endpoint is unreachable.
    #[error("{endpoint} is unreachable")]
    Unreachable {
        /// The endpoint.
        endpoint: String,
        /// The cause.
        #[source]
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// The configuration is invalid: a key, an assertion or a URL.
    #[error("{what}: {problem}")]
    Config {
        /// The setting.
        what: String,
        /// The problem.
        problem: String,
    },
    /// The browser failed.
    #[error("the browser failed: {problem}")]
    Browser {
        /// The problem.
        problem: String,
    },
    /// The token could not be renewed, for a temporary reason.
    #[error("token renewal failed: {problem}")]
    Renewal {
        /// The problem.
        problem: String,
    },
    /// The credential store failed.
    #[error("the credential store failed")]
    Store {
        /// The cause.
        #[source]
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
}

impl AuthError {
    /// An error of this server.
    #[must_use]
    pub fn new(server: impl Into<String>, failure: AuthFailure) -> Self {
        Self { server: server.into(), failure }
    }

    /// A stable name of the kind.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        self.failure.kind()
    }

    /// The command that the user can run, if there is one.
    #[must_use]
    pub fn command(&self) -> Option<String> {
        let login = format!("mcp-workbench client login {}", shell_quoted(&self.server));
        match &self.failure {
            AuthFailure::LoginRequired { .. }
            | AuthFailure::Denied { .. }
            | AuthFailure::Response { .. }
            | AuthFailure::Token { .. }
            | AuthFailure::GaveUp { .. }
            | AuthFailure::InsufficientScope { .. }
            | AuthFailure::ScopesNotGranted { .. }
            | AuthFailure::Browser { .. } => Some(login),
            AuthFailure::RegistrationRequired { .. }
            | AuthFailure::Registration { .. }
            | AuthFailure::ServerChanged { .. } => Some(format!("{login} --client-id <id>")),
            _ => None,
        }
    }
}

impl AuthError {
    /// Whether the login failed at GitHub's server, whose authorization server registers no clients.
    fn is_from_github(&self) -> bool {
        let has_host = url::Url::parse(&self.server).is_ok_and(|url| url.host_str() == Some(GITHUB));
        has_host && !matches!(self.failure, AuthFailure::LoginRequired { .. } | AuthFailure::Store { .. })
    }
}

impl AuthFailure {
    /// A stable name of the kind.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::LoginRequired { .. } => "login-required",
            Self::Denied { .. } => "authorization-denied",
            Self::RegistrationRequired { .. } => "client-registration-required",
            Self::Registration { .. } => "client-registration-failed",
            Self::Discovery { .. } => "authorization-server-not-found",
            Self::IssuerMismatch { .. } => "issuer-mismatch",
            Self::ResourceMismatch { .. } => "resource-mismatch",
            Self::ServerChanged { .. } => "authorization-server-changed",
            Self::Unsupported { .. } => "authorization-server-unsupported",
            Self::Response { .. } => "authorization-response-rejected",
            Self::ForbiddenUrl { .. } => "forbidden-url",
            Self::Token { .. } => "token-refused",
            Self::Revocation { .. } => "revocation-refused",
            Self::Malformed { .. } => "malformed-response",
            Self::GaveUp { .. } => "authorization-gave-up",
            Self::InsufficientScope { .. } | Self::ScopesNotGranted { .. } => "insufficient-scope",
            Self::Unreachable { .. } => "authorization-unreachable",
            Self::Config { .. } => "invalid-authorization-config",
            Self::Browser { .. } => "browser-failed",
            Self::Renewal { .. } => "renewal-failed",
            Self::Store { .. } => "credential-store-failed",
        }
    }
}

/// Truncates a text of a server, and removes its control characters.
pub(super) fn quoted(text: &str) -> String {
    excerpt(text.as_bytes())
}

/// Quotes a name for a shell.
fn shell_quoted(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':');
    if !name.is_empty() && name.chars().all(plain) {
        return name.to_owned();
    }
    format!("'{}'", name.replace('\'', r"'\''"))
}

struct Advice<'a>(&'a AuthError);

impl fmt::Display for Advice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(command) = self.0.command() {
            write!(f, "; run `{command}`")?;
        }
        if self.0.is_from_github() {
            f.write_str(GITHUB_ADVICE)?;
        }
        Ok(())
    }
}

struct Described<'a>(&'a Option<String>);

impl fmt::Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(text) => write!(f, " ({text})"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_command_that_helps_and_quotes_the_name() {
        let failure = AuthFailure::LoginRequired { reason: "not logged in".to_owned() };
        let error = AuthError::new("it's mine", failure);
        let message = error.to_string();
        assert!(message.ends_with(r"; run `mcp-workbench client login 'it'\''s mine'`"), "{message}");
        let failure = AuthFailure::IssuerMismatch { expected: "https://a".to_owned(), found: "https://b".to_owned() };
        let error = AuthError::new("mine", failure);
        assert_eq!(error.command(), None);
        assert!(error.to_string().ends_with("has the issuer https://b"), "{error}");
    }

    #[test]
    fn a_failed_login_at_github_suggests_a_personal_access_token() {
        let failed = || AuthFailure::RegistrationRequired { issuer: "https://github.com/login/oauth".to_owned() };
        let at = |server: &str| AuthError::new(server, failed()).to_string();
        let message = at("https://api.githubcopilot.com/mcp/");
        assert!(message.contains("personal access token") && message.contains("--bearer-token-env-var"), "{message}");
        assert!(!at("https://api.example.com/mcp/").contains("personal access token"));
    }
}
