//! Authorization (2025-03-26 to 2026-07-28, basic/authorization): discovery, registration, codes, tokens and proofs. The user is
//! replaced by one request to the authorization endpoint, which redirects at once.

mod discovery;
mod signature;
mod tokens;
mod unattended;

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use reqwest::{Client, Request, Response, Url};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{
    defect::{Defect, Flaw},
    fault::Fault,
    habit::Habit,
    setup::Setup,
};
use signature::Proofs;

/// The redirect URI, at which nothing listens.
const REDIRECT: &str = "http://127.0.0.1:7654/callback";
/// Maximum number of tokens for one request.
const MAX_ATTEMPTS: usize = 3;

/// The authorization of one server.
pub(crate) struct OAuth {
    client: Client,
    server: Url,
    revision: String,
    /// The context with the credentials.
    context: Value,
    flaw: Flaw,
    login: Arc<Login>,
    proofs: Proofs,
    /// Lock of the task that obtains a token.
    turn: tokio::sync::Mutex<()>,
}

/// What an agent keeps, and whether the user is there.
#[derive(Debug, Default)]
pub(crate) struct Login {
    session: Mutex<Session>,
    /// Whether nobody can log in now.
    pub(crate) is_alone: AtomicBool,
}

impl Login {
    pub(crate) fn forget(&self) {
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Session::default();
    }
}

/// The tokens and the registration.
#[derive(Debug, Clone, Default)]
struct Session {
    token: Option<String>,
    refresh: Option<String>,
    registered: Option<Registered>,
    /// The scopes that were requested so far.
    scopes: Vec<String>,
    /// Whether the token is bound to the key of the proofs.
    has_proofs: bool,
    /// The number of random values.
    drawn: u64,
}

/// The client at one authorization server.
#[derive(Debug, Clone)]
struct Registered {
    issuer: String,
    token_endpoint: String,
    id: String,
    secret: Option<String>,
    /// The method of authentication at the token endpoint.
    method: String,
}

/// The parameters of a challenge.
#[derive(Debug, Default)]
struct Challenge {
    metadata: Option<String>,
    scope: Option<String>,
    error: Option<String>,
    /// Whether no challenge of another scheme precedes.
    is_first: bool,
    /// Whether the scheme is in the usual case.
    is_capital: bool,
}

/// A resource and its authorization server.
struct Discovered {
    resource: String,
    /// The scopes in the metadata of the resource.
    scopes: Option<Vec<String>>,
    /// The metadata of the authorization server.
    server: Value,
}

