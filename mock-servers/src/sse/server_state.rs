//! State of an HTTP+SSE server. A session exists as long as its stream.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use axum::body::Body as HttpBody;
use http::{Response, StatusCode};
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::stream::Stream;
use crate::{
    conductor::{self, Conductor, Sink},
    engine::{DispatchId, DispatchOutput, Engine, Origin, Output, SessionKey, Step, Target},
    listen::{
        http_exchange::HttpExchange,
        protection::Protection,
        response::{Aborted, DisconnectGuard, HttpResult, empty, scripted, set_reason},
        serving::ShutdownHandle,
    },
    script::EndpointForm,
};
use evidence::{Body, ConnectionEvent, FrameParts, Recorder};

/// The query of the URL for messages, before the session. Its escape must arrive as it was announced: decoded, it is
/// another character.
const SESSION: &str = "session=%2B";

/// The engine of an HTTP+SSE server with its streams.
pub(super) type ServerState = Conductor<SseSink>;
type Core = conductor::Core<SseSink>;

/// The fixed part of an HTTP+SSE server.
pub(super) struct SseSink {
    recorder: Recorder,
    stop: ShutdownHandle,
    /// The path for posted messages.
    messages: String,
    protection: Protection,
}

/// The streams of an HTTP+SSE server.
#[derive(Default)]
pub(super) struct SseState {
    streams: HashMap<SessionKey, Stream>,
    by_id: HashMap<String, SessionKey>,
    /// POSTs whose response is not decided yet.
    posts: HashMap<DispatchId, oneshot::Sender<HttpResult>>,
}

impl ServerState {
    pub(super) fn start(
        engine: Engine,
        recorder: Recorder,
        stop: ShutdownHandle,
        messages: String,
        protection: Protection,
    ) -> Self {
        Self::new(engine, SseSink { recorder, stop, messages, protection }, SseState::default())
    }

    /// Responds to a GET of the stream.
    pub(super) async fn get(self: &Arc<Self>, exchange: &HttpExchange) -> HttpResult {
        exchange.receive_unread();
        match self.sink.protection.refuses(exchange, None) {
            Some(refusal) => Ok(refusal),
            None => self.open(exchange).await,
        }
    }

    /// The URI for messages, without its query.
    fn messages(&self, form: EndpointForm, exchange: &HttpExchange) -> String {
        let path = self.sink.messages.as_str();
        match form {
            EndpointForm::Path => path.to_owned(),
            EndpointForm::Uri => format!("http://{}{path}", exchange.header("host").unwrap_or("localhost")),
            EndpointForm::Relative => {
                let folder = exchange.path().rfind('/').map_or("", |slash| &exchange.path()[..=slash]);
                path.strip_prefix(folder).unwrap_or(path).to_owned()
            }
        }
    }

    /// Opens a stream and with it a session, unless the script responds to the GET in another way.
    async fn open(self: &Arc<Self>, exchange: &HttpExchange) -> HttpResult {
        let host = exchange.header("host").map(str::to_owned);
        let (key, verdict, presence) = {
            let mut core = self.lock();
            let key = core.engine.open_session();
            let id = core.engine.token();
            let messages = self.messages(core.engine.http().endpoint.unwrap_or_default(), exchange);
            let first = format!("{messages}?{SESSION}{id}");
            let (stream, verdict) = Stream::wanted(exchange, first, self.sink.recorder.clone());
            core.state.streams.insert(key, stream);
            core.state.by_id.insert(id, key);
            // The engine receives a GET as a message of that method, so that scripts can have rules for it.
            let message = json!({ "jsonrpc": "2.0", "method": "GET" });
            let output = core.input(|engine| engine.on_message(&Origin { host, ..Origin::session(key) }, &message));
            self.execute(&mut core, key, output.outputs);
            self.close_finished_streams(&mut core);
            (key, verdict, self.presence(key))
        };
        // A stream dropped before it opened closes the connection.
        let verdict = verdict.await.unwrap_or(Err(Aborted));
        // From here on the body detects a disconnected client. The session ends with the stream.
        if self.lock().state.streams.contains_key(&key) {
            presence.dismiss();
        }
        verdict
    }

    /// Receives a message. Its response is sent on the stream.
    pub(super) async fn post(self: &Arc<Self>, exchange: &HttpExchange, body: Incoming) -> HttpResult {
        let bytes = match exchange.read(body).await {
            Ok(bytes) => bytes,
            Err(rejection) => return Ok(rejection),
        };
        match self.take_in(exchange, &bytes) {
            Taken::Answered(response) => Ok(response),
            Taken::Waiting(verdict) => verdict.await.unwrap_or(Err(Aborted)).map(|response| exchange.respond(response)),
        }
    }

