//! Records the frames of one case for the evidence, and keeps received messages for steps that wait for them.
//!
//! The user's secrets are redacted in frames. Received messages contain them, so that for example a cursor can be sent back.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use evidence::{Body, ConnectionEvent, Direction, Frame, Http};
use serde_json::Value;
use tokio::{sync::watch, time::Instant};

use super::answer::{answer, feature_of};
use crate::{
    model::User,
    parameter_headers::{self, MirroredParameter},
};

/// Maximum number of frames of one case. Above it, frames are dropped and the connection counts as closed.
const MAX_FRAMES: usize = 20_000;
/// Maximum size of the frames of one case.
const MAX_BYTES: usize = 64 << 20;
/// Maximum length of text that is not JSON.
const MAX_TEXT: usize = 4_096;
/// Number of frames whose headers a frame can share.
const RECENT: usize = 16;
/// Replaces secrets.
const REDACTED: &str = "[secret]";

/// The recorder of one connection, shared by its tasks.
#[derive(Debug)]
pub(super) struct TranscriptRecorder {
    started: Instant,
    secrets: Vec<String>,
    state: Mutex<State>,
    changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    frames: Vec<Frame>,
    bytes: usize,
    /// The JSON messages from the server, in order, and their connections.
    received: Vec<(u64, Arc<Value>)>,
    /// The finished HTTP exchanges.
    pub(super) ended: BTreeMap<u64, Ended>,
    /// Why the connection is closed, if it is.
    pub(super) closed: Option<String>,
    /// The capabilities that the last `initialize` declared.
    pub(super) declared: Value,
    /// What the user and the model do when the server requests something.
    user: User,
    /// The first event id of a stream.
    first_event_id: Option<String>,
    /// The parameters of the listed tools that a call repeats in headers, by tool.
    mirrored: BTreeMap<String, Vec<MirroredParameter>>,
}

impl State {
    /// The same with headers that a recent frame had, if they are equal: they are much of the memory of a session.
    fn with_shared_headers(&mut self, mut http: Http) -> Http {
        let recent = self.frames.iter().rev().take(RECENT).filter_map(|frame| frame.http.as_ref());
        if let Some(same) = recent.map(|known| &known.headers).find(|known| **known == http.headers) {
            http.headers = Arc::clone(same);
        }
        http
    }

    /// The messages received from this position on.
    pub(super) fn received_since(&self, position: usize) -> impl Iterator<Item = &Value> {
        self.received_on(position).map(|(_, message)| message)
    }

    /// The same, with their connections.
    pub(super) fn received_on(&self, position: usize) -> impl Iterator<Item = (u64, &Value)> {
        self.received.iter().skip(position).map(|(connection, message)| (*connection, &**message))
    }
}

