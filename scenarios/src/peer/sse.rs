//! The peer over HTTP+SSE of 2024-11-05: a stream of events, and POSTs to the endpoint that its first event names.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use client::http_client::SocketUrl;
use evidence::{Body, ConnectionEvent, Direction, Http};
use reqwest::{Response, Url, header::HeaderMap};
use tokio::task::JoinHandle;

use super::{
    PeerError,
    events::ServerEvents,
    http::{Headers, bounded, build_client, chain, envelope, host, is_stream},
    transcript::{Ended, TranscriptRecorder},
};

/// Timeout of the first event.
const ENDPOINT: Duration = Duration::from_secs(5);
/// Timeout of a POST.
const POST: Duration = Duration::from_secs(5);

/// A peer over HTTP+SSE.
#[derive(Debug)]
pub(super) struct SsePeer {
    url: Url,
    /// Whether the server listens at a Unix socket.
    is_socket: bool,
    poster: Arc<Poster>,
    reader: JoinHandle<()>,
}

#[derive(Debug)]
struct Poster {
    client: reqwest::Client,
    endpoint: Url,
    secret: HeaderMap,
    recorder: Arc<TranscriptRecorder>,
    exchanges: AtomicU64,
}

impl SsePeer {
    /// Opens the stream and waits for the endpoint.
    pub(super) async fn open(
        address: &SocketUrl,
        secret: HeaderMap,
        recorder: Arc<TranscriptRecorder>,
    ) -> Result<Self, PeerError> {
        let client = build_client(address)?;
        let SocketUrl { url, socket } = address;
        let unreachable = |error: String| PeerError::Unreachable { url: url.to_string(), error };
        let request = client.get(url.clone()).header("accept", "text/event-stream").headers(secret.clone());
        let sent = Http { method: Some("GET".to_owned()), path: Some(url.path().to_owned()), ..Http::default() };
        recorder.mark(0, Direction::ClientToServer, ConnectionEvent::Opened, Some(sent));
        let response = tokio::time::timeout(ENDPOINT, request.send()).await;
        let response = response.map_err(|_| unreachable("no response within the timeout".to_owned()))?;
        let response = response.map_err(|cause| unreachable(recorder.redact_text(&chain(&cause))))?;
        let http = envelope(&response);
        if !response.status().is_success() || !is_stream(&http) {
            return Err(unreachable(format!(
                "the response to GET is {} without a stream of events",
                response.status()
            )));
        }
        let (found, first) = tokio::sync::oneshot::channel();
        let reader = tokio::spawn(read(response, http, url.clone(), secret, client, Arc::clone(&recorder), found));
        match tokio::time::timeout(ENDPOINT, first).await {
            Ok(Ok(Ok(poster))) => Ok(Self { url: url.clone(), is_socket: socket.is_some(), poster, reader }),
            Ok(Ok(Err(error))) => Err(unreachable(error)),
            _ => {
                reader.abort();
                Err(unreachable("the stream has no `endpoint` event".to_owned()))
            }
        }
    }

    /// Posts a message. The response arrives on the stream.
    pub(super) async fn post(&self, text: &str) -> Result<(), String> {
        self.poster.post(text).await
    }

    /// The URL of the stream, unless the server listens at a Unix socket.
    pub(super) fn url(&self) -> Option<&Url> {
        (!self.is_socket).then_some(&self.url)
    }

    /// Sends a GET with these headers to the URL of the stream. Returns the status, and ignores the body.
    pub(super) async fn get(&self, headers: &Headers) -> Result<u16, String> {
        let poster = &self.poster;
        let number = poster.exchanges.fetch_add(1, Ordering::Relaxed);
        let path = Some(poster.recorder.redact_text(self.url.path()));
        let mut recorded = headers.clone();
        recorded.insert("host".to_owned(), host(&self.url));
        let sent = Http { method: Some("GET".to_owned()), path, headers: Arc::new(recorded), ..Http::default() };
        poster.recorder.mark(number, Direction::ClientToServer, ConnectionEvent::Bodiless, Some(sent));
        let mut request = poster.client.get(self.url.clone()).header("accept", "text/event-stream");
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let response = tokio::time::timeout(POST, request.headers(poster.secret.clone()).send()).await;
        let response = response.map_err(|_| "no response within the timeout".to_owned())?;
        let response = response.map_err(|cause| poster.recorder.redact_text(&chain(&cause)))?;
        let status = response.status().as_u16();
        poster.recorder.mark(number, Direction::ServerToClient, ConnectionEvent::Bodiless, Some(envelope(&response)));
        Ok(status)
    }

