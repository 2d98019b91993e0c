//! Where all exchanges of one server meet: the engine, the open answers and the sessions.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use http::StatusCode;
use tokio::sync::oneshot;

use super::responder::{Presence, Responder, Subject, Verdict};
use crate::{
    engine::{Engine, Era, ExchangeId, Output, Reaction, SessionKey, Step, Target},
    faults::Shape,
    frame::Mark,
    listen::{exchange::Exchange, serving::Stopper},
    record::{Recorder, Sighting},
};

/// How many of the server's own messages are kept for a session that has no stream open.
const LONGEST_BACKLOG: usize = 1_000;

/// One server's shared state.
pub(crate) struct Hub {
    core: Mutex<Core>,
    recorder: Recorder,
    stop: Stopper,
    /// The era support never changes, so it can be asked without the lock.
    has_sessions: bool,
}

pub(crate) struct Core {
    pub(crate) engine: Engine,
    responders: HashMap<ExchangeId, Responder>,
    sessions: HashMap<SessionKey, SessionState>,
    by_id: HashMap<String, SessionKey>,
}

/// What a session has besides its place in the engine.
struct SessionState {
    id: String,
    /// The GET streams that are open, newest last. A message goes out on one of them only (2025-11-25, transports,
    /// multiple connections).
    streams: Vec<ExchangeId>,
    backlog: VecDeque<Output>,
}

impl Hub {
    pub(crate) fn new(engine: Engine, recorder: Recorder, stop: Stopper) -> Self {
        let has_sessions = engine.support().has_era(Era::Legacy);
        let core = Core { engine, responders: HashMap::new(), sessions: HashMap::new(), by_id: HashMap::new() };
        Self { core: Mutex::new(core), recorder, stop, has_sessions }
    }

    pub(crate) fn has_sessions(&self) -> bool {
        self.has_sessions
    }

    /// A panic elsewhere cannot leave the state half-changed in a way that matters to a mock: it goes on.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a message to the engine and plays what it says; returns where the answer will arrive, and what tells when
    /// the client leaves before it.
    pub(crate) fn start(
        self: &Arc<Self>,
        exchange: &Exchange,
        subject: Subject,
        session_header: Option<String>,
        react: impl FnOnce(&mut Engine) -> Reaction,
    ) -> (oneshot::Receiver<Verdict>, Presence) {
        let mut core = self.lock();
        let reaction = react(&mut core.engine);
        let (responder, verdict) = Responder::new(subject, exchange, self.recorder.clone(), session_header);
        core.responders.insert(reaction.exchange, responder);
        self.play(&mut core, reaction.outputs);
        self.accept_early(&mut core, reaction.exchange);
        drop(core);
        (verdict, self.presence(reaction.exchange, true))
    }

    /// Accepts a notification at once, even if the server is not yet done with it: a client may hold back what the
    /// server waits for until its POST is accepted. Only a script that words the envelope itself is waited for.
    fn accept_early(&self, core: &mut Core, id: ExchangeId) {
        if core.engine.words_envelope(id) {
            return;
        }
        if let Some(responder) = core.responders.get_mut(&id).filter(|one| one.subject == Subject::OneWay) {
            responder.answer_empty(StatusCode::ACCEPTED);
        }
    }

    /// Plays steps in their order.
    fn play(self: &Arc<Self>, core: &mut Core, outputs: Vec<Output>) {
        for output in outputs {
            match (output.to, output.step) {
                (Target::Session(session), Step::ExpireSession) => core.close_session(session),
                (Target::Session(session), step) => {
                    self.play_aside(core, session, Output { to: output.to, step, shape: output.shape });
                }
                (Target::Exchange(id), Step::Wake(after)) => self.wake_later(id, after),
                (Target::Exchange(id), Step::Exit(_)) => {
                    let connection = core.responders.get(&id).map_or(0, Responder::connection);
                    self.recorder.record(Sighting::mark(connection, Mark::Exit));
                    self.stop.stop();
                }
                (Target::Exchange(id), Step::End) => self.end(core, id, output.shape.as_deref()),
                (Target::Exchange(id), step) => {
                    if let Some(responder) = core.responders.get_mut(&id) {
                        self.play_step(responder, id, step, output.shape.as_deref());
                    }
                }
            }
        }
    }

    fn play_step(self: &Arc<Self>, responder: &mut Responder, id: ExchangeId, step: Step, shape: Option<&Shape>) {
        if let Some(shape) = shape {
            return responder.play_shaped(step, shape, || self.presence(id, false));
        }
        match step {
            Step::Send(message) => responder.send(message, || self.presence(id, false)),
            Step::Raw(text) => responder.send_raw(text, || self.presence(id, false)),
            Step::Answer { message, status } => responder.answer(message, status),
            Step::Status(status) => responder.answer_status(&status),
            Step::Close => responder.close(),
            Step::Reset => responder.reset(),
            Step::Open => responder.open_stream(|| self.presence(id, false)),
            Step::Wake(_) | Step::Exit(_) | Step::End | Step::ExpireSession | Step::Process(_) => {}
        }
    }

