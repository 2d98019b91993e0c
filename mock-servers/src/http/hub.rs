//! Where all exchanges of one server meet: the engine, the open answers and the sessions.

mod play;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use axum::body::Body as HttpBody;
use http::{Response, StatusCode};

use super::{
    responder::{Asked, Manner, Presence, Responder, Subject, Verdict, one_object, record_response},
    roster::Roster,
};
use crate::{
    awaited::Awaited,
    engine::{Engine, Era, ExchangeId, LEGACY, Output, Reaction, SessionKey, Step, Target},
    frame::{Body, Mark},
    listen::{
        exchange::Exchange,
        serving::{Aborted, Stopper},
    },
    record::Recorder,
    script::{HttpScript, Respond},
};

/// One server's shared state.
pub(crate) struct Hub {
    core: Mutex<Core>,
    recorder: Recorder,
    pub(super) stop: Stopper,
    script: HttpScript,
    /// The era support never changes, so it can be asked without the lock.
    has_sessions: bool,
}

pub(crate) struct Core {
    pub(crate) engine: Engine,
    pub(super) responders: HashMap<ExchangeId, Responder>,
    pub(super) roster: Roster,
    /// The sessions that stand for all clients of a revision, where there are no others.
    shared: HashMap<String, SessionKey>,
    pub(super) awaited: Awaited,
}

/// What a client may leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    /// An exchange without an answer so far.
    Exchange,
    /// A stream on its n-th connection after the first.
    Stream(u64),
}

impl Hub {
    pub(crate) fn new(engine: Engine, recorder: Recorder, stop: Stopper, most_sessions: usize) -> Self {
        let script = engine.http().clone();
        let has_sessions = engine.support().has_era(Era::Legacy) && !script.stateless;
        let roster = Roster::new(most_sessions);
        let core =
            Core { engine, responders: HashMap::new(), roster, shared: HashMap::new(), awaited: Awaited::default() };
        Self { core: Mutex::new(core), recorder, stop, script, has_sessions }
    }

    /// Whether the server has sessions, and with them GET and DELETE.
    pub(crate) fn has_sessions(&self) -> bool {
        self.has_sessions
    }

    /// Whether a call may be answered where it arrives: nobody wants it recorded, and nothing is streamed that need not be.
    pub(super) fn answers_in_passing(&self) -> bool {
        !self.recorder.is_enabled() && self.script.respond.unwrap_or_default() != Respond::Sse
    }

    /// A panic elsewhere cannot leave the state half-changed in a way that matters to a mock: it goes on.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a message to the engine and plays what it says, until there is an answer.
    pub(super) async fn ask(
        self: &Arc<Self>,
        exchange: &Exchange,
        asked: Asked,
        react: impl FnOnce(&mut Engine) -> Reaction,
    ) -> (ExchangeId, Verdict) {
        let (id, verdict, presence) = {
            let mut core = self.lock();
            core.engine.is_now(Instant::now());
            let reaction = react(&mut core.engine);
            let manner = self.manner(&core, &asked);
            let id = reaction.exchange;
            let Reaction { outputs, .. } = match self.at_once(exchange, &asked, manner, reaction) {
                Ok(response) => return (id, Ok(response)),
                Err(reaction) => reaction,
            };
            let (responder, verdict) = Responder::new(id, exchange, asked, self.recorder.clone(), manner);
            core.responders.insert(id, responder);
            self.play(&mut core, outputs);
            self.decide_early(&mut core, id);
            self.end_what_is_over(&mut core);
            (id, verdict, self.presence(id, Heard::Exchange))
        };
        // Whoever drops an open answer has said something else than an answer: the connection goes with it.
        let verdict = verdict.await.unwrap_or(Err(Aborted));
        presence.dismiss();
        (id, verdict)
    }

    /// How an exchange is answered.
    fn manner(&self, core: &Core, asked: &Asked) -> Manner {
        let revision = asked.session.and_then(|key| core.engine.agreed_revision(key));
        let resumable = self.has_sessions && self.script.resumable.unwrap_or(true);
        Manner {
            respond: self.script.respond.unwrap_or_default(),
            // Event ids are an idea of 2025-03-26, events that are there for their id alone one of 2025-11-25.
            resumable: revision
                .filter(|revision| resumable && *revision >= LEGACY[1])
                .map(|agreed| agreed >= LEGACY[3]),
            retry: self.script.retry.map(|period| period.0),
        }
    }

    /// The answer to a request that the engine has answered at once and with one message, which is most of them: nobody
    /// has to wait for it then.
    fn at_once(
        &self,
        exchange: &Exchange,
        asked: &Asked,
        manner: Manner,
        mut reaction: Reaction,
    ) -> Result<Response<HttpBody>, Reaction> {
        let here = Target::Exchange(reaction.exchange);
        let lone = matches!(reaction.outputs.as_slice(), [
            Output { to, step: Step::Answer { .. }, shape: None },
            Output { to: also, step: Step::End, shape: None },
        ] if *to == here && *also == here);
        if !lone || asked.subject != Subject::Request || manner.respond == Respond::Sse {
            return Err(reaction);
        }
        let Output { step: Step::Answer { message, status }, .. } = reaction.outputs.swap_remove(0) else {
            return Err(reaction);
        };
        // A session that could not be initialized gets no id.
        let session = asked.session_header.as_deref().filter(|_| message.get("result").is_some());
        let response = one_object(&message, status, session);
        record_response(&self.recorder, exchange.connection, &response, Body::Json(message));
        Ok(response)
    }

