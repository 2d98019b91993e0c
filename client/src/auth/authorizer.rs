//! OAuth authorization for one server: stores and renews the token, and obtains a new one after a challenge.
//!
//! Only one flow runs at a time: concurrent requests that are rejected use its token. Renewal is coordinated across
//! processes too ([`renewal`](super::renewal)). Tokens are sent only to the origin of the server.

mod credentials;
mod discovery;
mod flow;
mod logout;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::future::BoxFuture;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
    header::{ACCEPT, AUTHORIZATION},
};
use url::Url;

pub use logout::{LoggedOut, Revocation};

use super::{
    Authorize, RejectedRequest,
    auth_http::AuthHttpClient,
    browser::Browser,
    challenge::{self, Challenges},
    credentials::{CredentialKey, Credentials, EARLY, TokenType, now},
    dpop::{DPOP, DpopKey, Nonces},
    error::{AuthError, AuthFailure, quoted},
    settings::AuthSettings,
    store::CredentialStore,
};

/// Maximum number of attempts for one request (2026-07-28, authorization, "Step-Up Authorization Flow": "no more than
/// a few times").
const ATTEMPTS: u32 = 3;
/// Maximum number of requests for the same scopes after a 403.
const SAME_SCOPES: u32 = 2;

/// Authorizes the requests to one server with OAuth.
#[derive(Debug, Clone)]
pub struct Authorizer(Arc<Inner>);

struct Inner {
    server: String,
    url: Url,
    key: CredentialKey,
    settings: AuthSettings,
    store: Arc<dyn CredentialStore>,
    browser: Option<Arc<dyn Browser>>,
    web: AuthHttpClient,
    nonces: Nonces,
    session: Mutex<Session>,
    /// Serializes flows.
    flow: tokio::sync::Mutex<()>,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorizer")
            .field("server", &self.server)
            .field("url", &self.url.as_str())
            .finish_non_exhaustive()
    }
}

/// State of this process.
#[derive(Debug, Default)]
struct Session {
    stored: Option<Arc<ActiveCredentials>>,
    /// Whether the store was read.
    loaded: bool,
    /// The scopes requested so far from the current authorization server.
    requested_scopes: Vec<String>,
    /// Number of requests for scopes after a 403.
    step_ups: BTreeMap<Vec<String>, u32>,
    /// A client that the authorization server no longer knows.
    forgotten_client: Option<String>,
}

/// Credentials in use.
#[derive(Debug)]
struct ActiveCredentials {
    credentials: Credentials,
    key: Option<DpopKey>,
    header: HeaderValue,
    /// How long before its expiry the token is renewed.
    early: Duration,
}

impl ActiveCredentials {
    fn new(credentials: Credentials) -> Option<Self> {
        let scheme = match credentials.token_type {
            TokenType::Bearer => "Bearer",
            TokenType::DPoP => "DPoP",
        };
        let mut header = HeaderValue::from_str(&format!("{scheme} {}", credentials.access_token.expose())).ok()?;
        header.set_sensitive(true);
        let key = credentials.dpop_key.as_ref().and_then(DpopKey::from_jwk);
        // A bound token is useless without its key.
        (key.is_some() || credentials.token_type == TokenType::Bearer).then_some(Self {
            credentials,
            key,
            header,
            early: EARLY,
        })
    }

    /// The same for a new token. If it expires sooner than tokens are usually renewed, it is used for half of its
    /// lifetime, because otherwise each request would renew it.
    fn into_fresh(mut self) -> Self {
        if let Some(end) = self.credentials.expires_at {
            self.early = EARLY.min(Duration::from_secs(end.saturating_sub(now())) / 2);
        }
        self
    }

    /// Whether the token can be used without renewal.
    fn is_valid(&self) -> bool {
        self.credentials.is_good_for(self.early)
    }

    /// Whether the token has not expired, as far as known.
    fn is_alive(&self) -> bool {
        self.credentials.expires_at.is_none_or(|end| end > now())
    }
}

impl Authorizer {
    /// An authorizer for the server at this URL. Without a browser, it uses stored credentials and grants without user
    /// interaction.
    #[must_use]
    pub fn new(
        server: impl Into<String>,
        key: CredentialKey,
        url: &Url,
        settings: AuthSettings,
        store: Arc<dyn CredentialStore>,
        browser: Option<Arc<dyn Browser>>,
    ) -> Self {
        let server = server.into();
        let mut url = url.clone();
        // Both fail only for URLs without a host, which have no userinfo.
        let _ = (url.set_username(""), url.set_password(None));
        let web = AuthHttpClient::new(&url, settings.timeout);
        Self(Arc::new(Inner {
            server,
            url,
            key,
            settings,
            store,
            browser,
            web,
            nonces: Nonces::default(),
            session: Mutex::default(),
            flow: tokio::sync::Mutex::default(),
        }))
    }

