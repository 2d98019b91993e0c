//! The HTTP client below rmcp's Streamable HTTP worker (2025-03-26 to 2026-07-28, transports).
//!
//! The worker keeps sessions, opens and resumes streams, and sets the headers of each era. This module makes the requests:
//! it bounds what it reads, keeps answers raw through the [`Ledger`], turns the refusal of a probe into an answer that
//! makes rmcp fall back to `initialize`, and remembers the status of what failed. Tool calls go past the worker (`direct`).

mod authorized;
mod backoff;
mod direct;
pub(crate) mod headers;
mod joined;
pub(crate) mod pool;
mod redirect;
mod response;
mod throttle;
mod worker;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, atomic::AtomicBool},
    time::{Duration, SystemTime},
};

use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{ACCEPT, AUTHORIZATION},
};
use reqwest::{RequestBuilder, Response};
use rmcp::{
    model::ServerJsonRpcMessage,
    transport::{
        StreamableHttpClientTransport,
        common::client_side_sse::SseRetryPolicy,
        streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError},
    },
};
use tokio::sync::{Semaphore, mpsc, watch};
use url::Url;

use self::{authorized::Sender, direct::Way, joined::HttpTransport, pool::Address};
pub(crate) use self::{backoff::Backoff, direct::Post, redirect::Refused};
use crate::{
    auth::{AuthError, Authorize},
    config::HttpEndpoint,
    error::ConnectFailure,
    event::Happening,
    ledger::{Ledger, Pause},
};

const EVENT_STREAM: &str = "text/event-stream";
/// How many messages that are rmcp's business may wait for it.
const ASIDE: usize = 256;
pub(crate) const JSON: &str = "application/json";
/// What a POST may be answered with.
const ACCEPTED: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const LAST_EVENT_ID: &str = "last-event-id";
const SESSION_ID: &str = "mcp-session-id";
/// How long requests of a forgotten session may take to end before a new one is opened without them.
const SESSION_RECOVERY: Duration = Duration::from_secs(5);
/// How long a session's first request waits for the session's own stream.
const STREAM_FIRST: Duration = Duration::from_millis(500);

/// Why an HTTP exchange failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpFailure {
    /// The exchange itself.
    // rmcp hands on what an error says, and not its causes: the one that tells most goes into the text.
    #[error("the HTTP exchange failed: {}", innermost(.0))]
    Exchange(#[source] reqwest::Error),
    /// The status.
    #[error("HTTP status {status}")]
    Status { status: u16, body: String, challenge: Option<String> },
    /// The request could not be authorized.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// A redirect that is not followed.
    #[error(transparent)]
    Redirect(Refused),
    /// The message cannot be written as JSON.
    #[error("the message cannot be written")]
    Body(#[source] serde_json::Error),
    /// There is no session any more.
    #[error("the session is over")]
    Over,
}

/// The first of all causes, as "Connection refused".
fn innermost(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source()).last().map(ToString::to_string).unwrap_or_default()
}

impl HttpFailure {
    /// Whether it would be the same the next time: the server offers no such thing, or not to this client.
    fn is_permanent(&self) -> bool {
        match self {
            Self::Exchange(_) => false,
            Self::Auth(_) | Self::Redirect(_) | Self::Body(_) | Self::Over => true,
            // The request was in order and may be repeated after 408, 425 and 429 (RFC 9110, RFC 8470, RFC 6585).
            Self::Status { status, .. } => (400..500).contains(status) && !matches!(status, 408 | 425 | 429),
        }
    }
}

impl From<reqwest::Error> for HttpFailure {
    fn from(error: reqwest::Error) -> Self {
        match Refused::behind(&error) {
            Some(refused) => Self::Redirect(refused.clone()),
            None => Self::Exchange(error),
        }
    }
}

/// Makes the requests of one connection.
#[derive(Debug, Clone)]
pub(crate) struct HttpClient {
    shared: Arc<Shared>,
}

