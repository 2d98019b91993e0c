//! What a fake authorization server does, as people write it: in YAML, in JSON, or in Rust.
//!
//! This module owns the format and nothing else; the rest of [`crate::oauth`] gives it meaning. Without a word in the
//! script the server is a good one that serves every standard client: it registers anybody, consents to everything, and
//! insists on what OAuth 2.1 and the specification insist on.

mod clients;
mod clock;
mod federation;
mod resource;
mod server;
mod words;

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::{
    clients::{ApplicationType, AuthMethod, ClientIdMetadata, GrantType, RegisteredClient, Registration},
    clock::{ClockJump, Jump, Occasion},
    federation::{IdentityProvider, TrustedIssuer},
    resource::{MissingResource, Resource, StepUp},
    server::{
        Discovery, Dpop, DpopMode, Endpoints, Lifetimes, Pkce, PkceMethod, Refresh, RefreshIssue, UnknownScopes, User,
    },
};
use super::lies::Lie;
use crate::{
    one_or_many,
    reading::{self, Diagnostic, FileError, Source},
};

/// A fake authorization server, the resource that it protects, and where both depart from good behaviour.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct AuthScript {
    /// The path of the issuer: empty, or `/tenant1`, say. It decides where the metadata is found.
    pub issuer_path: String,
    /// Which metadata documents exist, and where.
    pub discovery: Discovery,
    /// The paths of the endpoints.
    pub endpoints: Endpoints,
    /// Members laid over the metadata of the authorization server. A null takes the member away. `{{origin}}` and
    /// `{{issuer}}` are filled in.
    pub metadata: Map<String, Value>,
    /// The scopes that exist. Absent: all that anybody asks for, and none is advertised.
    pub scopes_supported: Option<Vec<String>>,
    /// The scopes granted to a request that asks for none.
    pub default_scopes: Vec<String>,
    /// What becomes of a request for a scope that does not exist.
    pub unknown_scopes: UnknownScopes,
    /// The grants that the token endpoint knows. Absent: those that the rest of the script needs.
    pub grant_types: Option<Vec<GrantType>>,
    /// How clients may authenticate at the token endpoint.
    pub token_endpoint_auth_methods: Vec<AuthMethod>,
    /// Proof keys for code exchange.
    pub pkce: Pkce,
    /// Whether authorization responses carry `iss`, and the metadata says so (RFC 9207).
    pub iss_parameter: bool,
    /// Dynamic client registration (RFC 7591).
    pub registration: Registration,
    /// Client ID metadata documents.
    pub client_id_metadata: ClientIdMetadata,
    /// Clients that are known from the start.
    pub clients: Vec<RegisteredClient>,
    /// What the user does with authorization requests: one decision, or a list of which the last one stays.
    #[serde(with = "one_or_many")]
    #[schemars(with = "one_or_many::OneOrManySchema<User>")]
    pub user: Vec<User>,
    /// The subject that tokens speak of.
    pub subject: String,
    /// How long things are good for.
    pub lifetimes: Lifetimes,
    /// When the clock jumps that tokens are issued and judged by. Several at one moment act together.
    pub clock: Vec<ClockJump>,
    /// Refresh tokens.
    pub refresh: Refresh,
    /// Proof of possession (RFC 9449).
    pub dpop: Dpop,
    /// The protected resource.
    pub resource: Resource,
    /// Whose assertions are taken for authorization grants (RFC 7523): workload identities, and identity providers.
    pub trusted_issuers: Vec<TrustedIssuer>,
    /// An identity provider beside the authorization server, for the enterprise-managed grant.
    pub identity_provider: Option<IdentityProvider>,
    /// Where server and resource do not tell the truth. Any number of them work together, in this order.
    pub lies: Vec<Lie>,
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
            lies: Vec::new(),
        }
    }
}

/// Reads a script from a file: JSON where its name ends in `.json`, else YAML.
///
/// # Errors
/// When the file cannot be read, or is no script, with the place and the reason.
pub fn load(path: &Path) -> Result<AuthScript, FileError> {
    let text = reading::read_file(path, &words::FORMAT)?;
    Ok(reading::value(Source { file: &path.display().to_string(), text: &text }, &words::FORMAT)?)
}

/// Reads a script from a text. `file` is its name in messages; where it ends in `.json`, the text is JSON, else YAML.
///
/// # Errors
/// When the text is no script, with the place and the reason.
pub fn parse(text: &str, file: &str) -> Result<AuthScript, Diagnostic> {
    let text = reading::from_utf8(text.as_bytes(), file, &words::FORMAT)?;
    reading::value(Source { file, text: &text }, &words::FORMAT)
}

impl AuthScript {
    /// The grants that the token endpoint knows.
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
    fn a_script_says_what_it_departs_in_and_unknown_words_are_refused() {
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
