//! What can go wrong on the way to a token, and what a person can do about it.
//!
//! What an authorization server says about a failure is hostile text: it is shortened, and its control characters are taken
//! out, before it becomes part of an error. No error holds a secret.

use std::{fmt, sync::Arc};

use crate::event::excerpt;

/// A server could not be authorized with.
#[derive(Debug, Clone, thiserror::Error)]
#[error("server `{server}`: {failure}{}", Advice(self))]
pub struct AuthError {
    /// The name of the server.
    pub server: String,
    /// What went wrong.
    #[source]
    pub failure: AuthFailure,
}

/// Why a server could not be authorized with.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum AuthFailure {
    /// Only the user can go on: nobody has logged in yet, or what was granted has ended.
    #[error("the user has to log in: {reason}")]
    LoginRequired {
        /// Why.
        reason: String,
    },
    /// The user, or the authorization server on their behalf, said no.
    #[error("authorization was refused: {error}{}", Described(description))]
    Denied {
        /// The error code of the authorization response (RFC 6749, section 4.1.2.1).
        error: String,
        /// What the server says about it.
        description: Option<String>,
    },
    /// The authorization server knows no client of ours, and offers no way to become one.
    #[error("authorization server {issuer} registers no clients by itself: a client ID has to be configured")]
    RegistrationRequired {
        /// The authorization server.
        issuer: String,
    },
    /// Registration failed (RFC 7591, section 3.2.2).
    #[error("the client could not be registered at {endpoint}: {error}{}", Described(description))]
    Registration {
        /// Where.
        endpoint: String,
        /// The error code, or the status.
        error: String,
        /// What the server says about it.
        description: Option<String>,
    },
    /// There is no usable metadata.
    #[error("no authorization server was found: {}", tried.join("; "))]
    Discovery {
        /// What was asked, each with its outcome.
        tried: Vec<String>,
    },
    /// Metadata names another issuer than the one that it was asked for (RFC 8414, section 3.3).
    #[error("the metadata of authorization server {expected} is that of {found}")]
    IssuerMismatch {
        /// The issuer that was asked for.
        expected: String,
        /// The issuer in the document.
        found: String,
    },
    /// The metadata is that of another resource (RFC 9728, section 3.3).
    #[error("the metadata of {url} is that of another resource, {resource}")]
    ResourceMismatch {
        /// The URL of the server.
        url: String,
        /// The resource in the document.
        resource: String,
    },
    /// The server now has another authorization server than the one at which the client is registered (2026-07-28, client
    /// registration, "Authorization Server Binding").
    #[error("the client is registered at {registered_at}, and the server now wants {now}")]
    ServerChanged {
        /// The issuer at which the client is registered.
        registered_at: String,
        /// The issuer that the server names now.
        now: String,
    },
    /// The authorization server does not do what the flow needs.
    #[error("authorization server {issuer} does not support {what}")]
    Unsupported {
        /// The authorization server.
        issuer: String,
        /// What is missing.
        what: String,
    },
    /// The authorization response cannot be trusted.
    #[error("the authorization response cannot be trusted: {problem}")]
    Response {
        /// What is wrong with it.
        problem: String,
    },
    /// A URL leads to where this client must not ask.
    #[error("{what} must not be asked: {problem}")]
    ForbiddenUrl {
        /// The URL.
        what: String,
        /// Why not.
        problem: String,
    },
    /// The token endpoint refused (RFC 6749, section 5.2).
    #[error("the token endpoint refused the {grant} grant: {error}{}", Described(description))]
    Token {
        /// The grant.
        grant: String,
        /// The error code, or the status.
        error: String,
        /// What the server says about it.
        description: Option<String>,
    },
    /// The revocation endpoint refused (RFC 7009, section 2.2.1).
    #[error("{endpoint} did not revoke a token: {error}{}", Described(description))]
    Revocation {
        /// The endpoint.
        endpoint: String,
        /// The error code, or the status.
        error: String,
        /// What the server says about it.
        description: Option<String>,
    },
    /// The answer of an endpoint is not what the standards prescribe.
    #[error("{endpoint} gave an unusable answer: {problem}")]
    Malformed {
        /// The endpoint.
        endpoint: String,
        /// What is wrong with the answer.
        problem: String,
    },
    /// The server keeps refusing what the authorization server grants.
    #[error("the server still refuses after {attempts} attempts to authorize{}", Described(error))]
    GaveUp {
        /// How often it was tried.
        attempts: u32,
        /// The last error in the server's challenge.
        error: Option<String>,
    },
    /// The server wants more scopes than the authorization server grants.
    #[error("the server wants the scopes `{}`, and asking for them again leads nowhere", scopes.join(" "))]
    InsufficientScope {
        /// The scopes.
        scopes: Vec<String>,
    },
    /// An endpoint could not be reached.
    #[error("{endpoint} could not be asked")]
    Unreachable {
        /// The endpoint.
        endpoint: String,
        /// Why.
        #[source]
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// What the user configured cannot be used: a key, an assertion, a URL.
    #[error("{what}: {problem}")]
    Config {
        /// What it is about.
        what: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The user's browser could not do its part.
    #[error("the browser could not do its part: {problem}")]
    Browser {
        /// What went wrong.
        problem: String,
    },
    /// The token could not be renewed, for a reason that may pass.
    #[error("the token could not be renewed: {problem}")]
    Renewal {
        /// What went wrong.
        problem: String,
    },
    /// Credentials could not be read or kept.
    #[error("credentials could not be read or kept")]
    Store {
        /// Why.
        #[source]
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
}

impl AuthError {
    /// A failure of this server.
    #[must_use]
    pub fn new(server: impl Into<String>, failure: AuthFailure) -> Self {
        Self { server: server.into(), failure }
    }

    /// A stable name of the kind of failure.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        self.failure.kind()
    }

    /// The command that a person runs to go on, where one helps.
    #[must_use]
    pub fn command(&self) -> Option<String> {
        let login = format!("mcp-workbench client login {}", quoted(&self.server));
        match &self.failure {
            AuthFailure::LoginRequired { .. }
            | AuthFailure::Denied { .. }
            | AuthFailure::Response { .. }
            | AuthFailure::Token { .. }
            | AuthFailure::GaveUp { .. }
            | AuthFailure::InsufficientScope { .. }
            | AuthFailure::Browser { .. } => Some(login),
            AuthFailure::RegistrationRequired { .. }
            | AuthFailure::Registration { .. }
            | AuthFailure::ServerChanged { .. } => Some(format!("{login} --client-id <id>")),
            _ => None,
        }
    }
}

impl AuthFailure {
    /// A stable name of the kind of failure.
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
            Self::Malformed { .. } => "malformed-answer",
            Self::GaveUp { .. } => "authorization-gave-up",
            Self::InsufficientScope { .. } => "insufficient-scope",
            Self::Unreachable { .. } => "authorization-unreachable",
            Self::Config { .. } => "invalid-authorization-config",
            Self::Browser { .. } => "browser-failed",
            Self::Renewal { .. } => "renewal-failed",
            Self::Store { .. } => "credential-store-failed",
        }
    }
}

/// A text of a server, made fit for an error message.
pub(super) fn told(text: &str) -> String {
    excerpt(text.as_bytes())
}

/// A name as it is written on a command line.
fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':');
    if !name.is_empty() && name.chars().all(plain) {
        return name.to_owned();
    }
    format!("'{}'", name.replace('\'', r"'\''"))
}

struct Advice<'a>(&'a AuthError);

impl fmt::Display for Advice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.command() {
            Some(command) => write!(f, "; run `{command}`"),
            None => Ok(()),
        }
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
        let failure = AuthFailure::LoginRequired { reason: "nobody has logged in yet".to_owned() };
        let error = AuthError::new("it's mine", failure);
        let said = error.to_string();
        assert!(said.ends_with(r"; run `mcp-workbench client login 'it'\''s mine'`"), "{said}");
        let failure = AuthFailure::IssuerMismatch { expected: "https://a".to_owned(), found: "https://b".to_owned() };
        let error = AuthError::new("mine", failure);
        assert_eq!(error.command(), None);
        assert!(error.to_string().ends_with("is that of https://b"), "{error}");
    }
}
