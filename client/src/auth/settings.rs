//! How a client authorizes with one server, as the host program configures it. Plain values; nothing here is asked for.

use std::{path::PathBuf, time::Duration};

use url::Url;

use super::credentials::{AuthMethod, Secret};

/// How to get tokens for one server. The default does what a person at a desk needs: it finds everything out by itself.
#[derive(Debug, Clone)]
pub struct AuthSettings {
    /// What is exchanged for a token.
    pub grant: Grant,
    /// A client that is known to the authorization server already.
    pub client: Option<ConfiguredClient>,
    /// The URL of a document about this client, which may stand for its ID (2025-11-25, client ID metadata documents).
    pub client_metadata_url: Option<Url>,
    /// The name under which it registers itself.
    pub client_name: String,
    /// The document in which the authorization server says what it is, where the server does not lead to it, or to a wrong
    /// one. Absent: it is found as the specification says.
    pub server_metadata_url: Option<Url>,
    /// The resource to ask tokens for (RFC 8707). Absent: what the server's metadata says, else its URL.
    pub resource: Option<String>,
    /// The scopes to ask for, where the server does not name those that it needs. Absent: what the server offers.
    pub scopes: Option<Vec<String>>,
    /// Whether tokens are bound to a key.
    pub dpop: DpopPolicy,
    /// How long one request to an authorization server may take.
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

/// What is exchanged for a token.
#[derive(Debug, Clone, Default)]
pub enum Grant {
    /// The consent of a person, in their browser (OAuth 2.1, section 4.1).
    #[default]
    AuthorizationCode,
    /// The client's own credentials (extension `oauth-client-credentials`). The client must be configured.
    ClientCredentials,
    /// The ID token of a person who signed on at their enterprise (extension `enterprise-managed-authorization`). The client
    /// must be configured.
    Enterprise(Enterprise),
    /// The assertion of a workload about itself (RFC 7523, section 2.1).
    Workload(TokenSource),
}

/// The identity provider of an enterprise, and what it is shown.
#[derive(Debug, Clone)]
pub struct Enterprise {
    /// Where it exchanges tokens (RFC 8693).
    pub token_endpoint: Url,
    /// The client's ID there.
    pub client_id: String,
    /// The client's secret there, where it has one.
    pub client_secret: Option<Secret>,
    /// The ID token of the person.
    pub id_token: TokenSource,
}

/// Where a token comes from that others issue. It is read anew each time: what issues it also renews it.
#[derive(Debug, Clone)]
pub enum TokenSource {
    /// This text.
    Text(Secret),
    /// A file, which Kubernetes and others keep up to date.
    File(PathBuf),
    /// A variable of the environment.
    Environment(String),
}

/// A client that somebody registered by hand.
#[derive(Debug, Clone)]
pub struct ConfiguredClient {
    /// Its ID.
    pub id: String,
    /// Its secret.
    pub secret: Option<Secret>,
    /// The private key that signs its assertions, as PEM.
    pub private_key: Option<Secret>,
    /// The algorithm of the signature (`ES256`, `RS256`, …). Absent: what fits the key.
    pub signing_algorithm: Option<String>,
    /// How it proves who it is. Absent: what it can and the server takes.
    pub auth_method: Option<AuthMethod>,
    /// The authorization server that knows it. Absent: the first one that the server names.
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
    /// Where the server and its authorization server both say that they know how.
    #[default]
    Auto,
    /// Always: a token that is not bound is refused.
    Always,
    /// Never.
    Never,
}
