//! What one case's conversation with a server was: the frames for the evidence, and the messages as they arrived for
//! whoever waits for one. Frames are scrubbed of the user's secrets when they are recorded; live messages are not, or a
//! cursor that holds such a word could not be sent back.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use evidence::{Body, ConnectionEvent, Direction, Frame, Http};
use serde_json::Value;
use tokio::{sync::watch, time::Instant};

/// More frames than this in one case are a flood; the rest is dropped and the connection counts as ended.
const MAX_FRAMES: usize = 20_000;
/// The most bytes of frames that one case keeps.
const MAX_BYTES: usize = 64 << 20;
/// The longest piece of text that is kept of something that is no JSON.
const MAX_TEXT: usize = 4_096;
/// What stands in the place of a secret.
const SCRUBBED: &str = "[secret]";

/// The record of a conversation, shared by everything that sends and receives.
#[derive(Debug)]
pub(super) struct TranscriptRecorder {
    started: Instant,
    secrets: Vec<String>,
    state: Mutex<State>,
    changed: watch::Sender<u64>,
}

/// What has happened so far.
#[derive(Debug, Default)]
pub(super) struct State {
    frames: Vec<Frame>,
    bytes: usize,
    /// Every JSON message from the server, in order.
    pub(super) received: Vec<Received>,
    /// The HTTP exchanges that are over, and what is to be said of them.
    pub(super) ended: BTreeMap<u64, Ended>,
    /// Why nothing more can come, once that is so.
    pub(super) closed: Option<String>,
}

/// A message from the server.
#[derive(Debug, Clone)]
pub(super) struct Received {
    pub(super) value: Value,
}

/// How an HTTP exchange ended.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    /// The status, if there was a reply.
    pub(super) status: Option<u16>,
    /// What went wrong, if something did.
    pub(super) error: Option<String>,
}

impl TranscriptRecorder {
    /// A record that begins now. The secrets never reach a frame.
    pub(super) fn new(secrets: Vec<String>) -> Self {
        let secrets = secrets.into_iter().filter(|secret| secret.len() >= 4).collect();
        Self { started: Instant::now(), secrets, state: Mutex::default(), changed: watch::Sender::new(0) }
    }

    /// Microseconds since the start.
    pub(super) fn now_us(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Records a frame.
    pub(super) fn record(&self, connection: u64, direction: Direction, body: Body, http: Option<Http>) {
        let at_us = self.now_us();
        let mut state = self.lock();
        let weight = weight(&body);
        if state.frames.len() >= MAX_FRAMES || state.bytes.saturating_add(weight) > MAX_BYTES {
            state.closed.get_or_insert_with(|| "the server sent more than the workbench keeps".to_owned());
        } else {
            let body = self.scrub(body);
            let seq = state.frames.len() as u64;
            state.bytes += weight;
            state.frames.push(Frame { seq, at_us, server: "server".to_owned(), connection, direction, body, http });
        }
        drop(state);
        self.wake();
    }

    /// Records something that happened to a connection.
    pub(super) fn mark(&self, connection: u64, direction: Direction, mark: ConnectionEvent, http: Option<Http>) {
        self.record(connection, direction, Body::Event(mark), http);
    }

    /// Records text from the server, and keeps it for those who wait if it is JSON. Gives back the requests in it.
    pub(super) fn receive(&self, connection: u64, text: &str, http: Option<Http>) -> Vec<Value> {
        let Ok(value) = serde_json::from_str::<Value>(text) else {
            let kept = text.chars().take(MAX_TEXT).collect();
            self.record(connection, Direction::ServerToClient, Body::Text(kept), http);
            return Vec::new();
        };
        // A 2025-03-26 peer may answer with a batch (2025-03-26, basic, batching).
        let messages = match &value {
            Value::Array(batch) => batch.clone(),
            single => vec![single.clone()],
        };
        let requests = messages.iter().filter(|message| is_request(message)).cloned().collect();
        self.lock().received.extend(messages.into_iter().map(|value| Received { value }));
        self.record(connection, Direction::ServerToClient, Body::Json(value), http);
        requests
    }

    /// Notes that an HTTP exchange is over.
    pub(super) fn end_exchange(&self, connection: u64, ended: Ended) {
        self.lock().ended.insert(connection, ended);
        self.wake();
    }

    /// Notes that nothing more can come.
    pub(super) fn close(&self, why: impl Into<String>) {
        self.lock().closed.get_or_insert_with(|| why.into());
        self.wake();
    }

    /// How many messages have been received.
    pub(super) fn received(&self) -> usize {
        self.lock().received.len()
    }

    /// The messages received from this position on.
    pub(super) fn received_since(&self, position: usize) -> Vec<Value> {
        self.lock().received.iter().skip(position).map(|received| received.value.clone()).collect()
    }

    /// Waits until `look` finds what it is after, for so long at most.
    pub(super) async fn wait<T>(&self, within: Duration, look: impl Fn(&State) -> Option<T>) -> Option<T> {
        let mut changes = self.changed.subscribe();
        let search = async {
            loop {
                changes.borrow_and_update();
                if let Some(found) = look(&self.lock()) {
                    return Some(found);
                }
                if changes.changed().await.is_err() {
                    return None;
                }
            }
        };
        tokio::time::timeout(within, search).await.ok().flatten()
    }

    /// Every frame so far.
    pub(super) fn frames(&self) -> Vec<Frame> {
        self.lock().frames.clone()
    }

    /// The text without the user's secrets.
    pub(super) fn scrub_text(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, SCRUBBED))
    }

    /// The value without the user's secrets.
    pub(super) fn scrub_value(&self, value: Value) -> Value {
        if self.secrets.is_empty() {
            return value;
        }
        match value {
            Value::String(text) => Value::String(self.scrub_text(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.scrub_value(item)).collect(),
            Value::Object(fields) => Value::Object(
                fields.into_iter().map(|(name, field)| (self.scrub_text(&name), self.scrub_value(field))).collect(),
            ),
            other => other,
        }
    }

    fn scrub(&self, body: Body) -> Body {
        match body {
            Body::Json(value) => Body::Json(self.scrub_value(value)),
            Body::Text(text) => Body::Text(self.scrub_text(&text)),
            Body::Event(mark) => Body::Event(mark),
        }
    }

    fn wake(&self) {
        self.changed.send_modify(|version| *version = version.wrapping_add(1));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves the record as it was: whole frames only.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether two JSON-RPC ids are the same: `1` and `1.0` are one number, `1` and `"1"` are not one id.
pub(crate) fn same_id(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        _ => one == other,
    }
}

/// Whether the message is a request of the server's own.
fn is_request(message: &Value) -> bool {
    message.get("method").is_some_and(Value::is_string) && message.get("id").is_some()
}

/// Roughly how much memory a frame takes.
fn weight(body: &Body) -> usize {
    match body {
        Body::Json(value) => value_weight(value),
        Body::Text(text) => text.len(),
        Body::Event(_) => 16,
    }
}

fn value_weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 16,
        Value::Array(items) => items.iter().map(value_weight).sum::<usize>() + 16,
        Value::Object(fields) => {
            fields.iter().map(|(name, field)| name.len() + value_weight(field)).sum::<usize>() + 16
        }
        _ => 16,
    }
}
