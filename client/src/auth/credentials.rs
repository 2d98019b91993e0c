//! Stored credentials: the server, the authorization server, the client and the tokens.
//!
//! Secrets are of type [`Secret`], which is not printed.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use url::Url;

pub use super::secret::Secret;

/// How long before its expiry a token is no longer used: requests take time, and clocks differ.
pub const EARLY: Duration = Duration::from_secs(30);

/// Prefix of the names of keys for secrets of clients.
const CLIENT_SECRET: &str = "client-secret:";

/// The server of credentials.
///
/// The name distinguishes accounts at one server. If the URL of a server changes, so does the key, so that no token is
/// sent to the new URL.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CredentialKey {
    /// The canonical URL of the server.
    pub url: String,
    /// The configured name, or [`CredentialKey::UNNAMED`].
    pub name: String,
}

impl CredentialKey {
    /// The name of a server that is identified by its URL only.
    pub const UNNAMED: &'static str = "default";

    /// The key of a server. The URL is normalized: lower-case scheme and host, no default port, fragment or userinfo
    /// (2025-11-25, authorization, "Canonical Server URI"). Path and query are kept.
    #[must_use]
    pub fn new(url: &Url, name: &str) -> Self {
        let mut url = url.clone();
        url.set_fragment(None);
        // Both fail only for URLs without a host, which have no userinfo.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        Self { url: url.into(), name: name.to_owned() }
    }

    /// The key of a server that is identified by its URL only.
    #[must_use]
    pub fn from_url(url: &Url) -> Self {
        Self::new(url, Self::UNNAMED)
    }

    /// The key of the secret of a registered client, which is stored apart from tokens: a logout keeps it.
    #[must_use]
    pub fn client_secret(url: &Url, client_id: &str) -> Self {
        Self::new(url, &format!("{CLIENT_SECRET}{client_id}"))
    }

    /// Whether this is the key of the secret of a registered client.
    #[must_use]
    pub fn is_client_secret(&self) -> bool {
        self.name.starts_with(CLIENT_SECRET)
    }

    /// A short id that is suitable for file names and key ring entries.
    #[must_use]
    pub fn id(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(self.url.as_bytes());
        // A byte that URLs do not contain, so that (`a`, `bc`) and (`ab`, `c`) differ.
        hash.update([0]);
        hash.update(self.name.as_bytes());
        hex(&hash.finalize()[..16])
    }
}

/// Encodes bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// How a client was registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RegistrationSource {
    /// Manually.
    PreRegistered,
    /// Its id is the URL of a metadata document.
    MetadataDocument,
    /// Dynamically (RFC 7591).
    Dynamic,
}

/// Client authentication method at the token endpoint (RFC 7591, section 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthMethod {
    /// None: a public client.
    None,
    /// The secret in the `Authorization` header.
    ClientSecretBasic,
    /// The secret in the form.
    ClientSecretPost,
    /// A signed JWT (RFC 7523).
    PrivateKeyJwt,
}

/// A registered client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientRegistration {
    /// The client ID.
    pub id: String,
    /// The client secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<Secret>,
    /// The authentication method.
    pub auth_method: AuthMethod,
    /// The private key for assertions, as PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_key: Option<Secret>,
    /// How it was registered.
    pub source: RegistrationSource,
    /// The registered redirect URI. The server rejects others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect_uri: Option<String>,
    /// The registration access token (RFC 7592).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registration_access_token: Option<Secret>,
    /// Expiry of the secret, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_expires_at: Option<u64>,
}

/// The type of an access token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TokenType {
    /// Bearer token (RFC 6750).
    #[default]
    Bearer,
    /// Bound to a key, used with a proof of possession (RFC 9449).
    DPoP,
}

/// Stored credentials.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credentials {
    /// The issuer.
    pub issuer: String,
    /// The token endpoint.
    pub token_endpoint: String,
    /// The resource indicator (RFC 8707).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The client.
    pub client: ClientRegistration,
    /// The access token.
    pub access_token: Secret,
    /// Its type.
    #[serde(default)]
    pub token_type: TokenType,
    /// Its expiry in seconds since 1970, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// The refresh token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<Secret>,
    /// The granted scopes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// The key of a `DPoP` token, as JWK.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dpop_key: Option<Secret>,
}

impl Credentials {
    /// An entry with the secret of a registered client, and without tokens.
    #[must_use]
    pub fn for_client_secret(client_id: &str, secret: Secret) -> Self {
        let client = ClientRegistration {
            id: client_id.to_owned(),
            secret: Some(secret),
            auth_method: AuthMethod::None,
            private_key: None,
            source: RegistrationSource::PreRegistered,
            redirect_uri: None,
            registration_access_token: None,
            secret_expires_at: None,
        };
        Self {
            issuer: String::new(),
            token_endpoint: String::new(),
            resource: None,
            client,
            access_token: Secret::new(""),
            token_type: TokenType::Bearer,
            expires_at: Some(0),
            refresh_token: None,
            scopes: Vec::new(),
            dpop_key: None,
        }
    }

    /// Whether the access token can be used at this time: it does not expire within [`EARLY`].
    #[must_use]
    pub fn is_good_at(&self, now: SystemTime) -> bool {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.expires_at.is_none_or(|end| now + EARLY < Duration::from_secs(end))
    }

    /// Whether the access token can be used now.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.is_good_at(SystemTime::now())
    }

    /// Whether the access token does not expire within this time.
    pub(crate) fn is_good_for(&self, time: Duration) -> bool {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.expires_at.is_none_or(|end| now + time < Duration::from_secs(end))
    }

    /// Whether they were issued by this authorization server; others must not be used (2026-07-28, authorization).
    /// Issuers are compared exactly, except for the slash of a bare origin.
    #[must_use]
    pub fn is_of(&self, issuer: &str) -> bool {
        self.issuer == issuer || is_origin_of(&self.issuer, issuer) || is_origin_of(issuer, &self.issuer)
    }
}

/// Whether `slashed` is the origin `bare` with a slash.
fn is_origin_of(bare: &str, slashed: &str) -> bool {
    slashed.strip_suffix('/') == Some(bare) && Url::parse(slashed).is_ok_and(|url| url.path() == "/")
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
pub(crate) mod tests;