/// What the clones of an [`HttpClient`] have in common: rmcp makes one for every stream.
#[derive(Debug)]
struct Shared {
    sender: Sender,
    endpoint: HttpEndpoint,
    /// What the user has configured; asked anew where a helper says it and the server refuses.
    headers: RwLock<HeaderMap>,
    ledger: Arc<Ledger>,
    probe_limit: Duration,
    /// While a server is left alone, the clock of the probe stands still.
    put_off: Pause,
    /// The session whose stream was opened. Before that, a failure to open it is a failure of the first try.
    streaming: Mutex<Option<Arc<str>>>,
    greeted: AtomicBool,
    url: Url,
    /// How requests are sent past rmcp: not before there is a session, nor while another one is opened.
    way: RwLock<Option<Way>>,
    /// The session that the server has forgotten last.
    ended: Mutex<Option<Arc<str>>>,
    /// How many requests may be under way at a time.
    turns: Semaphore,
    /// To rmcp's transport: what comes with the answers to such requests and is its business.
    aside: OnceLock<mpsc::Sender<ServerJsonRpcMessage>>,
    /// Whether the request for the session's own stream was answered, one way or the other.
    answers_stream: watch::Sender<bool>,
}

type Outcome<T> = Result<T, StreamableHttpError<HttpFailure>>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// A transport to a URL, and the way past it.
pub(crate) async fn transport(
    endpoint: &HttpEndpoint,
    ledger: &Arc<Ledger>,
    probe_limit: Duration,
    authorizer: Option<&Arc<dyn Authorize>>,
) -> Result<(HttpTransport, HttpClient), ConnectFailure> {
    let (client, url) = HttpClient::new(endpoint, ledger, probe_limit, authorizer).await?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
        .max_concurrent_requests(ledger.limits.concurrent_requests)
        .max_sse_event_size(ledger.limits.message_bytes)
        .session_recovery_timeout(SESSION_RECOVERY);
    config.retry_config = Arc::new(Backoff);
    let (aside, others) = mpsc::channel(ASIDE);
    // It is set here and nowhere else.
    let _ = client.shared.aside.set(aside);
    let worker = StreamableHttpClientTransport::with_client(client.clone(), config);
    Ok((HttpTransport { worker, others }, client))
}

/// What a refused exchange amounts to.
pub(crate) async fn failure_of(response: reqwest::Response) -> HttpFailure {
    response::failure(response).await
}

/// The same, while connecting.
pub(crate) async fn refusal(response: reqwest::Response) -> ConnectFailure {
    of_failure(response::failure(response).await)
}

/// What a failed exchange amounts to while connecting.
pub(crate) fn of_failure(failure: HttpFailure) -> ConnectFailure {
    match failure {
        HttpFailure::Status { status: status @ (401 | 403), challenge, .. } => {
            ConnectFailure::NeedsAuth { status, challenge }
        }
        HttpFailure::Status { status, body, .. } => ConnectFailure::HttpStatus { status, body },
        HttpFailure::Redirect(Refused { to, reason }) => ConnectFailure::RedirectRefused { to, reason },
        HttpFailure::Exchange(source) => ConnectFailure::Transport { source: source.into() },
        HttpFailure::Auth(source) => ConnectFailure::Auth { source },
        HttpFailure::Body(source) => ConnectFailure::Transport { source: source.into() },
        HttpFailure::Over => ConnectFailure::Closed,
    }
}

/// Reads a body that means nothing.
pub(crate) async fn discard(response: reqwest::Response) {
    response::discard(response).await;
}

impl HttpClient {
    /// A client for this endpoint, and the endpoint's URL.
    pub(crate) async fn new(
        endpoint: &HttpEndpoint,
        ledger: &Arc<Ledger>,
        probe_limit: Duration,
        authorizer: Option<&Arc<dyn Authorize>>,
    ) -> Result<(Self, Url), ConnectFailure> {
        let address = Address::of(endpoint)?;
        let headers = headers::configured(endpoint, ledger.reporter.server()).await?;
        let client = pool::client(&address, &headers)?;
        let shared = Shared {
            sender: Sender::new(client, authorizer, headers.contains_key(AUTHORIZATION), ledger),
            endpoint: endpoint.clone(),
            headers: RwLock::new(headers),
            ledger: Arc::clone(ledger),
            probe_limit,
            put_off: Pause::default(),
            streaming: Mutex::default(),
            greeted: AtomicBool::new(false),
            url: address.url.clone(),
            way: RwLock::default(),
            ended: Mutex::default(),
            turns: Semaphore::new(ledger.limits.concurrent_requests),
            aside: OnceLock::new(),
            answers_stream: watch::Sender::new(false),
        };
        Ok((Self { shared: Arc::new(shared) }, address.url))
    }

