//! The script of a mock authorization server, in YAML, JSON or Rust.
//!
//! This module owns only the format; the rest of [`crate::oauth`] implements it. By default the server registers every
//! client, consents to every request, and enforces OAuth 2.1 and the specification.

mod clients;
mod clock;
mod federation;
mod resource;
mod server;
mod words;

use std::path::Path;

use diagnostics::{
    Diagnostics, FileError,
    document::{Document, Source},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::{
    clients::{ApplicationType, AuthMethod, ClientIdMetadata, GrantType, RegisteredClient, Registration},
    clock::{ClockJump, ClockOffset, ClockTrigger},
    federation::{IdentityProvider, TrustedIssuer},
    resource::{MissingResource, Resource, StepUp},
    server::{
        Discovery, Dpop, DpopMode, Endpoints, Lifetimes, Pkce, PkceMethod, Refresh, RefreshIssue, UnknownScopes, User,
    },
};
use crate::{faults::OAuthFaultRule, one_or_many};

/// A mock authorization server, the resource that it protects, and their deviations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct AuthScript {
    /// The path of the issuer: empty, or for example `/tenant1`. It determines the URL of the metadata.
    pub issuer_path: String,
    /// The metadata documents and their paths.
    pub discovery: Discovery,
    /// The paths of the endpoints.
    pub endpoints: Endpoints,
    /// Members that replace those of the authorization server's metadata. A null removes the member. `{{origin}}` and
    /// `{{issuer}}` are placeholders.
    pub metadata: Map<String, Value>,
    /// The scopes that exist [default: all requested ones; none is advertised].
    pub scopes_supported: Option<Vec<String>>,
    /// The scopes granted to a request that asks for none.
    pub default_scopes: Vec<String>,
    /// The response to a request for a scope that does not exist.
    pub unknown_scopes: UnknownScopes,
    /// The grants of the token endpoint [default: those that the rest of the script needs].
    pub grant_types: Option<Vec<GrantType>>,
    /// The methods of client authentication at the token endpoint.
    pub token_endpoint_auth_methods: Vec<AuthMethod>,
    /// Proof keys for code exchange.
    pub pkce: Pkce,
    /// Whether authorization responses contain `iss`, and the metadata announces it (RFC 9207).
    pub iss_parameter: bool,
    /// Dynamic client registration (RFC 7591).
    pub registration: Registration,
    /// Client ID metadata documents.
    pub client_id_metadata: ClientIdMetadata,
    /// Registered clients.
    pub clients: Vec<RegisteredClient>,
    /// The decisions of the user: one, or a list whose last one repeats.
    #[serde(with = "one_or_many")]
    #[schemars(with = "one_or_many::OneOrManySchema<User>")]
    pub user: Vec<User>,
    /// The subject of tokens.
    pub subject: String,
    /// Lifetimes.
    pub lifetimes: Lifetimes,
    /// Jumps of the server's clock. Several jumps at one time add up.
    pub clock: Vec<ClockJump>,
    /// Refresh tokens.
    pub refresh: Refresh,
    /// Proof of possession (RFC 9449).
    pub dpop: Dpop,
    /// The protected resource.
    pub resource: Resource,
    /// Issuers whose assertions are authorization grants (RFC 7523): workload identities, and identity providers.
    pub trusted_issuers: Vec<TrustedIssuer>,
    /// An identity provider for the enterprise-managed grant.
    pub identity_provider: Option<IdentityProvider>,
    /// The faults of the server and of the resource, applied together and in this order.
    pub faults: Vec<OAuthFaultRule>,
}

impl Default for AuthScript {
    fn default() -> Self {
        Self {
            issuer_path: String::new(),
            discovery: Discovery::default(),
            endpoints: Endpoints::default(),
            metadata: Map::new(),
            scopes_supported: None,
            default_scopes: Vec::new(),
            unknown_scopes: UnknownScopes::default(),
            grant_types: None,
            token_endpoint_auth_methods: vec![
                AuthMethod::None,
                AuthMethod::ClientSecretBasic,
                AuthMethod::ClientSecretPost,
                AuthMethod::PrivateKeyJwt,
            ],
            pkce: Pkce::default(),
            iss_parameter: true,
            registration: Registration::default(),
            client_id_metadata: ClientIdMetadata::default(),
            clients: Vec::new(),
            user: vec![User::Consents],
            subject: "somebody".to_owned(),
            lifetimes: Lifetimes::default(),
            clock: Vec::new(),
            refresh: Refresh::default(),
            dpop: Dpop::default(),
            resource: Resource::default(),
            trusted_issuers: Vec::new(),
            identity_provider: None,
            faults: Vec::new(),
        }
    }
}

/// Reads a script from a file: JSON if its name ends in `.json`, otherwise YAML.
///
/// # Errors
/// If the file cannot be read, or with all errors in the script.
pub fn load(path: &Path) -> Result<AuthScript, FileError> {
    let text = diagnostics::read_file(path, &words::FORMAT)?;
    Ok(read(&text, &path.display().to_string())?)
}

/// Reads a script from a text. `file` is its name in messages; JSON if it ends in `.json`, otherwise YAML.
///
/// # Errors
/// All errors in the script.
pub fn parse(text: &str, file: &str) -> Result<AuthScript, Diagnostics> {
    read(&diagnostics::from_utf8(text.as_bytes(), file, &words::FORMAT)?, file)
}

fn read(text: &str, file: &str) -> Result<AuthScript, Diagnostics> {
    Document::parse(Source::named(file, text), &words::FORMAT)?.read()
}

impl AuthScript {
    /// The grants of the token endpoint.
    #[must_use]
    pub fn grants(&self) -> Vec<GrantType> {
        if let Some(grants) = &self.grant_types {
            return grants.clone();
        }
        let mut grants = vec![GrantType::AuthorizationCode, GrantType::RefreshToken];
        if self.clients.iter().any(|client| client.grant_types.contains(&GrantType::ClientCredentials)) {
            grants.push(GrantType::ClientCredentials);
        }
        if !self.trusted_issuers.is_empty() || self.identity_provider.is_some() {
            grants.push(GrantType::JwtBearer);
        }
        grants
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_declares_its_deviations_and_unknown_values_are_rejected() {
        let yaml = "issuer_path: /tenant1\nuser: [denies, { consents-to: [read] }]\nlifetimes: { access_token: 2s }\n";
        let script = parse(yaml, "mine.yaml").unwrap();
        assert_eq!(script.issuer_path, "/tenant1");
        assert_eq!(script.user, [User::Denies, User::ConsentsTo(vec!["read".to_owned()])]);
        assert!(parse("isuer_path: /x\n", "mine.yaml").is_err());
        let text = serde_json::to_string(&script).unwrap();
        assert_eq!(parse(&text, "mine.json").unwrap(), script);
        // JSON is YAML as well.
        assert_eq!(parse(&text, "mine.yaml").unwrap(), script);
    }
}
