//! The state of the authorization server that its endpoints share: its URLs, its keys and its access tokens.

use std::{
    path::Path,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use jsonwebtoken::DecodingKey;
use serde_json::{Map, Value, json};

use super::{
    StartError,
    audit::{Audit, AuditEvent},
    clock::Clock,
    jwt,
    keys::SigningKey,
    script::{AuthMethod, AuthScript, ClockTrigger, GrantType, IdentityProvider, RegisteredClient},
    state::{Client, Consent, Issued, State},
};
use crate::faults::{Deviation, OAuthFaults};

/// One authorization server, with its identity provider, if it has one.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) script: AuthScript,
    /// Scheme, host and port.
    pub(crate) origin: String,
    pub(crate) issuer: String,
    pub(crate) key: SigningKey,
    pub(crate) seed: u64,
    pub(crate) clock: Clock,
    pub(crate) audit: Audit,
    pub(crate) faults: OAuthFaults,
    pub(crate) trusted: Vec<Trusted>,
    /// The number of accepted requests after which another authorization server replaces this one.
    pub(crate) successor: OnceLock<(u32, Arc<Server>)>,
    state: Mutex<State>,
    resources: Mutex<Vec<String>>,
}

/// An issuer of assertions, with its keys.
#[derive(Debug)]
pub(crate) struct Trusted {
    pub(crate) issuer: String,
    pub(crate) keys: Vec<DecodingKey>,
    /// The private key, if the mock has it.
    pub(crate) signing: Option<SigningKey>,
    pub(crate) subjects: Option<Vec<String>>,
    pub(crate) scopes: Option<Vec<String>>,
    /// Whether this is the identity provider, whose assertions contain a client and a resource.
    pub(crate) is_provider: bool,
}

/// A token before it is issued.
pub(crate) struct Access<'a> {
    pub(crate) consent: &'a Consent,
    pub(crate) scopes: &'a [String],
    pub(crate) resources: &'a [String],
    pub(crate) jkt: Option<&'a str>,
}

impl Server {
    pub(crate) fn new(
        script: AuthScript,
        origin: String,
        seed: u64,
        clock: Clock,
        record: Option<&Path>,
    ) -> Result<Self, StartError> {
        let audit = Audit::new(clock.clone(), record).map_err(StartError::Record)?;
        let issuer = format!("{origin}{}", script.issuer_path);
        let trusted = trusted(&script, &origin, seed)?;
        let mut state = State::new(seed);
        for client in &script.clients {
            state.clients.insert(client.id.clone(), known(client)?);
        }
        if let Some(provider) = &script.identity_provider {
            let named = &provider.server_client_id;
            if !script.clients.iter().any(|client| client.id == *named) {
                return Err(StartError::Script(format!(
                    "the identity provider names the client `{named}`, which `clients` does not list"
                )));
            }
        }
        Ok(Self {
            key: SigningKey::seeded(seed, "authorization server"),
            faults: OAuthFaults::new(&script.faults),
            trusted,
            successor: OnceLock::new(),
            state: Mutex::new(state),
            resources: Mutex::default(),
            script,
            origin,
            issuer,
            seed,
            clock,
            audit,
        })
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The URL of one of its paths.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    pub(crate) fn token_endpoint(&self) -> String {
        self.at(&self.script.endpoints.token)
    }

    /// The identity provider, and its issuer.
    pub(crate) fn provider(&self) -> Option<(&IdentityProvider, String)> {
        self.script.identity_provider.as_ref().map(|provider| (provider, self.at(&provider.path)))
    }

    /// Records an action of a client.
    pub(crate) fn note(&self, client: Option<&str>, event: AuditEvent) {
        self.audit.add(client, event);
    }

    /// Counts an issued access token.
    pub(crate) fn token_issued(&self) {
        let mut state = self.state();
        state.tokens_issued = state.tokens_issued.saturating_add(1);
        let occasion = ClockTrigger::Tokens(state.tokens_issued);
        drop(state);
        self.jump_after(occasion);
    }

    /// Counts an accepted request with a token; returns the number of such requests.
    pub(crate) fn request_passed(&self) -> u32 {
        let mut state = self.state();
        state.requests_passed = state.requests_passed.saturating_add(1);
        let passed = state.requests_passed;
        drop(state);
        self.jump_after(ClockTrigger::Requests(passed));
        passed
    }

    /// The authorization server that replaces this one after so many accepted requests, if there is one.
    pub(crate) fn successor_after(&self, passed: u32) -> Option<Arc<Self>> {
        let (after, successor) = self.successor.get()?;
        (passed >= *after).then(|| Arc::clone(successor))
    }

    /// Moves the clock if the script requires it now.
    fn jump_after(&self, occasion: ClockTrigger) {
        for jump in self.script.clock.iter().filter(|jump| jump.after == occasion) {
            self.clock.jump(jump.jump);
        }
    }

    /// Adds a protected resource, so that tokens can be issued for it.
    pub(crate) fn protect(&self, resource: &str) {
        let mut resources = self.resources.lock().unwrap_or_else(PoisonError::into_inner);
        resources.retain(|known| known != resource);
        resources.push(resource.to_owned());
    }

    pub(crate) fn protects(&self, resource: &str) -> bool {
        self.resources.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|known| same_url(known, resource))
    }