    /// Logs in regardless of stored credentials.
    ///
    /// # Errors
    /// If no token can be obtained.
    pub async fn login(&self) -> Result<Credentials, AuthError> {
        let inner = &self.0;
        let _flow = inner.flow.lock().await;
        let logged_in = async {
            let request = inner.web.get(&inner.url).await?.header(ACCEPT, "application/json, text/event-stream");
            // The body may be a stream, and the headers are sufficient.
            let (status, headers) = inner.web.head_of(&inner.url, request).await?;
            let challenges = Challenges::parse(&challenge::fields(&headers));
            match inner.authorize(&challenges, None).await {
                Ok(stored) => Ok(stored.credentials.clone()),
                // Without metadata, the endpoints are guessed. If the server did not require authorization, a failure
                // there means that it has none.
                Err(AuthFailure::Registration { endpoint, error, .. }) if status != StatusCode::UNAUTHORIZED => {
                    let unasked =
                        format!("the server responds with HTTP status {} without authorization", status.as_u16());
                    Err(AuthFailure::Discovery { tried: vec![unasked, format!("{endpoint}: {error}")] })
                }
                Err(failure) => Err(failure),
            }
        };
        logged_in.await.map_err(|failure| inner.error(failure))
    }
}

impl Authorize for Authorizer {
    fn headers<'a>(&'a self, method: &'a Method, url: &'a Url) -> BoxFuture<'a, Result<HeaderMap, AuthError>> {
        Box::pin(async move { self.0.headers(method, url).await.map_err(|failure| self.0.error(failure)) })
    }

    fn on_response(&self, headers: &HeaderMap) {
        self.0.nonces.note(&self.0.url, headers);
    }

    fn on_rejection(&self, rejection: RejectedRequest) -> BoxFuture<'_, Result<bool, AuthError>> {
        Box::pin(async move { self.0.on_rejection(&rejection).await.map_err(|failure| self.0.error(failure)) })
    }
}

impl Inner {
    fn error(&self, failure: AuthFailure) -> AuthError {
        AuthError::new(self.server.clone(), failure)
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn headers(self: &Arc<Self>, method: &Method, url: &Url) -> Result<HeaderMap, AuthFailure> {
        let mut headers = HeaderMap::new();
        if url.origin() != self.url.origin() {
            return Ok(headers);
        }
        let Some(stored) = self.valid().await? else { return Ok(headers) };
        if let Some(key) = stored.key.as_ref().filter(|_| stored.credentials.token_type == TokenType::DPoP) {
            let token = stored.credentials.access_token.expose();
            let proof = key.proof(method, url, self.nonces.get(url).as_deref(), Some(token));
            let value = HeaderValue::from_str(&proof).map_err(|_| AuthFailure::Config {
                what: "the proof of possession".to_owned(),
                problem: "not a valid header value".to_owned(),
            })?;
            headers.insert(HeaderName::from_static(DPOP), value);
        }
        headers.insert(AUTHORIZATION, stored.header.clone());
        Ok(headers)
    }

    async fn on_rejection(self: &Arc<Self>, rejection: &RejectedRequest) -> Result<bool, AuthFailure> {
        if rejection.url.origin() != self.url.origin() {
            return Ok(false);
        }
        let challenges = Challenges::parse(&rejection.www_authenticate);
        let rejected_again = || AuthFailure::GaveUp {
            attempts: rejection.attempt.saturating_sub(1),
            error: challenges.error().map(quoted),
        };
        if rejection.attempt > ATTEMPTS {
            return Err(rejected_again());
        }
        // RFC 9449, section 9: this response contains the nonce, and the token remains valid.
        if challenges.error() == Some("use_dpop_nonce") && rejection.presented.is_some() {
            return if self.nonces.get(&rejection.url).is_some() { Ok(true) } else { Err(rejected_again()) };
        }
        // Without `insufficient_scope`, a 403 is unrelated to tokens (RFC 6750, section 3.1).
        if rejection.status == 403 && challenges.error() != Some("insufficient_scope") {
            return Ok(false);
        }
        let _flow = self.flow.lock().await;
        let stored = self.session().stored.clone();
        // Another flow may have obtained a token in the meantime.
        if stored.is_some_and(|stored| stored.is_alive() && Some(&stored.header) != rejection.presented.as_ref()) {
            return Ok(true);
        }
        self.authorize(&challenges, Some(rejection)).await.map(|_| true)
    }
}
