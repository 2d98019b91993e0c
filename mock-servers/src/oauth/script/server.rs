//! The authorization server: documents, paths, lifetimes, the user, PKCE and DPoP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::human_duration::HumanDuration;

/// The existing metadata documents. Others get 404.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Discovery {
    /// `/.well-known/oauth-authorization-server<issuer path>` (RFC 8414 section 3.1).
    pub oauth: bool,
    /// `/.well-known/openid-configuration<issuer path>` (RFC 8414 section 5).
    pub openid_inserted: bool,
    /// `<issuer path>/.well-known/openid-configuration` (OpenID Connect Discovery section 4).
    pub openid_appended: bool,
    /// `/.well-known/oauth-authorization-server` at the root although the issuer has a path, which no standard defines.
    pub oauth_at_root: bool,
    /// `/.well-known/oauth-protected-resource<path of the resource>` (RFC 9728 section 3.1).
    pub protected_resource: bool,
    /// `/.well-known/oauth-protected-resource` at the root of the resource's origin.
    pub protected_resource_at_root: bool,
    /// Another path of the resource's metadata, which `WWW-Authenticate` then contains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protected_resource_path: Option<String>,
}

impl Discovery {
    /// Whether the authorization server has metadata at one of these paths.
    #[must_use]
    pub fn has_metadata(&self) -> bool {
        self.oauth || self.openid_inserted || self.openid_appended || self.oauth_at_root
    }
}

impl Default for Discovery {
    fn default() -> Self {
        Self {
            oauth: true,
            openid_inserted: false,
            openid_appended: false,
            oauth_at_root: false,
            protected_resource: true,
            protected_resource_at_root: false,
            protected_resource_path: None,
        }
    }
}

/// The paths of the endpoints. The defaults are the fallback paths of 2025-03-26 without metadata, independent of
/// the path of the issuer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Endpoints {
    /// The authorization endpoint.
    pub authorization: String,
    /// The token endpoint.
    pub token: String,
    /// The registration endpoint.
    pub registration: String,
    /// The revocation endpoint (RFC 7009).
    pub revocation: String,
    /// The introspection endpoint (RFC 7662).
    pub introspection: String,
    /// The server's public keys.
    pub jwks: String,
}

impl Default for Endpoints {
    fn default() -> Self {
        Self {
            authorization: "/authorize".to_owned(),
            token: "/token".to_owned(),
            registration: "/register".to_owned(),
            revocation: "/revoke".to_owned(),
            introspection: "/introspect".to_owned(),
            jwks: "/jwks.json".to_owned(),
        }
    }
}

/// The response to a request for a scope that does not exist.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UnknownScopes {
    /// The request fails with `invalid_scope`.
    #[default]
    Refuse,
    /// The scope is not granted (RFC 6749 section 3.3).
    Ignore,
}

/// The decision of the user about an authorization request. Consent redirects at once, without a page.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum User {
    /// Grants the requested scopes.
    #[default]
    Consents,
    /// Denies the request: `access_denied`.
    Denies,
    /// Stays on a page, so that no redirect follows.
    NeverAnswers,
    /// Grants only these scopes.
    ConsentsTo(Vec<String>),
}

/// A transformation of the code verifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PkceMethod {
    /// The SHA-256 digest (RFC 7636 section 4.2).
    S256,
    /// None.
    #[serde(rename = "plain")]
    Plain,
}

/// Proof keys for code exchange (RFC 7636).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Pkce {
    /// The methods that are advertised and accepted.
    pub methods: Vec<PkceMethod>,
    /// Whether a request without a challenge fails.
    pub required: bool,
}

impl Default for Pkce {
    fn default() -> Self {
        Self { methods: vec![PkceMethod::S256], required: true }
    }
}

/// Lifetimes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Lifetimes {
    /// An access token.
    pub access_token: HumanDuration,
    /// A refresh token, from its own issue.
    pub refresh_token: HumanDuration,
    /// An authorization code.
    pub code: HumanDuration,
}

impl Default for Lifetimes {
    fn default() -> Self {
        Self {
            access_token: HumanDuration::from_millis(3_600_000),
            refresh_token: HumanDuration::from_millis(86_400_000),
            code: HumanDuration::from_millis(60_000),
        }
    }
}

/// Refresh tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Refresh {
    /// The condition for issuing them.
    pub issue: RefreshIssue,
    /// Whether each use issues a new one.
    pub rotate: bool,
    /// Whether the use of a replaced one revokes all tokens of the consent (RFC 9700 section 4.14.2).
    pub detect_reuse: bool,
}

impl Default for Refresh {
    fn default() -> Self {
        Self { issue: RefreshIssue::default(), rotate: true, detect_reuse: true }
    }
}

/// The condition for issuing refresh tokens. The client must also be registered for the grant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RefreshIssue {
    /// For every client with the grant.
    #[default]
    Always,
    /// If the scope `offline_access` is granted.
    OfflineAccess,
    /// Never.
    Never,
}

/// Proof of possession (RFC 9449).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Dpop {
    /// Whether tokens are bound to keys.
    pub mode: DpopMode,
    /// The algorithms of proofs that are advertised and accepted.
    pub algs: Vec<String>,
    /// Whether the token endpoint requires a nonce of its own (section 8).
    pub server_nonce: bool,
    /// Whether the resource requires a nonce of its own (section 9).
    pub resource_nonce: bool,
    /// The lifetime of a nonce.
    pub nonce_lifetime: HumanDuration,
    /// The allowed difference of a proof's `iat` from now.
    pub window: HumanDuration,
}

impl Default for Dpop {
    fn default() -> Self {
        Self {
            mode: DpopMode::default(),
            algs: vec!["ES256".to_owned(), "EdDSA".to_owned(), "RS256".to_owned()],
            server_nonce: false,
            resource_nonce: false,
            nonce_lifetime: HumanDuration::from_millis(300_000),
            window: HumanDuration::from_millis(300_000),
        }
    }
}

/// Whether tokens are bound to keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DpopMode {
    /// Proofs are neither advertised nor verified.
    #[default]
    Off,
    /// A request with a proof gets a bound token, others a bearer token.
    Optional,
    /// Requests without a proof get no token.
    Required,
}