    /// The resource that was protected last.
    pub(crate) fn default_resource(&self) -> Option<String> {
        self.resources.lock().unwrap_or_else(PoisonError::into_inner).last().cloned()
    }

    /// Signs and stores an access token (RFC 9068).
    pub(crate) fn access_token(&self, state: &mut State, access: &Access<'_>) -> String {
        let now = self.clock.seconds();
        let jti = state.secret();
        let audience = match access.resources {
            [] => Value::Null,
            [one] => Value::from(one.as_str()),
            many => json!(many),
        };
        let mut claims = Map::new();
        for (name, value) in [
            ("iss", Value::from(self.issuer.as_str())),
            ("sub", Value::from(access.consent.subject.as_str())),
            ("aud", audience),
            ("client_id", Value::from(access.consent.client.as_str())),
            ("scope", Value::from(access.scopes.join(" "))),
            ("iat", Value::from(now)),
            ("nbf", Value::from(now)),
            ("exp", Value::from(now + self.script.lifetimes.access_token.0.as_secs())),
            ("jti", Value::from(jti.as_str())),
        ] {
            if !value.is_null() {
                claims.insert(name.to_owned(), value);
            }
        }
        if let Some(jkt) = access.jkt {
            claims.insert("cnf".to_owned(), json!({"jkt": jkt}));
        }
        self.faults.apply(&mut claims, |fault, claims| fault.claims(claims));
        let (client, family) = (access.consent.client.clone(), access.consent.family);
        state.tokens.insert(jti, Issued { client, family, revoked: false });
        let key = if self.faults.deviates(Deviation::InvalidTokenSignature) {
            &SigningKey::seeded(self.seed, "somebody else")
        } else {
            &self.key
        };
        key.sign("at+jwt", &Value::Object(claims))
    }
}

/// Whether two URLs are equal except for a trailing slash and the case of scheme and host (2026-07-28, canonical server
/// URI).
pub(crate) fn same_url(one: &str, other: &str) -> bool {
    let canonical = |text: &str| {
        url::Url::parse(text).map_or_else(|_| text.to_owned(), |url| url.as_str().trim_end_matches('/').to_owned())
    };
    canonical(one) == canonical(other)
}

/// A client of the script.
fn known(client: &RegisteredClient) -> Result<Client, StartError> {
    let mut keys = client.jwks.as_ref().map(jwt::key_set).unwrap_or_default();
    keys.extend(client.public_key.as_deref().and_then(jwt::pem));
    if keys.is_empty() && (client.jwks.is_some() || client.public_key.is_some()) {
        return Err(StartError::Script(format!("the keys of the client `{}` are not understood", client.id)));
    }
    let methods = match client.token_endpoint_auth_method {
        Some(method) => vec![method],
        None if !keys.is_empty() => vec![AuthMethod::PrivateKeyJwt],
        None if client.secret.is_some() => vec![AuthMethod::ClientSecretBasic, AuthMethod::ClientSecretPost],
        None => vec![AuthMethod::None],
    };
    let grants = match client.grant_types.as_slice() {
        [] => vec![GrantType::AuthorizationCode, GrantType::RefreshToken],
        some => some.to_vec(),
    };
    Ok(Client {
        id: client.id.clone(),
        secret: client.secret.clone(),
        secret_expires: None,
        methods,
        keys,
        jwks_uri: None,
        redirect_uris: client.redirect_uris.clone(),
        any_redirect: client.any_redirect_uri,
        grants,
        scopes: client.scopes.clone(),
        dpop_bound: client.dpop_bound_access_tokens,
        fresh_until: None,
    })
}

fn trusted(script: &AuthScript, origin: &str, seed: u64) -> Result<Vec<Trusted>, StartError> {
    let mut all = Vec::new();
    for issuer in &script.trusted_issuers {
        let mut keys = issuer.jwks.as_ref().map(jwt::key_set).unwrap_or_default();
        keys.extend(issuer.public_key.as_deref().and_then(jwt::pem));
        let own = issuer.jwks.is_none() && issuer.public_key.is_none();
        if keys.is_empty() && !own {
            return Err(StartError::Script(format!("the keys of the issuer `{}` are not understood", issuer.issuer)));
        }
        let signing = own.then(|| SigningKey::seeded(seed, &issuer.issuer));
        keys.extend(signing.iter().map(|key| key.decoding().clone()));
        all.push(Trusted {
            issuer: issuer.issuer.clone(),
            keys,
            signing,
            subjects: issuer.subjects.clone(),
            scopes: issuer.scopes.clone(),
            is_provider: false,
        });
    }
    if let Some(provider) = &script.identity_provider {
        let signing = SigningKey::seeded(seed, "identity provider");
        all.push(Trusted {
            issuer: format!("{origin}{}", provider.path),
            keys: vec![signing.decoding().clone()],
            signing: Some(signing),
            subjects: None,
            scopes: None,
            is_provider: true,
        });
    }
    Ok(all)
}
