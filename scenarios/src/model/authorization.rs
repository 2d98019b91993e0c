//! The authorization server of a scenario for clients.

use mock_servers::oauth::AuthScript;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An authorization server that protects the mock server of a scenario (subject `client`, over Streamable HTTP). Clients
/// that take no part in authorization are skipped.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Authorization {
    /// The authorization server, and the protected resource. The context of the client has the credentials of the first
    /// client in `clients`.
    pub server: AuthScript,
    /// Another authorization server, which replaces the first one after an accepted request.
    pub successor: Option<AuthScript>,
    /// Whether one origin has the endpoints of both servers, as in 2025-03-26. The mock server is then the one of the
    /// command `mock oauth`: it has one tool, `test-tool`.
    pub same_origin: bool,
}

/// How a client obtains a token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TokenGrant {
    /// With the consent of the user. The authorization endpoint redirects at once.
    #[default]
    AuthorizationCode,
    /// With its own credentials (extension `oauth-client-credentials`).
    ClientCredentials,
    /// With an ID token of the user's enterprise (extension `enterprise-managed-authorization`).
    EnterpriseManaged,
    /// With the assertion of a workload (RFC 7523).
    WorkloadIdentity,
}

impl TokenGrant {
    /// The value of `grant_type` in the request for the access token.
    #[must_use]
    pub fn grant_type(self) -> &'static str {
        match self {
            Self::AuthorizationCode => "authorization_code",
            Self::ClientCredentials => "client_credentials",
            Self::EnterpriseManaged | Self::WorkloadIdentity => "urn:ietf:params:oauth:grant-type:jwt-bearer",
        }
    }
}