    /// Decides what can be decided without the engine's last word.
    ///
    /// A notification is accepted at once, even if the server is not yet done with it: a client may hold back what the
    /// server waits for until its POST is accepted. A stream that is opened in any case is opened now. Only a script that
    /// words the envelope itself is waited for.
    fn decide_early(self: &Arc<Self>, core: &mut Core, id: ExchangeId) {
        if core.engine.words_envelope(id) {
            return;
        }
        let Some(responder) = core.responders.get_mut(&id) else { return };
        match responder.subject {
            Subject::OneWay => responder.answer_empty(StatusCode::ACCEPTED),
            Subject::Request if responder.manner.respond == Respond::Sse => {
                responder.open_stream(|| self.presence(id, Heard::Stream(0)));
            }
            _ => {}
        }
    }

    fn wake_later(self: &Arc<Self>, id: ExchangeId, after: Duration) {
        let hub = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            if let Some(hub) = hub.upgrade() {
                let mut core = hub.lock();
                core.awaited.come(id);
                core.engine.is_now(Instant::now());
                let outputs = core.engine.on_wake(id);
                hub.play(&mut core, outputs);
                hub.end_what_is_over(&mut core);
            }
        });
    }

    /// What tells when the client leaves: before the answer has begun, or while it streams.
    fn presence(self: &Arc<Self>, id: ExchangeId, heard: Heard) -> Presence {
        let hub = Arc::downgrade(self);
        Presence::new(move || {
            let Some(hub) = hub.upgrade() else { return };
            // Who has left is settled now; the lock may be held by whoever drops the stream, so the news is brought by a
            // task of its own.
            let (mark, busy) = (hub.stop.end_mark(), hub.stop.busy());
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(async move {
                    hub.left(id, heard, mark);
                    drop(busy);
                });
            }
        })
    }

    fn left(&self, id: ExchangeId, heard: Heard, mark: Mark) {
        let mut core = self.lock();
        let Some(responder) = core.responders.get_mut(&id) else { return };
        let current = match responder.stream() {
            Some(stream) => stream.is_heard() && heard == Heard::Stream(stream.attachment()),
            None => responder.is_undecided() && heard == Heard::Exchange,
        };
        if !current {
            return;
        }
        responder.leave(mark);
        if responder.is_done() {
            core.responders.remove(&id);
        }
        self.settle(&mut core, id);
        core.engine.on_closed(id);
    }

    /// Lets a GET's stream carry the session's own messages, beginning with those that have waited.
    pub(super) fn attach(self: &Arc<Self>, session: SessionKey, id: ExchangeId) {
        let mut core = self.lock();
        let open = core.responders.get_mut(&id).filter(|responder| responder.subject == Subject::Listen);
        if !open.is_some_and(|responder| responder.stream().is_some_and(|stream| stream.is_heard())) {
            return;
        }
        let Some(state) = core.roster.get_mut(session) else { return };
        for output in state.open(id) {
            self.play_aside(&mut core, session, output);
        }
    }
}

impl Core {
    /// Opens a session and gives it an id.
    pub(crate) fn open_session(&mut self) -> (SessionKey, String) {
        let key = self.engine.open_session();
        let id = self.engine.token();
        if let Some(idle) = self.roster.enter(key, id.clone()) {
            self.close_session(idle);
        }
        (key, id)
    }

    /// The session that stands for all clients of this revision, or for all that are about to agree on one.
    pub(super) fn shared_session(&mut self, revision: Option<&str>) -> SessionKey {
        if let Some(key) = self.shared.get(revision.unwrap_or_default()) {
            return *key;
        }
        let key = match revision {
            Some(revision) => self.engine.open_agreed_session(revision),
            None => self.engine.open_session(),
        };
        self.shared.insert(revision.unwrap_or_default().to_owned(), key);
        key
    }

    /// Whether a session has this stream, and can say what came after this event of it.
    pub(super) fn remembers(&mut self, session: SessionKey, stream: ExchangeId, after: u64) -> bool {
        self.responders
            .get_mut(&stream)
            .filter(|responder| responder.session == Some(session))
            .and_then(Responder::stream)
            .is_some_and(|stream| stream.remembers(after))
    }

    /// Ends a session with its own streams, and those of requests that nobody hears.
    pub(crate) fn close_session(&mut self, key: SessionKey) {
        self.engine.close_session(key);
        self.roster.strike(key);
        // A request that is still to be answered stays as it is until its client hangs up: a call that was given up must
        // not look answered because the session was ended after it.
        let ends = |responder: &mut Responder| {
            let waits = responder.subject == Subject::Request
                && (responder.is_undecided() || responder.stream().is_some_and(|stream| stream.is_heard()));
            responder.session == Some(key) && !waits
        };
        for (_, mut responder) in self.responders.extract_if(|_, responder| ends(responder)) {
            responder.end_stream();
            responder.answer_empty(StatusCode::NOT_FOUND);
        }
    }
}
