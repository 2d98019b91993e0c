//! The sessions of one HTTP+SSE server: each is as long as its stream.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::body::Body as HttpBody;
use http::{HeaderValue, Response, StatusCode, header};
use hyper::body::Incoming;
use serde_json::Value;

use crate::{
    engine::{Engine, ExchangeId, Origin, Output, Reaction, SessionKey, Step},
    faults::{FaultState, Finish, Framed, Shape},
    frame::{Body, Http, Mark},
    http::{
        responder::{Presence, Verdict, empty, scripted},
        wire,
    },
    listen::{
        exchange::Exchange,
        outlet::{self, Outlet, Piece},
        serving::Stopper,
        switch::Switchboard,
    },
    record::{Recorder, Sighting},
};

/// One server's shared state.
pub(super) struct Hub {
    core: Mutex<Core>,
    recorder: Recorder,
    stop: Stopper,
    /// The path that messages are posted to.
    messages: String,
}

struct Core {
    engine: Engine,
    streams: HashMap<SessionKey, Stream>,
    by_id: HashMap<String, SessionKey>,
}

struct Stream {
    connection: u64,
    pieces: Outlet,
}

impl Hub {
    pub(super) fn new(engine: Engine, recorder: Recorder, stop: Stopper, messages: String) -> Self {
        let core = Core { engine, streams: HashMap::new(), by_id: HashMap::new() };
        Self { core: Mutex::new(core), recorder, stop, messages }
    }

    /// A panic elsewhere cannot leave the state half-changed in a way that matters to a mock: it goes on.
    fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a stream and with it a session. The first event tells where to post (2024-11-05, transports).
    pub(super) fn open(self: &Arc<Self>, exchange: &Exchange) -> Response<HttpBody> {
        exchange.receive_unread();
        let mut core = self.lock();
        let key = core.engine.open_session();
        let id = core.engine.token();
        let (pieces, body) = outlet::body(self.presence(key), exchange.ending());
        let mut response = Response::new(body);
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        let response = exchange.respond(response);
        let stream = Stream { connection: exchange.connection, pieces };
        self.say(&stream, "endpoint", &format!("{}?session={id}", self.messages), Body::Text);
        core.streams.insert(key, stream);
        core.by_id.insert(id, key);
        response
    }

    /// Takes in a message. What is said because of it goes out on the stream.
    pub(super) async fn post(self: &Arc<Self>, exchange: &Exchange, body: Incoming) -> Verdict {
        let bytes = match exchange.read(body).await {
            Ok(bytes) => bytes,
            Err(status) => return Ok(exchange.turn_away(status)),
        };
        let message = serde_json::from_slice::<Value>(&bytes).ok();
        let text = || Body::Text(String::from_utf8_lossy(&bytes).into_owned());
        exchange.receive(|| message.clone().map_or_else(text, Body::Json));
        let mut core = self.lock();
        let id = exchange.query().and_then(|query| query.strip_prefix("session="));
        let Some(key) = id.and_then(|id| core.by_id.get(id).copied()) else {
            return Ok(exchange.refuse(StatusCode::NOT_FOUND));
        };
        let Some(message) = message else {
            return Ok(exchange.refuse(StatusCode::BAD_REQUEST));
        };
        let host = exchange.header("host").map(str::to_owned);
        let Reaction { outputs, .. } = core.engine.on_message(&Origin { host, ..Origin::session(key) }, &message);
        // A status that the script words is the answer to the POST: the stream has none to give.
        let worded = outputs.iter().find_map(|output| match &output.step {
            Step::Status(status) => Some(scripted(status)),
            Step::ExpireSession => Some(empty(StatusCode::NOT_FOUND)),
            _ => None,
        });
        // The answer to the POST is recorded first: a client may not see the reply on the stream before it.
        let response = exchange.respond(worded.unwrap_or_else(|| empty(StatusCode::ACCEPTED)));
        self.play(&mut core, key, outputs);
        Ok(response)
    }

    fn play(self: &Arc<Self>, core: &mut Core, key: SessionKey, outputs: Vec<Output>) {
        for output in outputs {
            let to = match output.to {
                crate::engine::Target::Session(other) => other,
                crate::engine::Target::Exchange(exchange) => {
                    if let Step::Wake(after) = output.step {
                        self.wake_later(key, exchange, after);
                        continue;
                    }
                    key
                }
            };
            if let Step::Exit(_) = output.step {
                let connection = core.streams.get(&to).map_or(0, |stream| stream.connection);
                self.recorder.record(Sighting::mark(connection, Mark::Exit));
                self.stop.stop();
            } else if self.play_step(core, to, output.step, output.shape.as_deref()) {
                core.streams.remove(&to);
            }
        }
    }