    /// Makes a request that belongs to no session, as often as it takes.
    pub(crate) async fn send(
        &self,
        request: impl Fn(&reqwest::Client) -> RequestBuilder,
    ) -> Result<Response, HttpFailure> {
        self.exchange(|| request(&self.shared.sender.client), &HeaderMap::new()).await
    }

    /// Lets the request for the session's own stream come first, for a moment at most: some servers ask on that stream
    /// what a call makes them ask, and lose the question where there is none yet.
    async fn until_stream(&self) {
        if *self.shared.answers_stream.borrow() {
            return;
        }
        let mut answered = self.shared.answers_stream.subscribe();
        if tokio::time::timeout(STREAM_FIRST, answered.wait_for(|answered| *answered)).await.is_err() {
            // It is not waited for again.
            self.shared.answers_stream.send_replace(true);
        }
    }

    /// Makes a request as often as it takes: a server that asks for patience gets it, and one that refuses what a helper has
    /// said gets what the helper says now.
    async fn exchange(
        &self,
        request: impl Fn() -> RequestBuilder,
        headers: &HeaderMap,
    ) -> Result<Response, HttpFailure> {
        let mut put_off = 0;
        let mut asked_anew = false;
        loop {
            let mut all = self.shared.headers.read().unwrap_or_else(PoisonError::into_inner).clone();
            all.extend(headers.iter().map(|(name, value)| (name.clone(), value.clone())));
            let response = self.shared.sender.send(request().headers(all)).await?;
            let status = response.status();
            if status == StatusCode::UNAUTHORIZED && !asked_anew && self.shared.endpoint.headers_helper.is_some() {
                asked_anew = true;
                if self.ask_anew().await {
                    discard(response).await;
                    continue;
                }
            }
            let pause = throttle::pause(status, response.headers(), SystemTime::now());
            let Some(pause) = pause.filter(|_| put_off < throttle::ATTEMPTS) else { return Ok(response) };
            put_off += 1;
            discard(response).await;
            let wait_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
            self.shared.ledger.reporter.report(|| Happening::Throttled { status: status.as_u16(), wait_ms });
            let _waiting = self.shared.put_off.begin();
            tokio::time::sleep(pause).await;
        }
    }

    /// Asks the helper again. Whether it said something new.
    async fn ask_anew(&self) -> bool {
        let shared = &self.shared;
        match headers::configured(&shared.endpoint, shared.ledger.reporter.server()).await {
            Ok(headers) => {
                let mut known = shared.headers.write().unwrap_or_else(PoisonError::into_inner);
                std::mem::replace(&mut *known, headers) != *known
            }
            Err(error) => {
                tracing::warn!(%error, "the headers stay as they were");
                false
            }
        }
    }

    /// Keeps in the books why the connection cannot be made, where rmcp would not tell.
    fn note(&self, failure: HttpFailure) -> StreamableHttpError<HttpFailure> {
        if let HttpFailure::Redirect(refused) = &failure {
            self.shared.ledger.note_redirect(refused.clone());
        }
        StreamableHttpError::Client(failure)
    }

    /// Opens a stream. The first one of a session is tried again as often as a later one.
    async fn stream(
        &self,
        session: Option<Arc<str>>,
        last_event_id: Option<String>,
        mut headers: HeaderMap,
    ) -> Outcome<Response> {
        let streaming = || self.shared.streaming.lock().unwrap_or_else(PoisonError::into_inner);
        let first = last_event_id.is_none() && *streaming() != session;
        let mut tries = 0;
        headers.insert(ACCEPT, HeaderValue::from_static(EVENT_STREAM));
        if let Some(id) = last_event_id.and_then(|id| HeaderValue::from_str(&id).ok()) {
            headers.insert(LAST_EVENT_ID, id);
        }
        loop {
            let request = || self.shared.sender.client.get(self.shared.url.clone());
            let failure = match self.exchange(request, &headers).await {
                Ok(response) if response.status().is_success() => {
                    if first {
                        streaming().clone_from(&session);
                    }
                    return Ok(response);
                }
                Ok(response) => response::failure(response).await,
                Err(failure) => failure,
            };
            if failure.is_permanent() {
                tracing::debug!(%failure, "there is no stream to be had");
                return Err(StreamableHttpError::ServerDoesNotSupportSse);
            }
            let Some(wait) = Backoff.retry(tries).filter(|_| first) else {
                return Err(StreamableHttpError::Client(failure));
            };
            tries += 1;
            tokio::time::sleep(wait).await;
        }
    }
}
