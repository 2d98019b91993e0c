//! The HTTP client below rmcp's Streamable HTTP worker (2025-03-26 to 2026-07-28, transports).
//!
//! The worker keeps sessions, opens and resumes streams, and sets the headers of each era. This module makes the requests:
//! it bounds what it reads, keeps answers raw through the [`Ledger`], turns the refusal of a probe into an answer that
//! makes rmcp fall back to `initialize`, and remembers the status of what failed.

mod authorized;
mod response;

use std::{collections::HashMap, str::FromStr, sync::Arc, time::Duration};

use futures::stream::BoxStream;
use http::{
    HeaderName, HeaderValue, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};
use reqwest::RequestBuilder;
use rmcp::{
    model::{ClientJsonRpcMessage, ClientRequest},
    transport::{
        StreamableHttpClientTransport,
        common::client_side_sse::ExponentialBackoff,
        streamable_http_client::{
            SseError, StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
            StreamableHttpPostResponse,
        },
    },
};
use sse_stream::Sse;

pub(crate) use self::authorized::Sender;
use super::events::events;
use crate::{
    auth::{AuthError, Authorize},
    config::HttpEndpoint,
    error::ConnectFailure,
    ledger::Ledger,
};

const EVENT_STREAM: &str = "text/event-stream";
const JSON: &str = "application/json";
const LAST_EVENT_ID: &str = "last-event-id";
const SESSION_ID: &str = "mcp-session-id";
/// How often a stream is opened again before it is given up.
const STREAM_RETRIES: usize = 5;