    /// Closes the stream.
    pub(super) fn end(self) {
        self.reader.abort();
    }
}

impl Poster {
    async fn post(&self, text: &str) -> Result<(), String> {
        let number = self.exchanges.fetch_add(1, Ordering::Relaxed);
        let path = Some(self.recorder.redact_text(self.endpoint.path()));
        let sent = Http { method: Some("POST".to_owned()), path, ..Http::default() };
        self.recorder.sent(number, text, Some(sent));
        let request = self.client.post(self.endpoint.clone()).header("content-type", "application/json");
        let request = request.headers(self.secret.clone()).body(text.to_owned()).send();
        let (http, error) = match tokio::time::timeout(POST, request).await {
            Ok(Ok(response)) => (Some(envelope(&response)), None),
            Ok(Err(cause)) => (None, Some(self.recorder.redact_text(&chain(&cause)))),
            Err(_) => (None, Some("no response within the timeout".to_owned())),
        };
        let status = http.as_ref().and_then(|http| http.status);
        self.recorder.mark(number, Direction::ServerToClient, ConnectionEvent::Bodiless, http);
        self.recorder.end_exchange(number, Ended { status, error: error.clone() });
        match (error, status) {
            (Some(error), _) => Err(error),
            (None, Some(status)) if status >= 400 => Err(format!("the endpoint returned HTTP {status}")),
            _ => Ok(()),
        }
    }
}

type EndpointSender = tokio::sync::oneshot::Sender<Result<Arc<Poster>, String>>;

async fn read(
    response: Response,
    http: Http,
    url: Url,
    secret: HeaderMap,
    client: reqwest::Client,
    recorder: Arc<TranscriptRecorder>,
    found: EndpointSender,
) {
    let mut events = ServerEvents::new(bounded(response));
    let mut found = Some(found);
    let mut poster: Option<Arc<Poster>> = None;
    while let Some(Ok(event)) = events.next().await {
        let data = event.data.unwrap_or_default();
        let kind = event.event.as_deref().unwrap_or("message");
        let http = Http { event: event.event.clone(), event_id: event.id, retry: event.retry, ..http.clone() };
        if kind == "endpoint" {
            recorder.record(0, Direction::ServerToClient, Body::Text(data.clone()), Some(http));
            let Some(found) = found.take() else { continue };
            let made = endpoint(&url, &data).map(|endpoint| {
                let exchanges = AtomicU64::new(1);
                let (client, secret, recorder) = (client.clone(), secret.clone(), Arc::clone(&recorder));
                Arc::new(Poster { client, endpoint, secret, recorder, exchanges })
            });
            poster = made.as_ref().ok().cloned();
            let _ = found.send(made);
        } else if !data.trim().is_empty() {
            for request in recorder.receive(0, &data, Some(http)) {
                let (Some(poster), Some(reply)) = (poster.clone(), recorder.answer_to(&request)) else { continue };
                let reply = reply.to_string();
                // In the background: a server may accept the POST only after the stream was read.
                tokio::spawn(async move { drop(poster.post(&reply).await) });
            }
        }
    }
    recorder.mark(0, Direction::ServerToClient, ConnectionEvent::ClosedByServer, None);
    recorder.close("the server closed the stream");
}

/// The URL of the endpoint. Requests contain the user's headers, so it must have the same origin.
fn endpoint(base: &Url, named: &str) -> Result<Url, String> {
    let endpoint = base.join(named.trim()).map_err(|cause| format!("the endpoint is not a URL: {cause}"))?;
    if endpoint.origin() == base.origin() { Ok(endpoint) } else { Err("the endpoint has another origin".to_owned()) }
}