impl OAuth {
    /// The authorization of a case, if it has an authorization server.
    pub(crate) fn new(client: &Client, url: &str, setup: &Setup, flaw: Flaw) -> Option<Self> {
        let context = &setup.context;
        let wanted = context["client"]["authorization"].is_string() && !flaw.has(Habit::KnowsNoAuthorization);
        Some(Self {
            client: client.clone(),
            server: url.parse().ok().filter(|_| wanted)?,
            revision: context["revision"].as_str().unwrap_or_default().to_owned(),
            context: context.clone(),
            flaw,
            login: setup.login.clone().unwrap_or_default(),
            proofs: Proofs::new(&format!("{url} {}", std::process::id())),
            turn: tokio::sync::Mutex::default(),
        })
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        self.login.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn token(&self) -> Option<String> {
        self.session().token.clone()
    }

    /// Adds the token to a request, and a proof of possession if the token is bound to a key.
    pub(crate) fn add_token(&self, request: &mut Request, token: &str) {
        let has_proofs = self.session().has_proofs;
        let scheme = if has_proofs && !self.flaw.is(Defect::SendsBoundAsBearer) { "DPoP" } else { "Bearer" };
        if let Ok(value) = format!("{scheme} {token}").parse() {
            request.headers_mut().insert("authorization", value);
        }
        if has_proofs {
            self.prove(request, Some(token));
        }
    }

    /// Looks for the authorization server before the first request.
    pub(crate) async fn prepare(&self) {
        if self.flaw.has(Habit::AuthorizesFirst) && self.token().is_none() {
            // Without metadata the server may need no authorization.
            let _ = self.authorize(&Challenge::default()).await;
        }
    }

    /// Obtains a token after a rejection of a request with `presented`; returns whether the request can be repeated.
    pub(crate) async fn answer(
        &self,
        response: &Response,
        presented: Option<&str>,
        attempt: usize,
    ) -> Result<bool, Fault> {
        let status = response.status().as_u16();
        let challenge = Challenge::read(response);
        if self.asks_for_nonce(response) && challenge.error.as_deref() == Some("use_dpop_nonce") {
            return Ok(attempt < self.max_attempts());
        }
        let lacks_scopes = status == 403 && challenge.error.as_deref() == Some("insufficient_scope");
        if status != 401 && !lacks_scopes || attempt >= self.max_attempts() {
            return Ok(false);
        }
        let _turn = self.turn.lock().await;
        if self.token().as_deref() != presented {
            return Ok(true);
        }
        if lacks_scopes && self.flaw.is(Defect::IgnoresMissingScopes) {
            return Ok(false);
        }
        let has_expired = status == 401 && presented.is_some();
        if has_expired && self.flaw.is(Defect::KeepsExpiredToken) {
            return Ok(false);
        }
        if has_expired {
            let is_refreshed = self.refresh(&challenge).await;
            if is_refreshed || self.flaw.is(Defect::GivesUpAfterRefresh) {
                return Ok(is_refreshed);
            }
        }
        if self.login.is_alone.load(Ordering::Relaxed) && !self.flaw.is(Defect::LogsInUnasked) {
            return Ok(false);
        }
        self.authorize(&challenge).await.map(|()| true)
    }

    fn max_attempts(&self) -> usize {
        if self.flaw.is(Defect::StepsUpForEver) { 40 } else { MAX_ATTEMPTS }
    }

    async fn authorize(&self, challenge: &Challenge) -> Result<(), Fault> {
        let found = self.discover(challenge).await?;
        self.session().has_proofs = found.server["dpop_signing_alg_values_supported"].is_array();
        match self.context["client"]["authorization"].as_str() {
            Some("authorization-code") => self.by_code(&found, challenge).await,
            Some("client-credentials") => self.by_credentials(&found).await,
            Some("enterprise-managed") => self.by_enterprise(&found).await,
            Some("workload-identity") => self.by_workload(&found).await,
            _ => Err(refused("the client does not support the grant")),
        }
    }

    fn is_since(&self, revision: &str) -> bool {
        self.revision.as_str() >= revision
    }

    /// Another text for each call.
    fn random(&self) -> String {
        let mut session = self.session();
        session.drawn += 1;
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        URL_SAFE_NO_PAD.encode(Sha256::digest(format!("{} {}", now.as_nanos(), session.drawn)))
    }

    /// A JSON document; `None` if there is none.
    async fn document(&self, url: &str) -> Result<Option<Value>, Fault> {
        let mut request = self.client.get(url).header("accept", "application/json");
        if self.flaw.is(Defect::SendsTokenEverywhere)
            && let Some(token) = self.token()
        {
            request = request.bearer_auth(token);
        }
        let response = request.send().await.map_err(|error| refused(error.to_string()))?;
        let is_success = response.status().is_success();
        let text = response.text().await.unwrap_or_default();
        Ok(serde_json::from_str(&text).ok().filter(|document: &Value| is_success && document.is_object()))
    }
}

impl Challenge {
    fn read(response: &Response) -> Self {
        let header =
            response.headers().get("www-authenticate").and_then(|value| value.to_str().ok()).unwrap_or_default();
        let parameter = |name: &str| {
            let rest = header.split([' ', ',']).find_map(|_| header.split_once(&format!("{name}=\"")))?.1;
            Some(rest.split('"').next()?.to_owned())
        };
        let is_first = header.starts_with("Bearer") || header.starts_with("DPoP");
        let is_capital = header.contains("Bearer") || header.contains("DPoP");
        Self {
            metadata: parameter("resource_metadata"),
            scope: parameter("scope"),
            error: parameter("error"),
            is_first,
            is_capital,
        }
    }
}

fn refused(why: impl Into<String>) -> Fault {
    Fault::new("needs-auth", why)
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn texts(value: &Value) -> Option<Vec<String>> {
    Some(value.as_array()?.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}
