//! State of a Streamable HTTP server: open responses and sessions.

mod execute;

use std::{collections::HashMap, sync::Arc};

use axum::body::Body as HttpBody;
use http::{Response, StatusCode};

use super::{
    responder::{HttpRequestInfo, HttpRequestKind, Responder, ResponseMode, one_object},
    session_table::SessionTable,
};
use crate::{
    conductor::{self, Conductor},
    engine::{DispatchId, DispatchOutput, Engine, Era, Output, RevisionRules, SessionKey, Step, Target},
    listen::{
        http_exchange::HttpExchange,
        response::{Aborted, DisconnectGuard, HttpResult, record_response},
        serving::ShutdownHandle,
    },
    script::{HttpScript, Respond, Validation},
};
use evidence::{Body, ConnectionEvent, Recorder};

/// The engine of a Streamable HTTP server with its open responses and sessions.
pub(crate) type ServerState = Conductor<HttpSink>;
pub(super) type Core = conductor::Core<HttpSink>;

/// The fixed part of a Streamable HTTP server.
pub(crate) struct HttpSink {
    recorder: Recorder,
    stop: ShutdownHandle,
    script: HttpScript,
    /// The supported eras never change, so this needs no lock.
    has_sessions: bool,
}

/// Open responses and sessions of a Streamable HTTP server.
pub(crate) struct HttpState {
    pub(super) responders: HashMap<DispatchId, Responder>,
    pub(super) sessions: SessionTable,
    /// One session per revision for all clients, if the server is stateless.
    shared: HashMap<String, SessionKey>,
}

/// The connection that a client can close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenResponse {
    /// A request without a response so far.
    Pending,
    /// A stream on its n-th connection after the first.
    Stream(u64),
}

impl ServerState {
    pub(super) fn start(engine: Engine, recorder: Recorder, stop: ShutdownHandle, max_sessions: usize) -> Self {
        let script = engine.http().clone();
        let has_sessions = engine.support().has_era(Era::Legacy) && !script.stateless;
        let sessions = SessionTable::new(max_sessions);
        let state = HttpState { responders: HashMap::new(), sessions, shared: HashMap::new() };
        Self::new(engine, HttpSink { recorder, stop, script, has_sessions }, state)
    }

    /// Whether the server has sessions, and with them GET and DELETE.
    pub(crate) fn has_sessions(&self) -> bool {
        self.sink.has_sessions
    }

    /// The handling of invalid requests.
    pub(super) fn validation(&self) -> &Validation {
        &self.sink.script.validation
    }

    /// Whether calls may take the fast path: frames are not recorded, and responses are not streamed.
    pub(super) fn allows_fast_path(&self) -> bool {
        !self.sink.recorder.is_enabled() && self.sink.script.respond.unwrap_or_default() != Respond::Sse
    }

    /// Handles a message, and waits for its response.
    pub(super) async fn ask(
        self: &Arc<Self>,
        exchange: &HttpExchange,
        asked: HttpRequestInfo,
        react: impl FnOnce(&mut Engine) -> DispatchOutput,
    ) -> (DispatchId, HttpResult) {
        let (id, verdict, presence) = {
            let mut core = self.lock();
            let output = core.input(react);
            let mode = self.mode(&core, &asked);
            let id = output.dispatch;
            let DispatchOutput { outputs, .. } = match self.at_once(exchange, &asked, mode, output) {
                Ok(response) => return (id, Ok(response)),
                Err(output) => output,
            };
            let (responder, verdict) = Responder::new(id, exchange, asked, self.sink.recorder.clone(), mode);
            core.state.responders.insert(id, responder);
            self.execute(&mut core, (), outputs);
            self.decide_early(&mut core, id);
            self.close_finished_streams(&mut core);
            (id, verdict, self.presence(id, OpenResponse::Pending))
        };
        // A responder dropped without a response closes the connection.
        let verdict = verdict.await.unwrap_or(Err(Aborted));
        presence.dismiss();
        (id, verdict)
    }

    /// The form of the response.
    fn mode(&self, core: &Core, asked: &HttpRequestInfo) -> ResponseMode {
        let revision = asked.session.and_then(|key| core.engine.negotiated_revision(key));
        let resumable = self.sink.has_sessions && self.sink.script.resumable.unwrap_or(true);
        ResponseMode {
            respond: self.sink.script.respond.unwrap_or_default(),
            resumable: revision
                .map(RevisionRules::named)
                .filter(|rules| resumable && rules.resumption)
                .map(|rules| rules.priming_events),
            retry: self.sink.script.retry.map(|period| period.0),
            keep_open: self.sink.script.keep_streams_open,
        }
    }

    /// The response to a request that the engine responds to at once and with one message. Most requests are of this
    /// kind, and need no waiting task.
    fn at_once(
        &self,
        exchange: &HttpExchange,
        asked: &HttpRequestInfo,
        mode: ResponseMode,
        mut output: DispatchOutput,
    ) -> Result<Response<HttpBody>, DispatchOutput> {
        let here = Target::Dispatch(output.dispatch);
        let lone = matches!(output.outputs.as_slice(), [
            Output { to, step: Step::Response { .. }, shape: None },
            Output { to: also, step: Step::End, shape: None },
        ] if *to == here && *also == here);
        if !lone || asked.kind != HttpRequestKind::Request || mode.respond == Respond::Sse {
            return Err(output);
        }
        let Output { step: Step::Response { message, status }, .. } = output.outputs.swap_remove(0) else {
            return Err(output);
        };
        // A session that could not be initialized gets no id.
        let session = asked.session_header.as_deref().filter(|_| message.get("result").is_some());
        let response = one_object(&message, status, session);
        record_response(&self.sink.recorder, exchange.connection, &response, Body::json(message));
        Ok(response)
    }

