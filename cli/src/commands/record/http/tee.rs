//! Bodies that are recorded while they pass. A message is recorded before its last bytes pass, so that a response is never
//! recorded before its request.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::{BodyDataStream, Bytes};
use evidence::Http;
use futures::{Stream, StreamExt as _};
use scenarios::peer::EventParser;
use url::Url;

use super::exchange::Exchange;

/// Maximum size of a body or an event in memory, in bytes. The rest passes, but is not recorded.
const MAX_BODY: usize = 16 << 20;

/// The body of a request.
pub(super) fn request(
    body: BodyDataStream,
    length: Option<u64>,
    exchange: Exchange,
    http: Http,
) -> impl Stream<Item = Result<Bytes, axum::Error>> + Send + 'static {
    let whole = Whole { bytes: Vec::new(), left: length, http: Some(http), exchange, is_request: true };
    Tee { body: Box::pin(body), seen: Seen::Whole(whole) }
}

/// The body of a response: one message, or a stream of events.
pub(super) fn response(
    response: reqwest::Response,
    http: Http,
    exchange: Exchange,
    redirect: EndpointRedirect,
) -> impl Stream<Item = Result<Bytes, reqwest::Error>> + Send + 'static {
    let length = response.content_length();
    let kind = http.headers.get("content-type").map(|kind| kind.to_ascii_lowercase());
    let is_stream =
        kind.is_some_and(|kind| kind.split(';').next().is_some_and(|kind| kind.trim() == "text/event-stream"));
    let body = response.bytes_stream().boxed();
    if !is_stream {
        let whole = Whole { bytes: Vec::new(), left: length, http: Some(http), exchange, is_request: false };
        return Tee { body, seen: Seen::Whole(whole) };
    }
    exchange.received(b"", http);
    let (parser, redirect) = (Some(EventParser::default()), Some(redirect));
    let events = Events { parser, pending: 0, redirect, exchange, has_ended: false };
    Tee { body, seen: Seen::Events(events) }
}

/// Leads a client to the recorder whose server names its endpoint for messages by an absolute URL (2024-11-05,
/// basic/transports#http-with-sse).
pub(super) struct EndpointRedirect {
    /// The URL of the server.
    pub(super) target: Url,
    /// The address of the recorder.
    pub(super) recorder: SocketAddr,
}

impl EndpointRedirect {
    /// Puts the address of the recorder into the part of a stream that names this endpoint.
    fn apply(&self, part: &mut Bytes, endpoint: &str) {
        let Ok(url) = Url::parse(endpoint) else { return };
        let Ok(text) = std::str::from_utf8(part) else { return };
        if url.origin() == self.target.origin() {
            let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
            let recorder = format!("http://{}{}{query}", self.recorder, url.path());
            *part = text.replacen(endpoint, &recorder, 1).into();
        }
    }
}

/// Passes a body, and shows it to the recorder.
struct Tee<E> {
    body: Pin<Box<dyn Stream<Item = Result<Bytes, E>> + Send>>,
    seen: Seen,
}

/// What is recorded of a body.
enum Seen {
    Whole(Whole),
    Events(Events),
}

impl<E> Stream for Tee<E> {
    type Item = Result<Bytes, E>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut polled = self.body.poll_next_unpin(context);
        match &mut polled {
            Poll::Ready(Some(Ok(chunk))) => match &mut self.seen {
                Seen::Whole(whole) => whole.add(chunk),
                Seen::Events(events) => events.add(chunk),
            },
            Poll::Ready(Some(Err(_)) | None) => match &mut self.seen {
                Seen::Whole(whole) => whole.finish(),
                Seen::Events(events) => events.finish(),
            },
            Poll::Pending => {}
        }
        polled
    }
}

/// A body that is one message.
struct Whole {
    bytes: Vec<u8>,
    /// Number of bytes that are still to come, if known.
    left: Option<u64>,
    /// `None` after it was recorded.
    http: Option<Http>,
    exchange: Exchange,
    is_request: bool,
}

impl Whole {
    fn add(&mut self, chunk: &Bytes) {
        let room = MAX_BODY.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        self.left = self.left.map(|left| left.saturating_sub(chunk.len() as u64));
        if self.left == Some(0) {
            self.finish();
        }
    }

    fn finish(&mut self) {
        let Some(http) = self.http.take() else { return };
        if self.is_request {
            self.exchange.sent(&self.bytes, http);
        } else {
            self.exchange.received(&self.bytes, http);
        }
        self.bytes = Vec::new();
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        // The client did not read the response to its end.
        if self.http.is_some() {
            self.finish();
            if !self.is_request {
                self.exchange.dropped();
            }
        }
    }
}

/// A stream of events.
struct Events {
    /// `None` after an event that cannot be recorded: it is too long or not UTF-8.
    parser: Option<EventParser>,
    /// Number of bytes since the last event.
    pending: usize,
    /// `None` after the first event.
    redirect: Option<EndpointRedirect>,
    exchange: Exchange,
    has_ended: bool,
}

impl Events {
    fn add(&mut self, chunk: &mut Bytes) {
        let Some(parser) = &mut self.parser else { return };
        let mut ready = VecDeque::new();
        let parsed = parser.read(chunk, &mut ready);
        self.pending = if ready.is_empty() { self.pending + chunk.len() } else { 0 };
        if let Some(first) = ready.front()
            && let Some(redirect) = self.redirect.take()
            && first.event.as_deref() == Some("endpoint")
        {
            redirect.apply(chunk, first.data.as_deref().unwrap_or_default());
        }
        ready.into_iter().for_each(|event| self.exchange.event(event));
        if parsed.is_err() || self.pending > MAX_BODY {
            self.parser = None;
        }
    }

    fn finish(&mut self) {
        if !std::mem::replace(&mut self.has_ended, true) {
            self.exchange.closed();
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        if !self.has_ended {
            self.exchange.dropped();
        }
    }
}