    /// Plays one step on a session's stream; true when that ends the stream.
    fn play_step(&self, core: &Core, to: SessionKey, step: Step, shape: Option<&Shape>) -> bool {
        let Some(stream) = core.streams.get(&to) else { return false };
        if let Some(shape) = shape {
            return self.play_shaped(stream, step, shape);
        }
        match step {
            Step::Send(message) | Step::Answer { message, .. } => {
                self.say(stream, "message", &message.to_string(), |_| Body::Json(message.clone()));
                false
            }
            Step::Raw(text) => {
                self.say(stream, "message", &text, Body::Text);
                false
            }
            Step::Close => self.break_off(stream, Piece::Abort),
            Step::Reset => self.break_off(stream, Piece::Reset),
            // The session is as long as its stream, so the one ends with the other.
            Step::ExpireSession => {
                self.recorder.record(Sighting::mark(stream.connection, Mark::ClosedByServer));
                true
            }
            Step::Status(_)
            | Step::Wake(_)
            | Step::Exit(_)
            | Step::End
            | Step::Open
            | Step::Process(_)
            | Step::CloseStream(_)
            | Step::Respond(_) => false,
        }
    }

    /// Plays one step as these faults want it; true when that ends the stream.
    fn play_shaped(&self, stream: &Stream, step: Step, shape: &Shape) -> bool {
        let (text, said) = match step {
            Step::Send(message) | Step::Answer { message, .. } => (message.to_string(), Body::Json(message)),
            Step::Raw(text) => (text.clone(), Body::Text(text)),
            _ => return false,
        };
        let empty = wire::event(None, "message", "");
        let mut rendered = shape.render(text.into_bytes(), said, |payload| Framed::event(&empty, payload));
        // The body goes on for as long as the session, so what ends the connection after a message ends the body.
        if let Finish::After(how) = rendered.finish {
            rendered.finish = Finish::Amid(how);
        }
        self.recorder.record_with(|| event_frame(stream.connection, "message", rendered.said.clone()));
        stream.pieces.play(&rendered);
        if matches!(rendered.finish, Finish::Keep) {
            return false;
        }
        self.recorder.record(Sighting::mark(stream.connection, Mark::ClosedByServer));
        true
    }

    fn break_off(&self, stream: &Stream, end: Piece) -> bool {
        stream.pieces.push(end);
        self.recorder.record(Sighting::mark(stream.connection, Mark::ClosedByServer));
        true
    }

    fn say(&self, stream: &Stream, name: &str, data: &str, body: impl FnOnce(String) -> Body) {
        // Recorded before it is sent: what a fast client says in return must not come before it in the record.
        self.recorder.record_with(|| event_frame(stream.connection, name, body(data.to_owned())));
        stream.pieces.push(Piece::Bytes(wire::event(None, name, data).into()));
    }

    fn wake_later(self: &Arc<Self>, key: SessionKey, exchange: ExchangeId, after: Duration) {
        let hub = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            if let Some(hub) = hub.upgrade() {
                let mut core = hub.lock();
                let outputs = core.engine.on_wake(exchange);
                hub.play(&mut core, key, outputs);
            }
        });
    }

    /// What tells when the client closes its stream, and with it the session.
    fn presence(self: &Arc<Self>, key: SessionKey) -> Presence {
        let hub = Arc::downgrade(self);
        Presence::new(move || {
            let Some(hub) = hub.upgrade() else { return };
            // Who has left is settled now; the lock may be held by whoever drops the stream, so the news is brought by a
            // task of its own.
            let (mark, busy) = (hub.stop.end_mark(), hub.stop.busy());
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(async move {
                    let mut core = hub.lock();
                    if let Some(stream) = core.streams.remove(&key) {
                        hub.recorder.record(Sighting::mark(stream.connection, mark));
                    }
                    core.by_id.retain(|_, session| *session != key);
                    core.engine.close_session(key);
                    drop(busy);
                });
            }
        })
    }
}

fn event_frame(connection: u64, name: &str, body: Body) -> Sighting {
    let http = Http { status: Some(200), event: Some(name.to_owned()), ..Http::default() };
    Sighting::sent(connection, body).with_http(http)
}

impl Switchboard for Hub {
    fn switch(&self, name: &str, enabled: bool) -> bool {
        self.lock().engine.switch(name, enabled)
    }

    fn faults(&self) -> Vec<FaultState> {
        self.lock().engine.faults()
    }
}
