//! The sessions of one HTTP+SSE server: each is as long as its stream.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use axum::body::Body as HttpBody;
use http::{Response, StatusCode};
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::stream::Stream;
use crate::{
    awaited::Awaited,
    engine::{Engine, ExchangeId, Origin, Output, Reaction, SessionKey, Step, Target},
    faults::FaultState,
    frame::{Body, Mark},
    http::responder::{Presence, Verdict, empty, scripted},
    listen::{
        exchange::Exchange,
        protection::Protection,
        serving::{Aborted, Farewell, Stopper},
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
    protection: Protection,
}

struct Core {
    engine: Engine,
    streams: HashMap<SessionKey, Stream>,
    by_id: HashMap<String, SessionKey>,
    /// The POSTs that wait for what the script has to say about their answer.
    posts: HashMap<ExchangeId, oneshot::Sender<Verdict>>,
    /// Whose session an exchange that is to be woken belongs to.
    session_of: HashMap<ExchangeId, SessionKey>,
    awaited: Awaited,
}

impl Hub {
    pub(super) fn new(
        engine: Engine,
        recorder: Recorder,
        stop: Stopper,
        messages: String,
        protection: Protection,
    ) -> Self {
        let core = Core {
            engine,
            streams: HashMap::new(),
            by_id: HashMap::new(),
            posts: HashMap::new(),
            session_of: HashMap::new(),
            awaited: Awaited::default(),
        };
        Self { core: Mutex::new(core), recorder, stop, messages, protection }
    }

    /// A panic elsewhere cannot leave the state half-changed in a way that matters to a mock: it goes on.
    fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a GET of the stream.
    pub(super) async fn get(self: &Arc<Self>, exchange: &Exchange) -> Verdict {
        exchange.receive_unread();
        match self.protection.refuses(exchange, None) {
            Some(refusal) => Ok(refusal),
            None => self.open(exchange).await,
        }
    }

    /// Opens a stream and with it a session, unless the script has something else to say to a GET.
    async fn open(self: &Arc<Self>, exchange: &Exchange) -> Verdict {
        let host = exchange.header("host").map(str::to_owned);
        let (key, verdict, presence) = {
            let mut core = self.lock();
            let key = core.engine.open_session();
            let id = core.engine.token();
            let first = format!("{}?session={id}", self.messages);
            let (stream, verdict) = Stream::wanted(exchange, first, self.recorder.clone());
            core.streams.insert(key, stream);
            core.by_id.insert(id, key);
            // The engine sees a GET as a message of that method, so that scripts can have rules for it.
            let message = json!({ "jsonrpc": "2.0", "method": "GET" });
            core.engine.is_now(Instant::now());
            let reaction = core.engine.on_message(&Origin { host, ..Origin::session(key) }, &message);
            self.play(&mut core, key, reaction.outputs);
            self.end_what_is_over(&mut core);
            (key, verdict, self.presence(key))
        };
        // Whoever drops a stream that is wanted has said something else than a stream: the connection goes with it.
        let verdict = verdict.await.unwrap_or(Err(Aborted));
        // From here on the body tells whether the client is still there. Where there is no stream, the session is over.
        if self.lock().streams.contains_key(&key) {
            presence.dismiss();
        }
        verdict
    }

    /// Takes in a message. What is said because of it goes out on the stream.
    pub(super) async fn post(self: &Arc<Self>, exchange: &Exchange, body: Incoming) -> Verdict {
        let bytes = match exchange.read(body).await {
            Ok(bytes) => bytes,
            Err(status) => return Ok(exchange.turn_away(status)),
        };
        match self.take_in(exchange, &bytes) {
            Taken::Answered(response) => Ok(response),
            Taken::Waiting(verdict) => verdict.await.unwrap_or(Err(Aborted)).map(|response| exchange.respond(response)),
        }
    }

    fn take_in(self: &Arc<Self>, exchange: &Exchange, bytes: &[u8]) -> Taken {
        let message = serde_json::from_slice::<Value>(bytes).ok();
        let text = || Body::Text(String::from_utf8_lossy(bytes).into_owned());
        exchange.receive(|| message.clone().map_or_else(text, Body::Json));
        if let Some(refusal) = self.protection.refuses(exchange, message.as_ref()) {
            return Taken::Answered(refusal);
        }
        let mut core = self.lock();
        let id = exchange.query().and_then(|query| query.strip_prefix("session="));
        let Some(key) = id.and_then(|id| core.by_id.get(id).copied()) else {
            return Taken::Answered(exchange.refuse(StatusCode::NOT_FOUND));
        };
        let Some(message) = message else {
            return Taken::Answered(exchange.refuse(StatusCode::BAD_REQUEST));
        };
        let host = exchange.header("host").map(str::to_owned);
        core.engine.is_now(Instant::now());
        let Reaction { exchange: id, outputs } =
            core.engine.on_message(&Origin { host, ..Origin::session(key) }, &message);
        // A status that the script words is the answer to the POST: the stream has none to give.
        let word = worded(&outputs);
        let taken = if word.is_none() && core.engine.words_envelope(id) {
            let (sender, verdict) = oneshot::channel();
            core.posts.insert(id, sender);
            Taken::Waiting(verdict)
        } else {
            // The answer to the POST is recorded first: a client may not see the reply on the stream before it.
            Taken::Answered(exchange.respond(word.unwrap_or_else(|| empty(StatusCode::ACCEPTED))))
        };
        self.play(&mut core, key, outputs);
        self.end_what_is_over(&mut core);
        taken
    }

    /// Answers the POSTs that waited for these outputs, or for the exchange that led to them.
    fn answer_posts(core: &mut Core, woken: Option<ExchangeId>, outputs: &[Output]) {
        let spoken_of = outputs.iter().filter_map(|output| match output.to {
            Target::Exchange(id) => Some(id),
            Target::Session(_) => None,
        });
        for id in woken.into_iter().chain(spoken_of) {
            let word = worded(outputs);
            if (word.is_some() || !core.engine.words_envelope(id))
                && let Some(waiting) = core.posts.remove(&id)
                && waiting.send(Ok(word.unwrap_or_else(|| empty(StatusCode::ACCEPTED)))).is_err()
            {
                tracing::debug!("the client left before the answer");
            }
        }
    }

    fn play(self: &Arc<Self>, core: &mut Core, key: SessionKey, outputs: Vec<Output>) {
        Self::answer_posts(core, None, &outputs);
        for output in outputs {
            let to = match output.to {
                Target::Session(other) => other,
                Target::Exchange(exchange) => {
                    if let Step::Wake(after) = output.step {
                        core.awaited.set(exchange, after);
                        core.session_of.insert(exchange, key);
                        self.wake_later(key, exchange, after);
                        continue;
                    }
                    key
                }
            };
            if let Step::Exit(exit) = output.step {
                let connection = core.streams.get(&to).map_or(0, Stream::connection);
                self.recorder.record(Sighting::mark(connection, Mark::Exit));
                self.stop.exit(exit);
            } else if let Some(stream) = core.streams.get_mut(&to)
                && stream.play(output.step, output.shape.as_deref(), || self.presence(to))
            {
                core.streams.remove(&to);
            }
        }
    }

    fn wake_later(self: &Arc<Self>, key: SessionKey, exchange: ExchangeId, after: Duration) {
        let hub = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            if let Some(hub) = hub.upgrade() {
                let mut core = hub.lock();
                core.awaited.come(exchange);
                core.engine.is_now(Instant::now());
                core.session_of.remove(&exchange);
                let outputs = core.engine.on_wake(exchange);
                Self::answer_posts(&mut core, Some(exchange), &outputs);
                hub.play(&mut core, key, outputs);
                hub.end_what_is_over(&mut core);
            }
        });
    }

    /// While the server closes: ends in good order all streams on which nothing more will be said.
    fn end_what_is_over(&self, core: &mut Core) {
        if !self.stop.is_closing() {
            return;
        }
        let awaited: HashSet<_> =
            core.awaited.worth_waiting(&core.engine).filter_map(|id| core.session_of.get(&id).copied()).collect();
        for (_, stream) in core.streams.extract_if(|key, _| !awaited.contains(key)) {
            self.recorder.record(Sighting::mark(stream.connection(), Mark::ClosedByServer));
        }
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
                        stream.leave(mark);
                    }
                    core.by_id.retain(|_, session| *session != key);
                    core.engine.close_session(key);
                    drop(busy);
                });
            }
        })
    }
}

/// What becomes of a POST.
enum Taken {
    Answered(Response<HttpBody>),
    /// The script still has something to say about its answer.
    Waiting(oneshot::Receiver<Verdict>),
}

/// The answer to a POST that a script words.
fn worded(outputs: &[Output]) -> Option<Response<HttpBody>> {
    outputs.iter().find_map(|output| match &output.step {
        Step::Status(status) => Some(scripted(status)),
        Step::ExpireSession => Some(empty(StatusCode::NOT_FOUND)),
        _ => None,
    })
}

impl Farewell for Hub {
    fn bid_farewell(self: Arc<Self>, patience: Duration) {
        let mut core = self.lock();
        core.awaited.end_after(patience);
        self.end_what_is_over(&mut core);
    }
}

impl Switchboard for Hub {
    fn switch(&self, name: &str, enabled: bool) -> bool {
        self.lock().engine.switch(name, enabled)
    }

    fn faults(&self) -> Vec<FaultState> {
        self.lock().engine.faults()
    }

    fn reset(&self) {
        self.lock().engine.reset();
    }
}
