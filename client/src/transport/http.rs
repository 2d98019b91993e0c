//! HTTP client of rmcp's Streamable HTTP worker (2025-03-26 to 2026-07-28, transports).
//!
//! The worker manages sessions and streams, and sets the headers of each era. This module sends the requests, limits
//! what it reads, and keeps raw responses in the [`RequestTracker`]. It converts a rejected probe to a response that
//! makes rmcp continue with `initialize`, and records the status of failures. Tool calls bypass the worker (`direct`).

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
    model::{ClientJsonRpcMessage, ClientRequest, ServerJsonRpcMessage},
    transport::{
        StreamableHttpClientTransport,
        common::client_side_sse::SseRetryPolicy,
        streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError},
    },
};
use tokio::sync::{Semaphore, mpsc, watch};
use url::Url;

use self::{authorized::Sender, direct::DirectSender, joined::HttpTransport, pool::Address};
pub(crate) use self::{backoff::Backoff, direct::Post, redirect::RedirectError};
use crate::{
    auth::{AuthError, Authorize},
    config::HttpEndpoint,
    error::ConnectFailure,
    event::ClientEventKind,
    tracker::{Pause, RequestTracker},
};

const EVENT_STREAM: &str = "text/event-stream";
/// Size of the queue of messages for rmcp.
const SDK_QUEUE: usize = 256;
pub(crate) const JSON: &str = "application/json";
/// The accepted media types.
const ACCEPTED: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const LAST_EVENT_ID: &str = "last-event-id";
const SESSION_ID: &str = "mcp-session-id";
/// Timeout for pending requests of an expired session before a new one is opened.
const SESSION_RECOVERY: Duration = Duration::from_secs(5);
/// Timeout of the session's own stream before the first request.
const STREAM_FIRST: Duration = Duration::from_millis(500);

/// The reason why an HTTP exchange failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpFailure {
    /// Sending or receiving failed. rmcp reports the message without its causes, so the innermost cause is part of it.
    #[error("HTTP request failed: {}", innermost(.0))]
    Exchange(#[source] reqwest::Error),
    /// An error status.
    #[error("HTTP status {status}")]
    Status { status: u16, body: String, challenge: Option<String> },
    /// The request could not be authorized.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// A redirect was rejected.
    #[error(transparent)]
    Redirect(RedirectError),
    /// The message cannot be serialized.
    #[error("cannot serialize the message")]
    Body(#[source] serde_json::Error),
    /// The session has ended.
    #[error("the session has ended")]
    Over,
}

/// The innermost cause, for example "Connection refused".
fn innermost(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source()).last().map(ToString::to_string).unwrap_or_default()
}

impl HttpFailure {
    /// Whether a retry would fail in the same way.
    fn is_permanent(&self) -> bool {
        match self {
            Self::Exchange(_) => false,
            Self::Auth(_) | Self::Redirect(_) | Self::Body(_) | Self::Over => true,
            // 408, 425 and 429 are temporary (RFC 9110, RFC 8470, RFC 6585).
            Self::Status { status, .. } => (400..500).contains(status) && !matches!(status, 408 | 425 | 429),
        }
    }
}

impl From<reqwest::Error> for HttpFailure {
    fn from(error: reqwest::Error) -> Self {
        match RedirectError::behind(&error) {
            Some(rejected) => Self::Redirect(rejected.clone()),
            None => Self::Exchange(error),
        }
    }
}

/// Sends the requests of one connection.
#[derive(Debug, Clone)]
pub(crate) struct HttpClient {
    shared: Arc<Shared>,
}

/// State that clones of an [`HttpClient`] share. rmcp clones it for each stream.
#[derive(Debug)]
struct Shared {
    sender: Sender,
    endpoint: HttpEndpoint,
    /// The configured headers. A headers helper is run again after HTTP status 401.
    headers: RwLock<HeaderMap>,
    tracker: Arc<RequestTracker>,
    probe_limit: Duration,
    /// Pauses the timeout of the probe while a rate limit is in effect.
    put_off: Pause,
    /// The session whose stream was opened. An earlier failure is one of the first attempt.
    streaming: Mutex<Option<Arc<str>>>,
    initialized: AtomicBool,
    url: Url,
    /// Sends direct requests. `None` before there is a session, and while it is replaced.
    direct: RwLock<Option<DirectSender>>,
    /// The last session that expired.
    ended: Mutex<Option<Arc<str>>>,
    /// Limits concurrent requests.
    turns: Semaphore,
    /// Messages for rmcp from responses to direct requests.
    to_sdk: OnceLock<mpsc::Sender<ServerJsonRpcMessage>>,
    /// Whether the request for the session's stream was answered, with any status.
    answers_stream: watch::Sender<bool>,
}

type Outcome<T> = Result<T, StreamableHttpError<HttpFailure>>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// Opens a transport to a URL, and its direct calls.
pub(crate) async fn transport(
    endpoint: &HttpEndpoint,
    tracker: &Arc<RequestTracker>,
    probe_limit: Duration,
    authorizer: Option<&Arc<dyn Authorize>>,
) -> Result<(HttpTransport, HttpClient), ConnectFailure> {
    let (client, url) = HttpClient::new(endpoint, tracker, probe_limit, authorizer).await?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
        .max_concurrent_requests(tracker.limits.concurrent_requests)
        .max_sse_event_size(tracker.limits.message_bytes)
        .session_recovery_timeout(SESSION_RECOVERY);
    config.retry_config = Arc::new(Backoff);
    let (to_sdk, others) = mpsc::channel(SDK_QUEUE);
    // This is the only place that sets it.
    let _ = client.shared.to_sdk.set(to_sdk);
    let worker = StreamableHttpClientTransport::with_client(client.clone(), config);
    Ok((HttpTransport { worker, others }, client))
}

