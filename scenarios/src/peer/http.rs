//! The peer over Streamable HTTP: each message is a POST with a JSON response or a stream of events.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use client::http_client::{SocketUrl, over_socket};
use evidence::{ConnectionEvent, Direction, Http};
use futures::{Stream, StreamExt};
use reqwest::{
    Method, RequestBuilder, Response, Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use serde_json::{Value, json};
use tokio::{
    task::{AbortHandle, JoinSet},
    time::Instant,
};

use super::{
    PeerError,
    events::ServerEvents,
    lock,
    stdio::PAUSE,
    transcript::{Ended, State, TranscriptRecorder},
};

mod protection;
mod resumption;
mod sessions;

use sessions::OTHER_CLIENT;
pub(crate) use sessions::OTHER_SESSION;

/// Maximum size of a body.
pub(super) const MAX_BODY: usize = 16 << 20;
/// Timeout of connecting.
const CONNECT: Duration = Duration::from_secs(5);
/// Timeout of a raw exchange.
const RAW_TIMEOUT: Duration = Duration::from_secs(5);
/// Time to read a stream that a raw exchange returns, after the response if it is that of a request.
const LISTEN: Duration = Duration::from_millis(300);
/// Time for the ends of streams after their responses, before the session ends.
const STREAM_END: Duration = Duration::from_millis(100);
/// The header with the session id (2025-11-25, basic/transports, session management).
pub(crate) const SESSION: &str = "mcp-session-id";
/// The header with the revision (2025-11-25, basic/transports, protocol version header).
pub(super) const VERSION: &str = "mcp-protocol-version";

/// A marker among the headers of a message: their names are written as in `Mcp-Method`, not as in `mcp-method`.
pub(crate) const TITLE_CASE: &str = ":title-case";
/// A pseudo-header whose value is the number of pieces in which the body is sent, with pauses in between.
pub(super) const PIECES: &str = ":pieces";

/// Headers of one message. An empty value removes a header.
pub(crate) type Headers = BTreeMap<String, String>;

/// A peer over Streamable HTTP. Exchanges run in tasks.
#[derive(Debug)]
pub(super) struct HttpPeer {
    shared: Arc<Shared>,
    tasks: Mutex<JoinSet<()>>,
    /// The tasks of the exchanges that were started in the background.
    exchanges: Mutex<BTreeMap<u64, AbortHandle>>,
    /// Streams that steps opened.
    listeners: Mutex<JoinSet<()>>,
}

#[derive(Debug)]
pub(super) struct Shared {
    client: reqwest::Client,
    /// Writes the names of headers as in `Mcp-Method`.
    title_case_client: reqwest::Client,
    url: Url,
    /// Whether the server listens at a Unix socket, so that the URL has no port of its own.
    is_socket: bool,
    secret: HeaderMap,
    recorder: Arc<TranscriptRecorder>,
    exchanges: AtomicU64,
    session: Mutex<Option<HeaderValue>>,
    /// The sessions that steps opened in addition.
    others: Mutex<Vec<HeaderValue>>,
    /// The session of the first client that a step introduced, by its name; empty if the server assigned none.
    other_client: OnceLock<String>,
    /// Whether DELETE was sent.
    ended: AtomicBool,
    revision: Mutex<Option<String>>,
    /// Whether to respond to requests of the server. Clients of the modern era send no responses.
    answers: bool,
}

/// How the body of a response ended.
#[derive(Debug, Default)]
struct BodyEnd {
    /// The id of the last event that has one.
    last_event: Option<String>,
    /// The last `retry`.
    retry: Option<Duration>,
    /// Why the end is missing.
    error: Option<String>,
}

impl HttpPeer {
    /// Creates the peer without sending anything.
    pub(super) fn new(
        address: SocketUrl,
        secret: HeaderMap,
        answers: bool,
        recorder: Arc<TranscriptRecorder>,
    ) -> Result<Self, PeerError> {
        let client = build_client(&address)?;
        let title_case_client = client_builder(&address)?.http1_title_case_headers().build();
        let SocketUrl { url, socket } = address;
        let shared = Shared {
            client,
            title_case_client: title_case_client.map_err(|source| PeerError::Client { source })?,
            url,
            is_socket: socket.is_some(),
            secret,
            recorder,
            exchanges: AtomicU64::new(0),
            session: Mutex::default(),
            others: Mutex::default(),
            other_client: OnceLock::new(),
            ended: AtomicBool::new(false),
            revision: Mutex::default(),
            answers,
        };
        Ok(Self {
            shared: Arc::new(shared),
            tasks: Mutex::default(),
            exchanges: Mutex::default(),
            listeners: Mutex::default(),
        })
    }

    /// The URL of the server, unless it listens at a Unix socket.
    pub(super) fn url(&self) -> Option<&Url> {
        (!self.shared.is_socket).then_some(&self.shared.url)
    }

    /// Sets the revision header of further messages.
    pub(super) fn set_revision(&self, revision: &str) {
        *lock(&self.shared.revision) = Some(revision.to_owned());
    }

    pub(super) fn has_session(&self) -> bool {
        lock(&self.shared.session).is_some()
    }

    /// Whether the session id has only visible ASCII characters; `None` without a session.
    pub(super) fn session_is_visible_ascii(&self) -> Option<bool> {
        let session = lock(&self.shared.session);
        Some(session.as_ref()?.as_bytes().iter().all(|byte| (0x21..=0x7e).contains(byte)))
    }

    /// Posts a message and reads the response in the background. Returns the number of the exchange. The connection is lost
    /// after `lost_after`.
    pub(super) fn post(&self, body: Bytes, headers: Headers, lost_after: Option<Duration>) -> u64 {
        let number = self.shared.next();
        let shared = Arc::clone(&self.shared);
        let task = lock(&self.tasks).spawn(async move { shared.exchange(number, body, headers, lost_after).await });
        lock(&self.exchanges).insert(number, task);
        number
    }

    /// Sends a request, and returns status, headers and body of the response.
    pub(super) async fn raw_exchange(
        &self,
        method: Method,
        headers: Headers,
        body: Option<String>,
    ) -> Result<Value, String> {
        let number = self.shared.next();
        if method == Method::DELETE {
            self.shared.ended.store(true, Ordering::Relaxed);
        }
        let (request, sent) = self.shared.request(&method, headers, body.clone().map(Bytes::from));
        self.shared.record_request(number, sent, body.as_deref());
        let response = tokio::time::timeout(RAW_TIMEOUT, send(request)).await;
        let response = match response {
            Ok(Ok(response)) => response,
            Ok(Err(cause)) => return Err(self.shared.fail(number, &cause)),
            Err(_) => return Err("no response within the timeout".to_owned()),
        };
        let http = envelope(&response);
        if is_stream(&http) {
            self.shared.record_stream(number, &http);
        }
        let before = self.shared.recorder.received();
        let message = body.and_then(|body| serde_json::from_str::<Value>(&body).ok());
        let id = message.as_ref().and_then(|message| message.get("id"));
        let enough = async {
            if !is_stream(&http) {
                return tokio::time::sleep(RAW_TIMEOUT).await;
            }
            if id.is_some() {
                let response =
                    |state: &State| state.received_since(before).any(|message| message.get("id") == id).then_some(());
                self.shared.recorder.wait(RAW_TIMEOUT, response).await;
            }
            tokio::time::sleep(LISTEN).await;
        };
        tokio::select! {
            _ = self.shared.read(number, response, http.clone()) => {}
            () = enough => {}
        }
        let body = self.shared.recorder.received_since(before).into_iter().next();
        Ok(json!({ "status": http.status, "headers": http.headers, "body": body }))
    }

    /// Terminates the sessions and all open exchanges.
    pub(super) async fn end(self) {
        let mut tasks = std::mem::take(&mut *lock(&self.tasks));
        let all_ended = async { while tasks.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(STREAM_END, all_ended).await;
        tasks.abort_all();
        lock(&self.listeners).abort_all();
        self.close_others().await;
        if self.has_session() && !self.shared.ended.load(Ordering::Relaxed) {
            let _ = tokio::time::timeout(
                Duration::from_millis(800),
                self.raw_exchange(Method::DELETE, Headers::new(), None),
            )
            .await;
        }
    }

    /// Drops an exchange. That cancels its request (2026-07-28, basic/transports/streamable-http, cancellation).
    pub(super) fn drop_exchange(&self, number: u64) {
        let Some(task) = lock(&self.exchanges).remove(&number).filter(|task| !task.is_finished()) else { return };
        task.abort();
        self.shared.recorder.mark(number, Direction::ClientToServer, ConnectionEvent::ClosedByPeer, None);
    }
}

impl Shared {
    fn next(&self) -> u64 {
        self.exchanges.fetch_add(1, Ordering::Relaxed)
    }

    async fn exchange(self: Arc<Self>, number: u64, body: Bytes, headers: Headers, lost_after: Option<Duration>) {
        let text = String::from_utf8_lossy(&body);
        let session = headers.get(SESSION).cloned();
        let (request, sent) = self.request(&Method::POST, headers, Some(body.clone()));
        self.record_request(number, sent, Some(&text));
        let before = self.recorder.received();
        let response = match send(request).await {
            Ok(response) => response,
            Err(cause) => {
                self.fail(number, &cause);
                return;
            }
        };
        self.keep_session(&response);
        let http = envelope(&response);
        let status = http.status;
        let reading = self.read(number, response, http);
        let end = match lost_after {
            None => reading.await,
            Some(after) => tokio::time::timeout(after, reading).await.unwrap_or_else(|_| {
                self.recorder.mark(number, Direction::ClientToServer, ConnectionEvent::ClosedByPeer, None);
                BodyEnd { last_event: self.recorder.last_event_id(number), ..BodyEnd::default() }
            }),
        };
        let end = self.poll(&text, session, before, end).await;
        self.recorder.end_exchange(number, Ended { status, error: end.error });
    }

    /// Builds a request, and its recordable part without the user's headers.
    fn request(&self, method: &Method, headers: Headers, body: Option<Bytes>) -> (RequestBuilder, Http) {
        let mut sent = self.usual_headers(method);
        for (name, value) in headers {
            let name = name.to_ascii_lowercase();
            let value = match value.as_str() {
                OTHER_CLIENT => self.other_client.get().cloned().unwrap_or_default(),
                _ => value,
            };
            if value.is_empty() {
                sent.remove(&name)
            } else {
                sent.insert(name, value)
            };
        }
        let title_case = sent.remove(TITLE_CASE).is_some();
        let pieces = sent.remove(PIECES).and_then(|count| count.parse().ok()).unwrap_or(1);
        let mut map = HeaderMap::new();
        for (name, value) in &sent {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                map.insert(name, value);
            }
        }
        if let Some(session) = sent.get(SESSION).and_then(|name| self.session_named(name)) {
            map.insert(SESSION, session);
        }
        map.extend(self.secret.clone());
        let client = if title_case { &self.title_case_client } else { &self.client };
        let mut request = client.request(method.clone(), self.url.clone()).headers(map);
        if let Some(body) = body {
            request = if pieces > 1 { in_pieces(request, &body, pieces) } else { request.body(body) };
        }
        sent.entry("host".to_owned()).or_insert_with(|| host(&self.url));
        let http = Http {
            method: Some(method.to_string()),
            path: Some(self.recorder.redact_text(self.url.path())),
            headers: Arc::new(sent),
            ..Http::default()
        };
        (request, http)
    }

    /// The headers of a conforming client (2025-11-25 and 2026-07-28, transports). The session id is never recorded.
    fn usual_headers(&self, method: &Method) -> Headers {
        let mut headers = Headers::new();
        if *method == Method::POST {
            headers.insert("content-type".to_owned(), "application/json".to_owned());
            headers.insert("accept".to_owned(), "application/json, text/event-stream".to_owned());
        } else if *method == Method::GET {
            headers.insert("accept".to_owned(), "text/event-stream".to_owned());
        }
        if lock(&self.session).is_some() {
            headers.insert(SESSION.to_owned(), KEPT.to_owned());
        }
        if let Some(revision) = lock(&self.revision).clone() {
            headers.insert(VERSION.to_owned(), revision);
        }
        headers
    }

    fn record_request(&self, number: u64, http: Http, body: Option<&str>) {
        match body {
            Some(text) => self.recorder.sent(number, text, Some(http)),
            None => self.recorder.mark(number, Direction::ClientToServer, ConnectionEvent::Bodiless, Some(http)),
        }
    }

    /// Records the response that opens a stream of events. The frame shows it also if the stream stays empty.
    fn record_stream(&self, number: u64, http: &Http) {
        self.recorder.mark(number, Direction::ServerToClient, ConnectionEvent::Bodiless, Some(http.clone()));
    }

    fn keep_session(&self, response: &Response) {
        let given = response.headers().get(SESSION).cloned();
        if let Some(given) = given.filter(|_| response.status().is_success()) {
            lock(&self.session).get_or_insert(given);
        }
    }

    fn fail(&self, number: u64, cause: &reqwest::Error) -> String {
        let error = self.recorder.redact_text(&chain(cause));
        self.recorder.mark(number, Direction::ServerToClient, ConnectionEvent::ClosedByServer, None);
        self.recorder.end_exchange(number, Ended { status: None, error: Some(error.clone()) });
        error
    }

    /// Reads and records a complete response.
    async fn read(&self, number: u64, response: Response, http: Http) -> BodyEnd {
        if is_stream(&http) {
            return self.read_stream(number, response, http).await;
        }
        let text = match read_text(response).await {
            Ok(text) => text,
            Err(cause) => return BodyEnd { error: Some(self.broken_off(number, http, cause)), ..BodyEnd::default() },
        };
        if text.trim().is_empty() {
            self.recorder.mark(number, Direction::ServerToClient, ConnectionEvent::Bodiless, Some(http));
        } else {
            let requests = self.recorder.receive(number, &text, Some(http));
            self.answer(requests).await;
        }
        BodyEnd::default()
    }

    async fn read_stream(&self, number: u64, response: Response, http: Http) -> BodyEnd {
        let mut events = ServerEvents::new(bounded(response));
        let mut empty = true;
        let mut end = BodyEnd::default();
        while let Some(event) = events.next().await {
            let event = match event {
                Ok(event) => event,
                Err(cause) => {
                    end.error = Some(self.broken_off(number, http, cause.to_string()));
                    return end;
                }
            };
            let http = Http { event: event.event, event_id: event.id, retry: event.retry, ..http.clone() };
            end.last_event = http.event_id.clone().or(end.last_event);
            end.retry =
                http.retry.as_ref().and_then(|retry| retry.parse().ok()).map(Duration::from_millis).or(end.retry);
            let Some(data) = event.data.filter(|data| !data.trim().is_empty()) else {
                // An event without data only provides what a client needs to reconnect (2025-11-25, basic/transports).
                if http.event_id.is_some() || http.retry.is_some() {
                    empty = false;
                    self.recorder.mark(number, Direction::ServerToClient, ConnectionEvent::Bodiless, Some(http));
                }
                continue;
            };
            empty = false;
            let requests = self.recorder.receive(number, &data, Some(http));
            self.answer(requests).await;
        }
        if empty {
            self.recorder.mark(number, Direction::ServerToClient, ConnectionEvent::Bodiless, Some(http));
        }
        self.recorder.mark(number, Direction::ServerToClient, ConnectionEvent::ClosedByServer, None);
        end
    }

    /// Records that a body ended before its end. Returns the cause.
    fn broken_off(&self, number: u64, http: Http, cause: String) -> String {
        self.recorder.mark(number, Direction::ServerToClient, ConnectionEvent::ClosedByServer, Some(http));
        cause
    }

    async fn answer(&self, requests: Vec<Value>) {
        for request in requests.iter().filter(|_| self.answers) {
            let Some(answer) = self.recorder.answer_to(request) else { continue };
            let text = answer.to_string();
            let number = self.next();
            let (post, sent) = self.request(&Method::POST, Headers::new(), Some(text.clone().into()));
            self.record_request(number, sent, Some(&text));
            match send(post).await {
                Ok(response) => {
                    let http = envelope(&response);
                    self.recorder.mark(number, Direction::ServerToClient, ConnectionEvent::Bodiless, Some(http));
                }
                Err(cause) => drop(self.fail(number, &cause)),
            }
        }
    }
}

/// Sends a body of a known length in pieces, so that a character can be in two of them.
fn in_pieces(request: RequestBuilder, body: &Bytes, pieces: usize) -> RequestBuilder {
    let size = body.len().div_ceil(pieces).max(1);
    let pieces: Vec<Bytes> = body.chunks(size).map(Bytes::copy_from_slice).collect();
    let paused = futures::stream::iter(pieces).then(|piece| async {
        tokio::time::sleep(PAUSE).await;
        Ok::<_, std::io::Error>(piece)
    });
    request.header("content-length", body.len()).body(reqwest::Body::wrap_stream(paused))
}

/// A request finds a connection closed that the client kept within this time. A call is cancelled later, and a server may then
/// close its connection, which must not start the call again.
const FOUND_CLOSED: Duration = Duration::from_millis(200);

/// Sends a request, and again if the connection closes at once without a response: a server may close a connection that the
/// client keeps, for example after a rejection, and the next request finds it closed (RFC 9112, 9.3.1).
async fn send(request: RequestBuilder) -> reqwest::Result<reqwest::Response> {
    let (again, began) = (request.try_clone(), Instant::now());
    match (request.send().await, again) {
        (Err(cause), Some(again))
            if cause.is_request() && !cause.is_connect() && !cause.is_timeout() && began.elapsed() < FOUND_CLOSED =>
        {
            again.send().await
        }
        (sent, _) => sent,
    }
}

/// A client that follows redirects only within an origin, since requests contain the user's headers.
pub(super) fn build_client(address: &SocketUrl) -> Result<reqwest::Client, PeerError> {
    client_builder(address)?.build().map_err(|source| PeerError::Client { source })
}

fn client_builder(SocketUrl { url, socket }: &SocketUrl) -> Result<reqwest::ClientBuilder, PeerError> {
    let redirects = reqwest::redirect::Policy::custom(|attempt| {
        let first = attempt.previous().first().map(Url::origin);
        if attempt.previous().len() <= 3 && first == Some(attempt.url().origin()) {
            attempt.follow()
        } else {
            attempt.stop()
        }
    });
    let builder = client::http_client::builder().connect_timeout(CONNECT).redirect(redirects).no_proxy();
    // Each session has a client, and reading the certificates of the system takes longer than most cases. Without a
    // proxy, plain HTTP needs none.
    let builder = if url.scheme() == "http" { builder.tls_certs_only([]) } else { builder };
    match socket {
        Some(socket) => over_socket(builder, socket)
            .map_err(|error| PeerError::Unreachable { url: socket.display().to_string(), error }),
        None => Ok(builder),
    }
}

/// Replaces the session id and other credentials in records.
pub(crate) const KEPT: &str = "[session]";

/// The envelope of a response, without the values of headers that can contain credentials.
pub(super) fn envelope(response: &Response) -> Http {
    let headers = response.headers().iter().map(|(name, value)| {
        let secret = matches!(name.as_str(), SESSION | "set-cookie" | "www-authenticate" | "authorization");
        let value = if secret { KEPT.to_owned() } else { String::from_utf8_lossy(value.as_bytes()).into_owned() };
        (name.as_str().to_owned(), value)
    });
    Http { status: Some(response.status().as_u16()), headers: Arc::new(headers.collect()), ..Http::default() }
}

/// Whether the response is a stream of events.
pub(super) fn is_stream(http: &Http) -> bool {
    let kind = http.headers.get("content-type").map(|kind| kind.to_ascii_lowercase());
    kind.is_some_and(|kind| kind.split(';').next().is_some_and(|kind| kind.trim() == "text/event-stream"))
}

/// The body as a stream of bytes, which fails above the maximum size.
pub(super) fn bounded(response: Response) -> impl Stream<Item = Result<bytes::Bytes, std::io::Error>> {
    let mut left = MAX_BODY;
    response.bytes_stream().map(move |chunk| {
        let chunk = chunk.map_err(std::io::Error::other)?;
        left = left.checked_sub(chunk.len()).ok_or_else(|| std::io::Error::other("the body exceeds 16 MiB"))?;
        Ok(chunk)
    })
}

async fn read_text(response: Response) -> Result<String, String> {
    let mut chunks = Box::pin(bounded(response));
    let mut bytes = Vec::new();
    while let Some(chunk) = chunks.next().await {
        bytes.extend_from_slice(&chunk.map_err(|cause| cause.to_string())?);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Host and port for the `Host` header.
pub(super) fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// An error with its causes, in one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        text = format!("{text}: {source}");
        cause = source.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
        time::sleep,
    };

    use super::*;

    /// The number of requests that reach a server which closes each connection after this time without a response.
    async fn requests_of_one_call(closes_after: Duration) -> u64 {
        let server = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url: Url = format!("http://{}/mcp", server.local_addr().expect("an address")).parse().expect("a URL");
        let received = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&received);
        let accept = tokio::spawn(async move {
            while let Ok((mut connection, _)) = server.accept().await {
                let read = connection.read(&mut [0; 4096]).await.unwrap_or(0);
                count.fetch_add(u64::from(read > 0), Ordering::Relaxed);
                sleep(closes_after).await;
            }
        });
        let client = build_client(&SocketUrl { url: url.clone(), socket: None }).expect("a client");
        assert!(send(client.post(url).body("{}")).await.is_err());
        accept.abort();
        received.load(Ordering::Relaxed)
    }

    #[test]
    fn a_header_is_recorded_as_it_is_sent() {
        let recorder = Arc::new(TranscriptRecorder::new(vec![]));
        let url = "http://127.0.0.1:1/mcp".parse().expect("a URL");
        let peer = HttpPeer::new(SocketUrl { url, socket: None }, HeaderMap::new(), false, recorder).expect("a peer");
        let recorded = |host: &[(&str, &str)]| {
            let headers = host.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            peer.shared.request(&Method::POST, headers, None).1.headers["host"].clone()
        };
        assert_eq!(recorded(&[]), "127.0.0.1:1");
        assert_eq!(recorded(&[("Host", "rebound.invalid")]), "rebound.invalid");
    }

    #[tokio::test]
    async fn a_response_may_be_late_in_a_stream_that_is_open() {
        let server = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url: Url = format!("http://{}/mcp", server.local_addr().expect("an address")).parse().expect("a URL");
        tokio::spawn(async move {
            let (mut connection, _) = server.accept().await.expect("a connection");
            let _ = connection.read(&mut [0; 4096]).await;
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            connection.write_all(head.as_bytes()).await.expect("written");
            sleep(LISTEN * 2).await;
            connection.write_all(b"data: {\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}\n\n").await.expect("written");
            std::future::pending::<()>().await;
        });
        let recorder = Arc::new(TranscriptRecorder::new(vec![]));
        let peer = HttpPeer::new(SocketUrl { url, socket: None }, HeaderMap::new(), false, recorder).expect("a peer");
        let ping = r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#.to_owned();
        let value = peer.raw_exchange(Method::POST, Headers::default(), Some(ping)).await.expect("a response");
        assert_eq!(value["body"]["id"], "a");
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_request_that_finds_its_connection_closed_is_sent_again() {
        assert_eq!(requests_of_one_call(Duration::ZERO).await, 2);
        assert_eq!(requests_of_one_call(FOUND_CLOSED).await, 1);
    }
}
