//! Assertions of other issuers: workload identities and the enterprise's identity provider.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::AuthMethod;
use crate::human_duration::HumanDuration;

/// An issuer whose signed assertions are authorization grants (RFC 7523 section 2.1).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct TrustedIssuer {
    /// `iss` of its assertions.
    pub issuer: String,
    /// Its public keys as a JWK set. Without this and `public_key`, the mock has the private key
    /// and signs assertions itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwks: Option<Value>,
    /// Its public key in PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_key: Option<String>,
    /// The subjects that it can assert [default: all].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subjects: Option<Vec<String>>,
    /// The scopes of its assertions [default: all].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<String>>,
}

/// The identity provider of an enterprise, at the same origin. It exchanges ID tokens for identity assertion
/// authorization grants (ID-JAG), which the authorization server accepts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct IdentityProvider {
    /// The path of its issuer. Its token endpoint is `<path>/token`.
    pub path: String,
    /// The client's id at the identity provider: the audience of ID tokens.
    pub client_id: String,
    /// The client's secret there [default: a public client].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// The client's id at the authorization server, which the grant contains.
    pub server_client_id: String,
    /// The method of client authentication at the authorization server for this grant.
    pub server_auth_methods: Vec<AuthMethod>,
    /// The subject of ID tokens.
    pub subject: String,
    /// The resources that the enterprise's policy allows [default: all].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_resources: Option<Vec<String>>,
    /// The scopes that the enterprise's policy allows [default: all].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_scopes: Option<Vec<String>>,
    /// The lifetime of a grant.
    pub grant_lifetime: HumanDuration,
}

impl Default for IdentityProvider {
    fn default() -> Self {
        Self {
            path: "/idp".to_owned(),
            client_id: "idp-client".to_owned(),
            client_secret: None,
            server_client_id: "enterprise-client".to_owned(),
            server_auth_methods: vec![
                AuthMethod::ClientSecretBasic,
                AuthMethod::ClientSecretPost,
                AuthMethod::PrivateKeyJwt,
            ],
            subject: "employee@example.com".to_owned(),
            allowed_resources: None,
            allowed_scopes: None,
            grant_lifetime: HumanDuration::from_millis(300_000),
        }
    }
}