    /// Decides what does not depend on later outputs of the engine.
    ///
    /// A notification is accepted at once, even if its dispatch is pending: a client may delay the messages that the
    /// server waits for until its POST is accepted. A stream that is opened in any case is opened now. If the script
    /// decides about the envelope, the decision waits for it.
    fn decide_early(self: &Arc<Self>, core: &mut Core, id: DispatchId) {
        if core.engine.decides_envelope(id) {
            return;
        }
        let Some(responder) = core.state.responders.get_mut(&id) else { return };
        match responder.kind {
            HttpRequestKind::OneWay => responder.respond_empty(StatusCode::ACCEPTED),
            HttpRequestKind::Request if responder.mode.respond == Respond::Sse => {
                responder.open_stream(|| self.presence(id, OpenResponse::Stream(0)));
            }
            _ => {}
        }
    }

    /// Detects that the client disconnects, before the response or during a stream.
    fn presence(self: &Arc<Self>, id: DispatchId, heard: OpenResponse) -> DisconnectGuard {
        let server = Arc::downgrade(self);
        DisconnectGuard::new(move || {
            let Some(server) = server.upgrade() else { return };
            // The lock may be held where the stream is dropped, so a task updates the state.
            let (mark, busy) = (server.sink.stop.close_event(), server.sink.stop.busy());
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(async move {
                    server.left(id, heard, mark);
                    drop(busy);
                });
            }
        })
    }

    fn left(&self, id: DispatchId, heard: OpenResponse, mark: ConnectionEvent) {
        let mut core = self.lock();
        let Some(responder) = core.state.responders.get_mut(&id) else { return };
        let current = match responder.stream() {
            Some(stream) => stream.is_connected() && heard == OpenResponse::Stream(stream.attachment()),
            None => responder.is_undecided() && heard == OpenResponse::Pending,
        };
        if !current {
            return;
        }
        responder.leave(mark);
        if responder.is_done() {
            core.state.responders.remove(&id);
        }
        self.settle(&mut core, id);
        core.engine.on_closed(id);
    }

    /// Sends the session's own messages on the stream of a GET, beginning with the stored ones.
    pub(super) fn attach(self: &Arc<Self>, session: SessionKey, id: DispatchId) {
        let mut core = self.lock();
        let open = core.state.responders.get_mut(&id).filter(|responder| responder.kind == HttpRequestKind::Listen);
        if !open.is_some_and(|responder| responder.stream().is_some_and(|stream| stream.is_connected())) {
            return;
        }
        let Some(state) = core.state.sessions.get_mut(session) else { return };
        for output in state.open(id) {
            self.execute_out_of_band(&mut core, session, output);
        }
    }
}

impl Core {
    /// Opens a session and gives it an id.
    pub(crate) fn open_session(&mut self) -> (SessionKey, String) {
        let key = self.engine.open_session();
        // Long, with letters of both cases, and characters that URLs escape and that separate the values of other headers,
        // as clients must return it unchanged.
        let [first, second, third] = [(); 3].map(|()| self.engine.token());
        let id = format!("{}+{second}/a,b;c={third}==", first.to_uppercase());
        if let Some(idle) = self.state.sessions.enter(key, id.clone()) {
            self.close_session(idle);
        }
        (key, id)
    }

    /// The shared session of all clients of this revision, or of all clients before `initialize`.
    pub(super) fn shared_session(&mut self, revision: Option<&str>) -> SessionKey {
        if let Some(key) = self.state.shared.get(revision.unwrap_or_default()) {
            return *key;
        }
        let key = match revision {
            Some(revision) => self.engine.open_negotiated_session(revision),
            None => self.engine.open_session(),
        };
        self.state.shared.insert(revision.unwrap_or_default().to_owned(), key);
        key
    }

    /// Whether a session has this stream with all events after this one.
    pub(super) fn remembers(&mut self, session: SessionKey, stream: DispatchId, after: u64) -> bool {
        self.state
            .responders
            .get_mut(&stream)
            .filter(|responder| responder.session == Some(session))
            .and_then(Responder::stream)
            .is_some_and(|stream| stream.remembers(after))
    }

    /// Closes a session with its streams. Requests without a response stay open until their client disconnects.
    pub(crate) fn close_session(&mut self, key: SessionKey) {
        self.engine.close_session(key);
        self.state.sessions.strike(key);
        // A pending request stays until its client disconnects: a canceled call must not appear to have a response
        // because its session ended later.
        let ends = |responder: &mut Responder| {
            let waits = responder.kind == HttpRequestKind::Request
                && (responder.is_undecided() || responder.stream().is_some_and(|stream| stream.is_connected()));
            responder.session == Some(key) && !waits
        };
        for (_, mut responder) in self.state.responders.extract_if(|_, responder| ends(responder)) {
            responder.end_stream();
            responder.respond_empty(StatusCode::NOT_FOUND);
        }
    }
}
