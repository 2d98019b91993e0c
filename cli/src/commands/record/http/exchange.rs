//! The frames of HTTP exchanges: one connection number each.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::http::{HeaderMap, Method, StatusCode};
use evidence::{Body, ConnectionEvent, FrameParts, Http, Recorder};
use scenarios::peer::ServerEvent;

/// Numbers and records exchanges.
#[derive(Debug)]
pub(super) struct Exchanges {
    recorder: Recorder,
    next: AtomicU64,
}

impl Exchanges {
    pub(super) fn new(recorder: Recorder) -> Self {
        Self { recorder, next: AtomicU64::new(1) }
    }

    /// Begins an exchange.
    pub(super) fn begin(&self) -> Exchange {
        let connection = self.next.fetch_add(1, Ordering::Relaxed);
        Exchange(Arc::new(Recording { recorder: self.recorder.clone(), connection }))
    }
}

/// Records one exchange. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Exchange(Arc<Recording>);

#[derive(Debug)]
struct Recording {
    recorder: Recorder,
    connection: u64,
}

impl Exchange {
    /// The HTTP part of the request.
    pub(super) fn request(&self, method: &Method, path: &str, headers: &HeaderMap) -> Http {
        Http {
            method: Some(method.to_string()),
            path: Some(path.to_owned()),
            headers: Arc::new(recorded(headers)),
            ..Http::default()
        }
    }

    /// The HTTP part of the response.
    pub(super) fn response(&self, status: StatusCode, headers: &HeaderMap) -> Http {
        Http { status: Some(status.as_u16()), headers: Arc::new(recorded(headers)), ..Http::default() }
    }

    /// Records a request with its body.
    pub(super) fn sent(&self, body: &[u8], http: Http) {
        let recording = &self.0;
        recording.recorder.record(FrameParts::received(recording.connection, parsed(body)).with_http(http));
    }

    /// Records a request without a body.
    pub(super) fn bodiless_request(&self, http: Http) {
        let (recording, body) = (&self.0, Body::Event(ConnectionEvent::Bodiless));
        recording.recorder.record(FrameParts::received(recording.connection, body).with_http(http));
    }

    /// Records a response, or the beginning of a stream of events, which has no body of its own.
    pub(super) fn received(&self, body: &[u8], http: Http) {
        let recording = &self.0;
        recording.recorder.record(FrameParts::sent(recording.connection, parsed(body)).with_http(http));
    }

    /// Records an event of a stream.
    pub(super) fn event(&self, event: ServerEvent) {
        let ServerEvent { event, data, id, retry } = event;
        let http = Http { event, event_id: id, retry, ..Http::default() };
        self.received(data.unwrap_or_default().as_bytes(), http);
    }

    /// Records that the server closed a stream of events.
    pub(super) fn closed(&self) {
        self.0.recorder.record(FrameParts::event(self.0.connection, ConnectionEvent::ClosedByServer));
    }

    /// Records that the client closed the exchange before its end.
    pub(super) fn dropped(&self) {
        self.0.recorder.record(FrameParts::event(self.0.connection, ConnectionEvent::ClosedByPeer));
    }

    /// Records that the server sent no response.
    pub(super) fn failed(&self) {
        self.closed();
    }
}

/// A JSON value, text, or no body.
fn parsed(body: &[u8]) -> Body {
    if body.is_empty() {
        return Body::Event(ConnectionEvent::Bodiless);
    }
    match serde_json::from_slice(body) {
        Ok(value) => Body::Json(value),
        Err(_) => Body::Text(String::from_utf8_lossy(body).into_owned()),
    }
}

/// The headers by name; several of one name are joined (RFC 9110, 5.3).
fn recorded(headers: &HeaderMap) -> BTreeMap<String, String> {
    let mut recorded = BTreeMap::<String, String>::new();
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        let known = recorded.entry(name.as_str().to_owned()).or_default();
        if !known.is_empty() {
            known.push_str(", ");
        }
        known.push_str(&value);
    }
    recorded
}