/// Converts an error response.
pub(crate) async fn failure_of(response: reqwest::Response) -> HttpFailure {
    response::failure(response).await
}

/// Converts an error response while connecting.
pub(crate) async fn rejection(response: reqwest::Response) -> ConnectFailure {
    connect_failure(response::failure(response).await)
}

/// Converts a failed exchange while connecting.
pub(crate) fn connect_failure(failure: HttpFailure) -> ConnectFailure {
    match failure {
        HttpFailure::Status { status: status @ (401 | 403), challenge, .. } => {
            ConnectFailure::NeedsAuth { status, challenge }
        }
        HttpFailure::Status { status, body, .. } => ConnectFailure::HttpStatus { status, body },
        HttpFailure::Redirect(RedirectError { to, reason }) => ConnectFailure::RedirectRefused { to, reason },
        HttpFailure::Exchange(source) => ConnectFailure::Transport { source: source.into() },
        HttpFailure::Auth(source) => ConnectFailure::Auth { source },
        HttpFailure::Body(source) => ConnectFailure::Transport { source: source.into() },
        HttpFailure::Over => ConnectFailure::Closed,
    }
}

/// Reads and discards a body.
pub(crate) async fn discard(response: reqwest::Response) {
    response::discard(response).await;
}

impl HttpClient {
    /// Returns a client for this endpoint, and the endpoint's URL.
    pub(crate) async fn new(
        endpoint: &HttpEndpoint,
        tracker: &Arc<RequestTracker>,
        probe_limit: Duration,
        authorizer: Option<&Arc<dyn Authorize>>,
    ) -> Result<(Self, Url), ConnectFailure> {
        let address = Address::new(endpoint)?;
        let headers = headers::configured(endpoint, tracker.reporter.server()).await?;
        let client = pool::client(&address, &headers)?;
        let shared = Shared {
            sender: Sender::new(client, authorizer, headers.contains_key(AUTHORIZATION), tracker),
            endpoint: endpoint.clone(),
            headers: RwLock::new(headers),
            tracker: Arc::clone(tracker),
            probe_limit,
            put_off: Pause::default(),
            streaming: Mutex::default(),
            initialized: AtomicBool::new(false),
            url: address.url.clone(),
            direct: RwLock::default(),
            ended: Mutex::default(),
            turns: Semaphore::new(tracker.limits.concurrent_requests),
            to_sdk: OnceLock::new(),
            answers_stream: watch::Sender::new(false),
        };
        Ok((Self { shared: Arc::new(shared) }, address.url))
    }

    /// Sends a request outside of a session, with retries.
    pub(crate) async fn send(
        &self,
        request: impl Fn(&reqwest::Client) -> RequestBuilder,
    ) -> Result<Response, HttpFailure> {
        self.exchange(|| request(&self.shared.sender.client), &HeaderMap::new()).await
    }

    /// Waits briefly for the session's own stream: some servers send requests of a call on that stream, and lose them
    /// if it is not open.
    async fn until_stream(&self) {
        if *self.shared.answers_stream.borrow() {
            return;
        }
        let mut answered = self.shared.answers_stream.subscribe();
        if tokio::time::timeout(STREAM_FIRST, answered.wait_for(|answered| *answered)).await.is_err() {
            // Do not wait for it again.
            self.shared.answers_stream.send_replace(true);
        }
    }

    /// Sends a request, again after a rate limit, and again with new headers if the helper returns different ones.
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
            self.shared.tracker.reporter.report(|| ClientEventKind::Throttled { status: status.as_u16(), wait_ms });
            let _waiting = self.shared.put_off.begin();
            tokio::time::sleep(pause).await;
        }
    }

    /// Runs the headers helper again. Returns whether the headers changed.
    async fn ask_anew(&self) -> bool {
        let shared = &self.shared;
        match headers::configured(&shared.endpoint, shared.tracker.reporter.server()).await {
            Ok(headers) => {
                let mut known = shared.headers.write().unwrap_or_else(PoisonError::into_inner);
                std::mem::replace(&mut *known, headers) != *known
            }
            Err(error) => {
                tracing::warn!(%error, "keeping the previous headers");
                false
            }
        }
    }

    /// Records the reason for a failed connection, because rmcp does not report it.
    fn note(&self, failure: HttpFailure) -> StreamableHttpError<HttpFailure> {
        if let HttpFailure::Redirect(rejected) = &failure {
            self.shared.tracker.note_redirect(rejected.clone());
        }
        StreamableHttpError::Client(failure)
    }

    /// Opens a stream. The first one of a session is retried like later ones.
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
            // rmcp reopens an ended stream until the new session is open. The header of a lost session is wrong there.
            if self.has_ended(session.as_ref()) {
                return Err(StreamableHttpError::ServerDoesNotSupportSse);
            }
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
                tracing::debug!(%failure, "no stream available");
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

fn is_probe(message: &ClientJsonRpcMessage) -> bool {
    let ClientJsonRpcMessage::Request(request) = message else { return false };
    matches!(request.request, ClientRequest::DiscoverRequest(_))
}