/// The end of an HTTP exchange.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    /// The status, if there was a response.
    pub(super) status: Option<u16>,
    /// The error, if it failed.
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
        self.record_in(&mut self.lock(), connection, direction, body, http);
        self.wake();
    }

    /// Records a frame in a state that is locked. The caller wakes those who wait.
    fn record_in(&self, state: &mut State, connection: u64, direction: Direction, body: Body, http: Option<Http>) {
        let at_us = self.now_us();
        let weight = weight(&body);
        if state.frames.len() >= MAX_FRAMES || state.bytes.saturating_add(weight) > MAX_BYTES {
            state.closed.get_or_insert_with(|| "the server sent more than 20,000 frames or 64 MiB".to_owned());
        } else {
            if let Some(declared) = declared_in(direction, &body) {
                state.declared = declared;
            }
            // The first exchange, which opens the session, may not be part of it.
            if let Some(id) = http.as_ref().and_then(|http| http.event_id.clone()).filter(|_| connection > 0) {
                state.first_event_id.get_or_insert(id);
            }
            let body = self.redact(body);
            let seq = state.frames.len() as u64;
            state.bytes += weight;
            let http = http.map(|http| Arc::new(state.with_shared_headers(http)));
            state.frames.push(Frame { seq, at_us, server: "server".to_owned(), connection, direction, body, http });
        }
    }

    /// Records text to the server, without the most of very long strings.
    pub(super) fn sent(&self, connection: u64, text: &str, http: Option<Http>) {
        let body = match serde_json::from_str(text) {
            Ok(value) => Body::json(shortened(value)),
            Err(_) => Body::Text(text.chars().take(MAX_TEXT).collect()),
        };
        self.record(connection, Direction::ClientToServer, body, http);
    }

    /// The response to a request from the server, if it gets one.
    pub(super) fn answer_to(&self, request: &Value) -> Option<Value> {
        let state = self.lock();
        answer(request, &state.declared, state.user)
    }

    /// The response that an absent user did not give to a request from the server.
    pub(super) fn late_answer_to(&self, request: &Value) -> Option<Value> {
        let asks = request.get("id").is_some() && request["method"].as_str().and_then(feature_of).is_some();
        answer(request, &self.lock().declared, User::Declines).filter(|_| asks)
    }

    /// What the user and the model do from now on.
    pub(super) fn set_user(&self, user: User) {
        self.lock().user = user;
    }

    /// The first event id of a stream, if there is one.
    pub(super) fn first_event_id(&self) -> Option<String> {
        self.lock().first_event_id.clone()
    }

    /// The last event id of an exchange, if there is one.
    pub(super) fn last_event_id(&self, connection: u64) -> Option<String> {
        let state = self.lock();
        let mut frames = state.frames.iter().rev().filter(|frame| frame.connection == connection);
        frames.find_map(|frame| frame.http.as_ref()?.event_id.clone())
    }

    /// The headers that a call of a listed tool repeats its arguments in.
    pub(super) fn parameter_headers(&self, call: &Value) -> Vec<(String, String)> {
        let arguments = call.pointer("/params/arguments").unwrap_or(&Value::Null);
        let name = call.pointer("/params/name").and_then(Value::as_str);
        let state = self.lock();
        let parameters = name.and_then(|name| state.mirrored.get(name));
        parameters.map(|parameters| parameter_headers::headers(parameters, arguments)).unwrap_or_default()
    }

    /// Records a connection event.
    pub(super) fn mark(&self, connection: u64, direction: Direction, mark: ConnectionEvent, http: Option<Http>) {
        self.record(connection, direction, Body::Event(mark), http);
    }

    /// Records text from the server, which is a JSON message or other text. Returns the requests.
    pub(super) fn receive(&self, connection: u64, text: &str, http: Option<Http>) -> Vec<Value> {
        match serde_json::from_str::<Value>(text) {
            Ok(value) => self.message(connection, value, http),
            Err(_) => {
                self.text(connection, text, http);
                Vec::new()
            }
        }
    }

    /// Records text from the server that is not a message.
    pub(super) fn text(&self, connection: u64, text: &str, http: Option<Http>) {
        let kept = text.chars().take(MAX_TEXT).collect();
        self.record(connection, Direction::ServerToClient, Body::Text(kept), http);
    }

    /// Records a JSON message from the server, and keeps it for waiting steps. Returns the requests.
    pub(super) fn message(&self, connection: u64, value: Value, http: Option<Http>) -> Vec<Value> {
        // A server of 2025-03-26 may send a batch (2025-03-26, basic, batching).
        let value = Arc::new(value);
        let messages = match &*value {
            Value::Array(batch) => batch.iter().cloned().map(Arc::new).collect(),
            _ => vec![Arc::clone(&value)],
        };
        let requests = messages.iter().filter(|message| is_request(message)).map(|message| (**message).clone());
        let requests = requests.collect();
        let mut state = self.lock();
        state.mirrored.extend(messages.iter().flat_map(|message| listed_tools(message)));
        state.received.extend(messages.into_iter().map(|message| (connection, message)));
        // Who sees the message also sees its frame, for example the status of its response.
        self.record_in(&mut state, connection, Direction::ServerToClient, Body::Json(value), http);
        drop(state);
        self.wake();
        requests
    }

    /// Records the end of an HTTP exchange.
    pub(super) fn end_exchange(&self, connection: u64, ended: Ended) {
        self.lock().ended.insert(connection, ended);
        self.wake();
    }

    /// Records that the connection is closed.
    pub(super) fn close(&self, why: impl Into<String>) {
        self.lock().closed.get_or_insert_with(|| why.into());
        self.wake();
    }

    /// Number of received messages.
    pub(super) fn received(&self) -> usize {
        self.lock().received.len()
    }

    /// The messages received from this position on.
    pub(super) fn received_since(&self, position: usize) -> Vec<Value> {
        self.lock().received_since(position).cloned().collect()
    }

    /// Waits until `find` returns a value; `None` after the timeout.
    pub(super) async fn wait<T>(&self, within: Duration, find: impl Fn(&State) -> Option<T>) -> Option<T> {
        tokio::time::timeout(within, self.search(find)).await.ok().flatten()
    }

    /// Waits for what `find` finds.
    pub(super) async fn search<T>(&self, find: impl Fn(&State) -> Option<T>) -> Option<T> {
        let mut changes = self.changed.subscribe();
        loop {
            changes.borrow_and_update();
            if let Some(found) = find(&self.lock()) {
                return Some(found);
            }
            if changes.changed().await.is_err() {
                return None;
            }
        }
    }

    /// Number of recorded frames.
    pub(super) fn frame_count(&self) -> u64 {
        self.lock().frames.len() as u64
    }

    pub(super) fn frames(&self) -> Vec<Frame> {
        self.lock().frames.clone()
    }

    /// Ends the recording and returns the frames. There can be many, so they are not copied.
    pub(super) fn take_frames(&self) -> Vec<Frame> {
        let mut state = self.lock();
        state.received.clear();
        std::mem::take(&mut state.frames)
    }

    /// Removes the frames from this one on that are not messages.
    pub(super) fn forget_text_from(&self, seq: u64) {
        self.lock().frames.retain(|frame| frame.seq < seq || !matches!(frame.body, Body::Text(_)));
    }

    /// Redacts the user's secrets in text.
    pub(super) fn redact_text(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, REDACTED))
    }

    /// Redacts the user's secrets in a value.
    pub(super) fn redact_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.redact_text(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.redact_value(item)).collect(),
            Value::Object(fields) => Value::Object(
                fields.into_iter().map(|(name, field)| (self.redact_text(&name), self.redact_value(field))).collect(),
            ),
            other => other,
        }
    }

    fn redact(&self, body: Body) -> Body {
        match body {
            Body::Json(value) if self.secrets.is_empty() => Body::Json(value),
            Body::Json(value) => Body::json(self.redact_value(Arc::unwrap_or_clone(value))),
            Body::Text(text) => Body::Text(self.redact_text(&text)),
            Body::Event(mark) => Body::Event(mark),
        }
    }

    fn wake(&self) {
        self.changed.send_modify(|version| *version = version.wrapping_add(1));
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // A panic cannot leave a partial frame.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The capabilities in an `initialize` of the workbench.
fn declared_in(direction: Direction, body: &Body) -> Option<Value> {
    let Body::Json(message) = body else { return None };
    let is_initialize = direction == Direction::ClientToServer && message["method"] == "initialize";
    is_initialize.then(|| message.pointer("/params/capabilities").cloned().unwrap_or(Value::Null))
}

/// The value with very long strings cut, so that a large argument does not fill the evidence.
fn shortened(value: Value) -> Value {
    match value {
        Value::String(text) if text.len() > MAX_TEXT => {
            let kept: String = text.chars().take(80).collect();
            Value::String(format!("{kept}… [{} bytes]", text.len()))
        }
        Value::Array(items) => items.into_iter().map(shortened).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, field)| (name, shortened(field))).collect(),
        other => other,
    }
}

/// Whether two JSON-RPC ids are the same: `1` and `1.0` are one number, `1` and `"1"` are not one id.
pub(crate) fn same_id(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        _ => one == other,
    }
}

/// Whether two ids are equal as text: `1` and `"1"`.
pub(crate) fn same_text(one: &Value, other: &Value) -> bool {
    let text = |id: &Value| match id {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    text(one).is_some() && text(one) == text(other)
}

/// The mirrored parameters of the tools in a response to `tools/list`.
fn listed_tools(message: &Value) -> impl Iterator<Item = (String, Vec<MirroredParameter>)> {
    let tools = message.pointer("/result/tools").and_then(Value::as_array).into_iter().flatten();
    tools.filter_map(|tool| {
        let name = tool.get("name")?.as_str()?.to_owned();
        Some((name, tool.get("inputSchema").map(parameter_headers::mirrored).unwrap_or_default()))
    })
}

/// Whether the message is a request.
fn is_request(message: &Value) -> bool {
    message.get("method").is_some_and(Value::is_string) && message.get("id").is_some()
}

/// The approximate memory size of a frame.
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
