//! The limited state of the authorization server.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::DecodingKey;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::{
    bounded::BoundedMap,
    script::{AuthMethod, GrantType, PkceMethod},
};

const MAX_CLIENTS: usize = 10_000;
const MAX_CODES: usize = 10_000;
const MAX_TOKENS: usize = 100_000;
const MAX_SEEN: usize = 100_000;

/// A registered client.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) id: String,
    pub(crate) secret: Option<String>,
    /// When the secret expires, in seconds since the Unix epoch.
    pub(crate) secret_expires: Option<u64>,
    pub(crate) methods: Vec<AuthMethod>,
    pub(crate) keys: Vec<DecodingKey>,
    /// The URL of its keys, if they are not loaded yet.
    pub(crate) jwks_uri: Option<String>,
    pub(crate) redirect_uris: Vec<String>,
    pub(crate) any_redirect: bool,
    pub(crate) grants: Vec<GrantType>,
    pub(crate) scopes: Option<Vec<String>>,
    pub(crate) dpop_bound: bool,
    /// The time until which its metadata document is fresh; `None` for clients without one.
    pub(crate) fresh_until: Option<Duration>,
}

/// The consent of a user, or of an issuer of assertions.
#[derive(Debug, Clone)]
pub(crate) struct Consent {
    pub(crate) client: String,
    pub(crate) subject: String,
    pub(crate) scopes: Vec<String>,
    /// The requested resources; empty if the client requested none.
    pub(crate) resources: Vec<String>,
    /// Tokens of one consent are one family, and are revoked together.
    pub(crate) family: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Code {
    pub(crate) consent: Consent,
    /// The value of the authorization request, to be compared with the token request (RFC 6749 section 4.1.3).
    pub(crate) redirect_uri: Option<String>,
    pub(crate) challenge: Option<(String, PkceMethod)>,
    pub(crate) jkt: Option<String>,
    pub(crate) expires: Duration,
    pub(crate) used: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct RefreshToken {
    pub(crate) consent: Consent,
    pub(crate) jkt: Option<String>,
    pub(crate) expires: Duration,
    pub(crate) used: bool,
}

/// An issued access token.
#[derive(Debug, Clone)]
pub(crate) struct Issued {
    pub(crate) client: String,
    pub(crate) family: u64,
    pub(crate) revoked: bool,
}

/// The mutable state.
#[derive(Debug)]
pub(crate) struct State {
    random: ChaCha8Rng,
    pub(crate) clients: BoundedMap<String, Client>,
    pub(crate) codes: BoundedMap<String, Code>,
    pub(crate) refresh: BoundedMap<String, RefreshToken>,
    /// Access tokens by `jti`.
    pub(crate) tokens: BoundedMap<String, Issued>,
    /// Ids of assertions and proofs, which can be used once.
    pub(crate) seen: BoundedMap<String, ()>,
    /// The number of decided authorization requests.
    pub(crate) looked: usize,
    /// The last issued code.
    pub(crate) last_code: Option<String>,
    /// The number of issued access tokens.
    pub(crate) tokens_issued: u32,
    /// The number of accepted requests with a token.
    pub(crate) requests_passed: u32,
    families: u64,
}

impl State {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            random: ChaCha8Rng::seed_from_u64(seed),
            clients: BoundedMap::new(MAX_CLIENTS),
            codes: BoundedMap::new(MAX_CODES),
            refresh: BoundedMap::new(MAX_TOKENS),
            tokens: BoundedMap::new(MAX_TOKENS),
            seen: BoundedMap::new(MAX_SEEN),
            looked: 0,
            last_code: None,
            tokens_issued: 0,
            requests_passed: 0,
            families: 0,
        }
    }

    /// A random string, derived from the seed.
    pub(crate) fn secret(&mut self) -> String {
        let mut bytes = [0_u8; 24];
        self.random.fill_bytes(&mut bytes);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Begins a new consent.
    pub(crate) fn family(&mut self) -> u64 {
        self.families += 1;
        self.families
    }

    /// Revokes all tokens of one consent.
    pub(crate) fn revoke_family(&mut self, family: u64) {
        self.tokens.values_mut().filter(|token| token.family == family).for_each(|token| token.revoked = true);
        self.refresh.values_mut().filter(|token| token.consent.family == family).for_each(|token| token.used = true);
    }

    /// Revokes all tokens of a client.
    pub(crate) fn revoke_client(&mut self, client: &str) {
        let theirs = |consent: &Consent| consent.client == client;
        self.refresh.values_mut().filter(|token| theirs(&token.consent)).for_each(|token| token.used = true);
        self.tokens.values_mut().filter(|token| token.client == client).for_each(|token| token.revoked = true);
    }

    /// Whether this id is new.
    pub(crate) fn is_fresh(&mut self, kind: &str, id: &str) -> bool {
        self.seen.insert(super::jwt::digest(format!("{kind} {id}").as_bytes()), ())
    }
}
