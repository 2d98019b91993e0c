//! What is kept of an authorization: which server it is for, who granted it, and the tokens.
//!
//! Nothing here prints a secret: each is a [`Secret`].

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use url::Url;

pub use super::secret::Secret;

/// How long before its end a token is no longer used: a request takes time, and clocks differ.
pub const EARLY: Duration = Duration::from_secs(30);

/// Which server credentials are for.
///
/// The name keeps two accounts at one server apart. A server whose URL changes has another key, so that no token
/// travels to the new place.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CredentialKey {
    /// The canonical URL of the server.
    pub url: String,
    /// The name under which it is configured; [`CredentialKey::UNNAMED`] where there is none.
    pub name: String,
}

impl CredentialKey {
    /// The name of a server that is known by its URL alone.
    pub const UNNAMED: &'static str = "default";

    /// The key of a server. The URL is made canonical: lower-case scheme and host, neither a default port, nor a
    /// fragment, nor a user (2025-11-25, authorization, "Canonical Server URI"). Path and query stay as they are.
    #[must_use]
    pub fn new(url: &Url, name: &str) -> Self {
        let mut url = url.clone();
        url.set_fragment(None);
        // Both fail only for URLs without a host, which have neither.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        Self { url: url.into(), name: name.to_owned() }
    }

    /// The key of a server that is known by its URL alone.
    #[must_use]
    pub fn of_url(url: &Url) -> Self {
        Self::new(url, Self::UNNAMED)
    }

    /// A short name of this key that is good for a file and for an entry of a key ring.
    #[must_use]
    pub fn id(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(self.url.as_bytes());
        // A byte that no URL contains: (`a`, `bc`) and (`ab`, `c`) are two keys.
        hash.update([0]);
        hash.update(self.name.as_bytes());
        hex(&hash.finalize()[..16])
    }
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// How a client came to be known to an authorization server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RegistrationSource {
    /// It was registered by hand.
    PreRegistered,
    /// Its id is the URL of a document about it.
    MetadataDocument,
    /// It registered itself (RFC 7591).
    Dynamic,
}

/// How a client proves who it is at the token endpoint, in the words of RFC 7591, section 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthMethod {
    /// It does not: a public client.
    None,
    /// Its secret in the `Authorization` header.
    ClientSecretBasic,
    /// Its secret in the form.
    ClientSecretPost,
    /// A JWT that it signed (RFC 7523).
    PrivateKeyJwt,
}

/// The client as the authorization server knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientRegistration {
    /// The client's id.
    pub id: String,
    /// Its secret, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<Secret>,
    /// How it proves who it is.
    pub auth_method: AuthMethod,
    /// The key that signs its assertions, as PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_key: Option<Secret>,
    /// How it came to be known.
    pub source: RegistrationSource,
    /// Where it registered that people are sent back to: at another place it would not be known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect_uri: Option<String>,
    /// What manages the registration (RFC 7592).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registration_access_token: Option<Secret>,
    /// When the secret ends, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_expires_at: Option<u64>,
}

/// How an access token is presented.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TokenType {
    /// Whoever bears it may use it (RFC 6750).
    #[default]
    Bearer,
    /// With a proof of the key that it is bound to (RFC 9449).
    DPoP,
}

/// An authorization as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credentials {
    /// The authorization server that granted it.
    pub issuer: String,
    /// Where tokens are asked for.
    pub token_endpoint: String,
    /// The resource for which tokens are asked (RFC 8707).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The client to which it was granted.
    pub client: ClientRegistration,
    /// The token that opens the server.
    pub access_token: Secret,
    /// How it is presented.
    #[serde(default)]
    pub token_type: TokenType,
    /// When it ends, in seconds since 1970; unknown when the server did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// What the next access token is had for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<Secret>,
    /// What was granted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// The key to which a `DPoP` token is bound, as a JWK.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dpop_key: Option<Secret>,
}

impl Credentials {
    /// Whether the access token may be used at this time: it does not end within [`EARLY`].
    #[must_use]
    pub fn is_good_at(&self, now: SystemTime) -> bool {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.expires_at.is_none_or(|end| now + EARLY < Duration::from_secs(end))
    }

    /// Whether the access token may be used now.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.is_good_at(SystemTime::now())
    }

    /// Whether the access token does not end within this time.
    pub(crate) fn is_good_for(&self, time: Duration) -> bool {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.expires_at.is_none_or(|end| now + time < Duration::from_secs(end))
    }

    /// Whether it was granted by this authorization server. What another one granted must not be used (2026-07-28,
    /// authorization). Issuers are compared exactly, but for the slash of a bare origin.
    #[must_use]
    pub fn is_of(&self, issuer: &str) -> bool {
        self.issuer == issuer || is_origin_of(&self.issuer, issuer) || is_origin_of(issuer, &self.issuer)
    }
}

/// Whether `slashed` is `bare` and a slash, and has no other path.
fn is_origin_of(bare: &str, slashed: &str) -> bool {
    slashed.strip_suffix('/') == Some(bare) && Url::parse(slashed).is_ok_and(|url| url.path() == "/")
}

#[cfg(test)]
pub(crate) mod tests;