    /// Plays a step on the session's own stream, or keeps it until one is open.
    fn play_aside(self: &Arc<Self>, core: &mut Core, session: SessionKey, output: Output) {
        let Some(state) = core.sessions.get_mut(&session) else { return };
        let open = state.streams.last().and_then(|id| core.responders.get_mut(id).map(|responder| (*id, responder)));
        match open {
            Some((id, responder)) => self.play_step(responder, id, output.step, output.shape.as_deref()),
            None => {
                if state.backlog.len() == LONGEST_BACKLOG {
                    state.backlog.pop_front();
                }
                state.backlog.push_back(output);
            }
        }
    }

    /// The engine has nothing more to say in an exchange. What that means depends on what it answers.
    fn end(self: &Arc<Self>, core: &mut Core, id: ExchangeId, shape: Option<&Shape>) {
        let Some(responder) = core.responders.get_mut(&id) else { return };
        if let Some(content_type) = shape.and_then(Shape::content_type) {
            responder.content_type = Some(content_type);
        }
        match responder.subject {
            Subject::OneWay => responder.answer_empty(StatusCode::ACCEPTED),
            Subject::Delete => responder.answer_empty(StatusCode::NO_CONTENT),
            Subject::Listen if responder.is_undecided() => {
                responder.open_stream(|| self.presence(id, false));
                return;
            }
            // The script has said something else than a stream.
            Subject::Listen => {}
            // A request that is cancelled gets no answer (cancellation, behavior requirements): its stream ends.
            Subject::Request => responder.open_stream(|| self.presence(id, false)),
        }
        responder.end_stream();
        core.responders.remove(&id);
    }

    fn wake_later(self: &Arc<Self>, id: ExchangeId, after: Duration) {
        let hub = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            if let Some(hub) = hub.upgrade() {
                let mut core = hub.lock();
                let outputs = core.engine.on_wake(id);
                hub.play(&mut core, outputs);
            }
        });
    }

    /// What tells when the client leaves: before the answer has begun, or while it streams.
    fn presence(self: &Arc<Self>, id: ExchangeId, undecided: bool) -> Presence {
        let hub = Arc::downgrade(self);
        Presence::new(move || {
            let Some(hub) = hub.upgrade() else { return };
            // Who has left is settled now; the lock may be held by whoever drops the stream, so the news is brought by a
            // task of its own.
            let (mark, busy) = (hub.stop.end_mark(), hub.stop.busy());
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(async move {
                    hub.left(id, undecided, mark);
                    drop(busy);
                });
            }
        })
    }

    fn left(&self, id: ExchangeId, undecided: bool, mark: Mark) {
        let mut core = self.lock();
        let Some(responder) = core.responders.get_mut(&id) else { return };
        if responder.is_done() || responder.is_undecided() != undecided {
            return;
        }
        responder.leave(mark);
        core.responders.remove(&id);
        core.engine.on_closed(id);
        for session in core.sessions.values_mut() {
            session.streams.retain(|stream| *stream != id);
        }
    }

    /// Lets a GET's stream carry the session's own messages, beginning with those that have waited.
    pub(crate) fn attach(self: &Arc<Self>, session: SessionKey, id: ExchangeId) {
        let mut core = self.lock();
        if !core.responders.get(&id).is_some_and(|responder| responder.subject == Subject::Listen) {
            return;
        }
        let Some(state) = core.sessions.get_mut(&session) else { return };
        state.streams.push(id);
        for output in std::mem::take(&mut state.backlog) {
            self.play_aside(&mut core, session, output);
        }
    }
}

impl Core {
    /// Opens a session and gives it an id.
    pub(crate) fn open_session(&mut self) -> (SessionKey, String) {
        let key = self.engine.open_session();
        let id = self.engine.token();
        let state = SessionState { id: id.clone(), streams: Vec::new(), backlog: VecDeque::new() };
        self.sessions.insert(key, state);
        self.by_id.insert(id.clone(), key);
        (key, id)
    }

    /// The session of an id.
    pub(crate) fn session(&self, id: &str) -> Option<SessionKey> {
        self.by_id.get(id).copied()
    }

    /// Ends a session and its streams.
    pub(crate) fn close_session(&mut self, key: SessionKey) {
        let Some(state) = self.sessions.remove(&key) else { return };
        self.by_id.remove(&state.id);
        self.engine.close_session(key);
        for stream in state.streams {
            if let Some(mut responder) = self.responders.remove(&stream) {
                responder.end_stream();
            }
        }
    }
}
