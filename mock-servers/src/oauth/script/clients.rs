//! Clients: registration, authentication and redirect URIs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::human_duration::HumanDuration;
pub use crate::oauth_messages::GrantType;

/// How a client authenticates at the token endpoint (RFC 7591 section 2, OpenID Connect Core section 9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuthMethod {
    /// None: a public client.
    None,
    /// Id and secret in the `Authorization` header.
    ClientSecretBasic,
    /// Id and secret in the form.
    ClientSecretPost,
    /// An assertion signed by the client's private key (RFC 7523 section 2.2).
    PrivateKeyJwt,
}

impl AuthMethod {
    /// The name in the standards.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
            Self::PrivateKeyJwt => "private_key_jwt",
        }
    }

    /// Whether it needs a shared secret.
    #[must_use]
    pub fn has_secret(self) -> bool {
        matches!(self, Self::ClientSecretBasic | Self::ClientSecretPost)
    }
}

/// The type of a client, which limits its redirect URIs (OpenID Connect Dynamic Client Registration section 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApplicationType {
    /// On the user's machine: loopback addresses and private-use schemes.
    Native,
    /// On a server: `https` and no loopback address.
    Web,
}

/// A registered client.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct RegisteredClient {
    /// `client_id`.
    pub id: String,
    /// `client_secret`; absent: a public client, or one with a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// The redirect URIs. The port of a loopback address can differ (RFC 8252 section 7.3).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redirect_uris: Vec<String>,
    /// Whether every redirect URI is allowed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub any_redirect_uri: bool,
    /// The client's public keys as a JWK set, for `private_key_jwt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwks: Option<Value>,
    /// The client's public key in PEM, for `private_key_jwt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_key: Option<String>,
    /// The method of client authentication [default: by its key, else by its secret in either form, else none].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_endpoint_auth_method: Option<AuthMethod>,
    /// The allowed grants [default: authorization code and refresh token].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grant_types: Vec<GrantType>,
    /// The allowed scopes [default: all].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<String>>,
    /// Whether its tokens must be bound to a key (RFC 9449 section 5.2).
    #[serde(default)]
    pub dpop_bound_access_tokens: bool,
}

/// Dynamic client registration (RFC 7591).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Registration {
    /// Whether the endpoint exists.
    pub enabled: bool,
    /// Whether the metadata names the endpoint.
    pub advertised: bool,
    /// Whether clients must send `application_type`, which 2026-07-28 requires.
    pub application_type_required: bool,
    /// Whether redirect URIs must match the application type.
    pub strict_redirect_uris: bool,
    /// The lifetime of a secret [default: unlimited].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_lifetime: Option<HumanDuration>,
    /// A prefix of each `client_id`, to recognize it elsewhere.
    pub client_id_prefix: String,
}

impl Default for Registration {
    fn default() -> Self {
        Self {
            enabled: true,
            advertised: true,
            application_type_required: false,
            strict_redirect_uris: true,
            secret_lifetime: None,
            client_id_prefix: "client-".to_owned(),
        }
    }
}

/// Client ID metadata documents (2025-11-25 and 2026-07-28, client registration).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct ClientIdMetadata {
    /// Whether they are advertised and accepted.
    pub supported: bool,
    /// Documents by URL that are not fetched: this server only requests loopback addresses.
    pub documents: BTreeMap<String, Map<String, Value>>,
    /// Whether every redirect URI is allowed if the document cannot be fetched.
    pub trust_unreachable: bool,
    /// The timeout of fetching a document.
    pub timeout: HumanDuration,
}

impl Default for ClientIdMetadata {
    fn default() -> Self {
        Self {
            supported: true,
            documents: BTreeMap::new(),
            trust_unreachable: false,
            timeout: HumanDuration::from_millis(3_000),
        }
    }
}