/// Why an HTTP exchange failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpFailure {
    /// The exchange itself.
    #[error("the HTTP exchange failed")]
    Exchange(#[from] reqwest::Error),
    /// The status.
    #[error("HTTP status {status}")]
    Status { status: u16, body: String, challenge: Option<String> },
    /// The request could not be authorized.
    #[error(transparent)]
    Auth(#[from] AuthError),
}

/// Makes the requests of one connection.
#[derive(Debug, Clone)]
pub(crate) struct HttpClient {
    sender: Sender,
    ledger: Arc<Ledger>,
    probe_limit: Duration,
}

type Outcome<T> = Result<T, StreamableHttpError<HttpFailure>>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// A transport to a URL.
pub(crate) fn transport(
    endpoint: &HttpEndpoint,
    ledger: &Arc<Ledger>,
    probe_limit: Duration,
    authorizer: Option<&Arc<dyn Authorize>>,
) -> Result<StreamableHttpClientTransport<HttpClient>, ConnectFailure> {
    let headers = headers(endpoint)?;
    let sender = Sender::new(new_client(&endpoint.url)?, authorizer, headers.contains_key(&AUTHORIZATION), ledger);
    let client = HttpClient { sender, ledger: Arc::clone(ledger), probe_limit };
    let mut backoff = ExponentialBackoff::default();
    backoff.max_times = Some(STREAM_RETRIES);
    let mut config = StreamableHttpClientTransportConfig::with_uri(endpoint.url.as_str())
        .max_concurrent_requests(ledger.limits.concurrent_requests)
        .max_sse_event_size(ledger.limits.message_bytes)
        .custom_headers(headers);
    config.retry_config = Arc::new(backoff);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

/// An HTTP client that follows only redirects which keep method, body and origin: anything else would lose the message
/// or carry the user's headers to a stranger.
pub(crate) fn new_client(url: &str) -> Result<reqwest::Client, ConnectFailure> {
    const REDIRECTS: usize = 10;
    let policy = reqwest::redirect::Policy::custom(|attempt| {
        let keeps_body = matches!(attempt.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
        let same_origin = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
        if keeps_body && same_origin && attempt.previous().len() <= REDIRECTS {
            attempt.follow()
        } else {
            attempt.stop()
        }
    });
    let mut builder = reqwest::Client::builder().redirect(policy);
    if is_plain_loopback(url) {
        // Reading the system's certificates takes longer than the whole handshake, and no redirect leads away from here.
        builder = builder.tls_certs_only([]);
    }
    let built = builder.build();
    built.map_err(|error| ConnectFailure::Transport { source: error.into() })
}

fn is_plain_loopback(url: &str) -> bool {
    let Ok(url) = url::Url::parse(url) else { return false };
    let loopback = match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    };
    url.scheme() == "http" && loopback
}

/// The headers that the user has configured.
pub(crate) fn headers(endpoint: &HttpEndpoint) -> Result<Headers, ConnectFailure> {
    let parse = |(name, value): (&String, &String)| {
        // The value may be a secret, so only the name is told.
        let bad = || ConnectFailure::Config { detail: format!("header `{name}` cannot be sent over HTTP") };
        let name = HeaderName::from_str(name).map_err(|_| bad())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
        value.set_sensitive(true);
        Ok((name, value))
    };
    endpoint.headers.iter().map(parse).collect()
}

/// What a refused exchange amounts to.
pub(crate) async fn failure_of(response: reqwest::Response) -> HttpFailure {
    response::failure(response).await
}

/// The same, while connecting.
pub(crate) async fn refusal(response: reqwest::Response) -> ConnectFailure {
    of_failure(response::failure(response).await)
}

/// A failed exchange, while connecting.
pub(crate) fn of_failure(failure: HttpFailure) -> ConnectFailure {
    match failure {
        HttpFailure::Status { status: status @ (401 | 403), challenge, .. } => {
            ConnectFailure::NeedsAuth { status, challenge }
        }
        HttpFailure::Status { status, body, .. } => ConnectFailure::HttpStatus { status, body },
        HttpFailure::Exchange(source) => ConnectFailure::Transport { source: source.into() },
        HttpFailure::Auth(source) => ConnectFailure::Auth { source },
    }
}

/// Reads a body that means nothing.
pub(crate) async fn discard(response: reqwest::Response) {
    response::discard(response).await;
}

impl HttpClient {
    fn prepare(
        &self,
        request: RequestBuilder,
        auth: Option<String>,
        session: Option<&str>,
        headers: Headers,
    ) -> RequestBuilder {
        let mut request = request;
        if let Some(token) = auth {
            request = request.bearer_auth(token);
        }
        if let Some(session) = session {
            request = request.header(SESSION_ID, session);
        }
        request.headers(headers.into_iter().collect())
    }

    async fn post(
        &self,
        uri: &str,
        message: &ClientJsonRpcMessage,
        session: Option<&str>,
        auth: Option<String>,
        headers: Headers,
    ) -> Outcome<StreamableHttpPostResponse> {
        let request =
            self.sender.client.post(uri).header(ACCEPT, format!("{JSON}, {EVENT_STREAM}")).header(CONTENT_TYPE, JSON);
        let body = serde_json::to_vec(message)?;
        let request = self.prepare(request, auth, session, headers).body(body);
        let response = self.sender.send(request).await.map_err(StreamableHttpError::Client)?;
        response::of_post(response, message, session.is_some(), &self.ledger).await
    }

    /// A server that keeps silent on a probe is of the legacy era, as it is over stdio. rmcp waits for the answer to its
    /// first request before it sends another, so the limit is kept here, and the answer is read to its end.
    async fn probe(
        &self,
        posted: impl Future<Output = Outcome<StreamableHttpPostResponse>>,
        message: &ClientJsonRpcMessage,
    ) -> Outcome<StreamableHttpPostResponse> {
        let answered = self.ledger.pause.timeout(self.probe_limit, async {
            let (answer, session) = posted.await?.expect_initialized().await?;
            Ok(StreamableHttpPostResponse::Json(answer, session))
        });
        match (answered.await, message) {
            (Err(_), ClientJsonRpcMessage::Request(request)) => {
                let answer = self.ledger.legacy(request.id.clone(), "`server/discover` was not answered in time");
                Ok(StreamableHttpPostResponse::Json(answer, None))
            }
            (Ok(outcome), _) => outcome,
            (Err(_), _) => Err(StreamableHttpError::UnexpectedEndOfStream),
        }
    }
}

fn is_probe(message: &ClientJsonRpcMessage) -> bool {
    let ClientJsonRpcMessage::Request(request) = message else { return false };
    matches!(request.request, ClientRequest::DiscoverRequest(_))
}

impl StreamableHttpClient for HttpClient {
    type Error = HttpFailure;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Outcome<StreamableHttpPostResponse> {
        let posted = self.post(&uri, &message, session_id.as_deref(), auth_header, custom_headers);
        if is_probe(&message) && self.ledger.wanted.both_eras {
            self.probe(posted, &message).await
        } else {
            posted.await
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Outcome<()> {
        let request =
            self.prepare(self.sender.client.delete(uri.as_ref()), auth_header, Some(&session_id), custom_headers);
        let response = self.sender.send(request).await.map_err(StreamableHttpError::Client)?;
        // A server may refuse to let clients end sessions (2025-03-26, transports, "Session Management").
        if response.status() == StatusCode::METHOD_NOT_ALLOWED || response.status().is_success() {
            return Ok(());
        }
        Err(StreamableHttpError::Client(response::failure(response).await))
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Outcome<BoxStream<'static, Result<Sse, SseError>>> {
        let mut request = self.sender.client.get(uri.as_ref()).header(ACCEPT, EVENT_STREAM);
        if let Some(id) = last_event_id {
            request = request.header(LAST_EVENT_ID, id);
        }
        let request = self.prepare(request, auth_header, session_id.as_deref(), custom_headers);
        let response = self.sender.send(request).await.map_err(StreamableHttpError::Client)?;
        match response.status() {
            status if status.is_success() => {}
            // The server offers no stream, or will not for this client: asking again is useless.
            StatusCode::METHOD_NOT_ALLOWED
            | StatusCode::NOT_FOUND
            | StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN => return Err(StreamableHttpError::ServerDoesNotSupportSse),
            _ => return Err(StreamableHttpError::Client(response::failure(response).await)),
        }
        if !response::is_of_type(&response, EVENT_STREAM) {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        let limit = self.ledger.limits.message_bytes;
        Ok(response::shortened(events(response, limit), Arc::clone(&self.ledger)))
    }
}
