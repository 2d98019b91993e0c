//! Authorization settings of one server. Plain values.

use std::{path::PathBuf, time::Duration};

use url::Url;

use super::credentials::{AuthMethod, Secret};

/// Authorization settings of one server. The defaults discover everything and let the user log in with a browser.
#[derive(Debug, Clone)]
pub struct AuthSettings {
    /// The grant.
    pub grant: Grant,
    /// A preregistered client.
    pub client: Option<ConfiguredClient>,
    /// The URL of a client ID metadata document (2025-11-25, client ID metadata documents).
    pub client_metadata_url: Option<Url>,
    /// The name for dynamic registration.
    pub client_name: String,
    /// The URL of the authorization server metadata. `None` discovers it as specified.
    pub server_metadata_url: Option<Url>,
    /// The resource indicator (RFC 8707). `None` uses the resource metadata or the server's URL.
    pub resource: Option<String>,
    /// The scopes to request if the challenge has none. `None` requests all scopes of the resource.
    pub scopes: Option<Vec<String>>,
    /// Whether tokens are bound to a key.
    pub dpop: DpopPolicy,
    /// Timeout of one request to an authorization server.
    pub timeout: Duration,
}

impl Default for AuthSettings {
    fn default() -> Self {
        Self {
            grant: Grant::AuthorizationCode,
            client: None,
            client_metadata_url: None,
            client_name: "mcp-workbench".to_owned(),
            server_metadata_url: None,
            resource: None,
            scopes: None,
            dpop: DpopPolicy::Auto,
            timeout: Duration::from_secs(20),
        }
    }
}

/// The grant that is exchanged for a token.
#[derive(Debug, Clone, Default)]
pub enum Grant {
    /// Login with the browser (OAuth 2.1, section 4.1).
    #[default]
    AuthorizationCode,
    /// Client credentials (extension `oauth-client-credentials`). Requires a configured client.
    ClientCredentials,
    /// The ID token of an enterprise login (extension `enterprise-managed-authorization`). Requires a configured
    /// client.
    Enterprise(Enterprise),
    /// The assertion of a workload (RFC 7523, section 2.1).
    Workload(TokenSource),
}

/// The identity provider of an enterprise, and the credentials for it.
#[derive(Debug, Clone)]
pub struct Enterprise {
    /// Its token exchange endpoint (RFC 8693).
    pub token_endpoint: Url,
    /// The client ID at the identity provider.
    pub client_id: String,
    /// The client secret at the identity provider.
    pub client_secret: Option<Secret>,
    /// The ID token of the user.
    pub id_token: TokenSource,
}

/// The source of an external token. It is read for each use, because its issuer may renew it.
#[derive(Debug, Clone)]
pub enum TokenSource {
    /// A literal value.
    Text(Secret),
    /// A file, for example one that Kubernetes updates.
    File(PathBuf),
    /// An environment variable.
    Environment(String),
}

/// A preregistered client.
#[derive(Debug, Clone)]
pub struct ConfiguredClient {
    /// The client ID.
    pub id: String,
    /// The client secret.
    pub secret: Option<Secret>,
    /// The private key for assertions, as PEM.
    pub private_key: Option<Secret>,
    /// The signature algorithm (`ES256`, `RS256`, …). `None` selects it by the key.
    pub signing_algorithm: Option<String>,
    /// The authentication method. `None` selects one that the server supports.
    pub auth_method: Option<AuthMethod>,
    /// The issuer at which it is registered. `None` means the first one of the server.
    pub issuer: Option<String>,
}

impl ConfiguredClient {
    /// A public client.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            secret: None,
            private_key: None,
            signing_algorithm: None,
            auth_method: None,
            issuer: None,
        }
    }
}

/// Whether tokens are bound to a key (RFC 9449).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DpopPolicy {
    /// If both the server and the authorization server support it.
    #[default]
    Auto,
    /// Always. Tokens that are not bound are rejected.
    Always,
    /// Never.
    Never,
}
