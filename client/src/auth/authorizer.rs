//! The authorizer of one server: it holds the token, renews it in time, and gets another one when the server asks for it.
//!
//! One flow runs at a time, however many requests are refused at once: whoever comes later finds the new token. Renewal is
//! one request across processes too ([`renewal`](super::renewal)). Tokens go to the origin of the server and nowhere else.

mod discovery;
mod flow;
mod keep;
mod leave;

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

pub use leave::{LoggedOut, Revocation};

use super::{
    Authorize, Refusal,
    browser::Browser,
    challenge::{self, Challenges},
    credentials::{CredentialKey, Credentials, EARLY, TokenType},
    dpop::{DPOP, DpopKey, Nonces},
    error::{AuthError, AuthFailure, told},
    settings::AuthSettings,
    store::CredentialStore,
    token,
    web::Web,
};

/// How often one request may lead to authorization (2026-07-28, authorization, "Step-Up Authorization Flow": "no more than a
/// few times").
const ATTEMPTS: u32 = 3;
/// How often the same scopes are asked for because of a 403, by whichever request.
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
    web: Web,
    nonces: Nonces,
    session: Mutex<Session>,
    /// Held by the one flow that runs.
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

/// What is known in this process.
#[derive(Debug, Default)]
struct Session {
    held: Option<Arc<Held>>,
    /// Whether the store was asked.
    loaded: bool,
    /// What was asked for so far, at the present authorization server.
    asked: Vec<String>,
    /// How often scopes were asked for because of a 403.
    step_ups: BTreeMap<Vec<String>, u32>,
    /// A client that the authorization server does not know any more.
    forgotten_client: Option<String>,
}

/// Credentials in use.
#[derive(Debug)]
struct Held {
    credentials: Credentials,
    key: Option<DpopKey>,
    header: HeaderValue,
    /// How long before its end the token is renewed.
    early: Duration,
}

impl Held {
    fn new(credentials: Credentials) -> Option<Self> {
        let scheme = match credentials.token_type {
            TokenType::Bearer => "Bearer",
            TokenType::DPoP => "DPoP",
        };
        let mut header = HeaderValue::from_str(&format!("{scheme} {}", credentials.access_token.expose())).ok()?;
        header.set_sensitive(true);
        let key = credentials.dpop_key.as_ref().and_then(DpopKey::from_jwk);
        // Without its key a bound token is worth nothing.
        (key.is_some() || credentials.token_type == TokenType::Bearer).then_some(Self {
            credentials,
            key,
            header,
            early: EARLY,
        })
    }

    /// The same, of a token that was had just now: one that lives for a shorter time than renewal is early is used for half of
    /// its life. It would be renewed for every request otherwise.
    fn just_had(mut self) -> Self {
        if let Some(end) = self.credentials.expires_at {
            self.early = EARLY.min(Duration::from_secs(end.saturating_sub(token::now())) / 2);
        }
        self
    }

    /// Whether the token may be used without being renewed.
    fn is_good(&self) -> bool {
        self.credentials.is_good_for(self.early)
    }

    /// Whether the token has not ended, as far as is known.
    fn is_alive(&self) -> bool {
        self.credentials.expires_at.is_none_or(|end| end > token::now())
    }
}

impl Authorizer {
    /// An authorizer for the server at this URL. Without a browser it goes on with what is in the store, and with grants that
    /// need no person.
    ///
    /// # Errors
    /// When no HTTP client can be made.
    pub fn new(
        server: impl Into<String>,
        key: CredentialKey,
        url: &Url,
        settings: AuthSettings,
        store: Arc<dyn CredentialStore>,
        browser: Option<Arc<dyn Browser>>,
    ) -> Result<Self, AuthError> {
        let server = server.into();
        let mut url = url.clone();
        // Both fail only for URLs without a host, which have neither.
        let _ = (url.set_username(""), url.set_password(None));
        let web = Web::new(&url, settings.timeout).map_err(|failure| AuthError::new(server.clone(), failure))?;
        Ok(Self(Arc::new(Inner {
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
        })))
    }

    /// Logs in now, whatever is kept: asks the server what it wants, and gets a new token.
    ///
    /// # Errors
    /// When there is no way to a token.
    pub async fn login(&self) -> Result<Credentials, AuthError> {
        let inner = &self.0;
        let _flow = inner.flow.lock().await;
        let logged_in = async {
            let request = inner.web.get(&inner.url).await?.header(ACCEPT, "application/json, text/event-stream");
            // A server that streams is left at its headers, which hold all that matters here.
            let (status, headers) = inner.web.head_of(&inner.url, request).await?;
            let challenges = Challenges::parse(&challenge::fields(&headers));
            match inner.authorize(&challenges, None).await {
                Ok(held) => Ok(held.credentials.clone()),
                // Without metadata the endpoints are guessed. Where nobody has asked for authorization, that they are not
                // there says that there is none.
                Err(AuthFailure::Registration { endpoint, error, .. }) if status != StatusCode::UNAUTHORIZED => {
                    let unasked =
                        format!("the server answers with HTTP status {} to whom nobody knows", status.as_u16());
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

    fn answered(&self, headers: &HeaderMap) {
        self.0.nonces.note(&self.0.url, headers);
    }

    fn refused(&self, refusal: Refusal) -> BoxFuture<'_, Result<bool, AuthError>> {
        Box::pin(async move { self.0.refused(&refusal).await.map_err(|failure| self.0.error(failure)) })
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
        let Some(held) = self.good().await? else { return Ok(headers) };
        if let Some(key) = held.key.as_ref().filter(|_| held.credentials.token_type == TokenType::DPoP) {
            let token = held.credentials.access_token.expose();
            let proof = key.proof(method, url, self.nonces.of(url).as_deref(), Some(token));
            let value = HeaderValue::from_str(&proof).map_err(|_| AuthFailure::Config {
                what: "a proof of possession".to_owned(),
                problem: "it fits no header".to_owned(),
            })?;
            headers.insert(HeaderName::from_static(DPOP), value);
        }
        headers.insert(AUTHORIZATION, held.header.clone());
        Ok(headers)
    }

    async fn refused(self: &Arc<Self>, refusal: &Refusal) -> Result<bool, AuthFailure> {
        if refusal.url.origin() != self.url.origin() {
            return Ok(false);
        }
        let challenges = Challenges::parse(&refusal.www_authenticate);
        let gave_up =
            || AuthFailure::GaveUp { attempts: refusal.attempt.saturating_sub(1), error: challenges.error().map(told) };
        if refusal.attempt > ATTEMPTS {
            return Err(gave_up());
        }
        // RFC 9449, section 9: the nonce came with this answer, and the same token will do.
        if challenges.error() == Some("use_dpop_nonce") && refusal.presented.is_some() {
            return if self.nonces.of(&refusal.url).is_some() { Ok(true) } else { Err(gave_up()) };
        }
        // A 403 that says nothing of scopes is no matter of tokens (RFC 6750, section 3.1).
        if refusal.status == 403 && challenges.error() != Some("insufficient_scope") {
            return Ok(false);
        }
        let _flow = self.flow.lock().await;
        let held = self.session().held.clone();
        // Whoever waited for the flow of another finds what that has got.
        if held.is_some_and(|held| held.is_alive() && Some(&held.header) != refusal.presented.as_ref()) {
            return Ok(true);
        }
        self.authorize(&challenges, Some(refusal)).await.map(|_| true)
    }
}