    fn take_in(self: &Arc<Self>, exchange: &HttpExchange, bytes: &[u8]) -> Taken {
        let message = serde_json::from_slice::<Value>(bytes).ok();
        let text = || Body::Text(String::from_utf8_lossy(bytes).into_owned());
        exchange.receive(|| message.clone().map_or_else(text, Body::json));
        if let Some(refusal) = self.sink.protection.refuses(exchange, message.as_ref()) {
            return Taken::Answered(refusal);
        }
        let mut core = self.lock();
        let id = exchange.query().and_then(|query| query.strip_prefix(SESSION));
        let Some(key) = id.and_then(|id| core.state.by_id.get(id).copied()) else {
            return Taken::Answered(
                exchange.refuse(StatusCode::NOT_FOUND, "the session of the URL is unknown or closed"),
            );
        };
        let Some(message) = message else {
            return Taken::Answered(exchange.refuse(StatusCode::BAD_REQUEST, "the body is not JSON"));
        };
        let host = exchange.header("host").map(str::to_owned);
        let origin = Origin { host, ..Origin::session(key) };
        let DispatchOutput { dispatch: id, outputs } = core.input(|engine| engine.on_message(&origin, &message));
        // A status of the script is the response to the POST.
        let word = scripted_response(&outputs);
        let taken = if word.is_none() && core.engine.decides_envelope(id) {
            let (sender, verdict) = oneshot::channel();
            core.state.posts.insert(id, sender);
            Taken::Waiting(verdict)
        } else {
            // The response to the POST is recorded first: a client must not see the message on the stream before it.
            Taken::Answered(exchange.respond(word.unwrap_or_else(|| empty(StatusCode::ACCEPTED))))
        };
        self.execute(&mut core, key, outputs);
        self.close_finished_streams(&mut core);
        taken
    }

    /// During a shutdown: ends all streams without further messages.
    fn close_finished_streams(&self, core: &mut Core) {
        if !(core.pending.is_ending() && self.sink.stop.is_closing()) {
            return;
        }
        let pending: HashSet<_> = core.pending.before_deadline(&core.engine).map(|(_, session)| session).collect();
        for (_, stream) in core.state.streams.extract_if(|key, _| !pending.contains(key)) {
            self.sink.recorder.record(FrameParts::event(stream.connection(), ConnectionEvent::ClosedByServer));
        }
    }

    /// The guard that ends the session when the client closes its stream.
    fn presence(self: &Arc<Self>, key: SessionKey) -> DisconnectGuard {
        let server = Arc::downgrade(self);
        DisconnectGuard::new(move || {
            let Some(server) = server.upgrade() else { return };
            // The lock may be held where the stream is dropped, so a task updates the state.
            let (mark, busy) = (server.sink.stop.close_event(), server.sink.stop.busy());
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(async move {
                    let mut core = server.lock();
                    if let Some(stream) = core.state.streams.remove(&key) {
                        stream.leave(mark);
                    }
                    core.state.by_id.retain(|_, session| *session != key);
                    core.engine.close_session(key);
                    drop(busy);
                });
            }
        })
    }
}

/// State of a POST.
enum Taken {
    Answered(Response<HttpBody>),
    /// The script still decides about its response.
    Waiting(oneshot::Receiver<HttpResult>),
}

/// The response to a POST that the script decides.
fn scripted_response(outputs: &[Output]) -> Option<Response<HttpBody>> {
    outputs.iter().find_map(|output| match &output.step {
        Step::Status(status) => Some(scripted(status)),
        Step::ExpireSession => {
            let mut response = empty(StatusCode::NOT_FOUND);
            set_reason(&mut response, "the script ended the session");
            Some(response)
        }
        _ => None,
    })
}

impl Sink for SseSink {
    type State = SseState;
    /// The session whose stream carries the outputs.
    type Route = SessionKey;

    /// Responds to the POSTs that waited for these outputs, or for the dispatch that led to them.
    fn prepare(core: &mut Core, woken: Option<DispatchId>, outputs: &[Output]) {
        let named = outputs.iter().filter_map(|output| match output.to {
            Target::Dispatch(id) => Some(id),
            Target::Session(_) => None,
        });
        for id in woken.into_iter().chain(named) {
            let response = scripted_response(outputs);
            if (response.is_some() || !core.engine.decides_envelope(id))
                && let Some(post) = core.state.posts.remove(&id)
                && post.send(Ok(response.unwrap_or_else(|| empty(StatusCode::ACCEPTED)))).is_err()
            {
                tracing::debug!("the client disconnected before the response");
            }
        }
    }

    fn execute(server: &Arc<ServerState>, core: &mut Core, session: SessionKey, output: Output) {
        let to = match output.to {
            Target::Session(other) => other,
            Target::Dispatch(_) => session,
        };
        if let Step::Exit(exit) = output.step {
            let connection = core.state.streams.get(&to).map_or(0, Stream::connection);
            server.sink.recorder.record(FrameParts::event(connection, ConnectionEvent::Exit));
            server.sink.stop.exit(exit);
        } else if let Some(stream) = core.state.streams.get_mut(&to)
            && stream.execute(output.step, output.shape.as_deref(), || server.presence(to))
        {
            core.state.streams.remove(&to);
        }
    }

    fn after_wake(server: &Arc<ServerState>, core: &mut Core) {
        server.close_finished_streams(core);
    }

    fn begin_shutdown(server: &Arc<ServerState>, core: &mut Core) {
        server.close_finished_streams(core);
    }
}
