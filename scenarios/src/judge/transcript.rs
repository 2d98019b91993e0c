//! The one view of the evidence for all checks: messages, requests with their responses, connections and sessions.
//!
//! A [`Transcript`] is built once per case. It borrows the evidence, and its indexes make every check linear in the number
//! of frames, however many requests a subject sends.

use std::{
    cell::OnceCell,
    collections::{HashMap, HashSet},
};

use serde_json::Value;

pub(super) use ::evidence::{Body, ConnectionEvent, Direction, Frame};

use crate::{
    evidence::{Evidence, Outcome, is_authorization},
    model::{Revision, Transport, UnknownNames},
};

mod authorization;
pub(super) mod http;
mod message;
mod message_shapes;
mod session;

use self::http::is_rpc_post;
pub(super) use self::{
    authorization::{AuthorizationExchange, AuthorizationExchanges, AuthorizationRequest},
    message::{IdKey, Message},
    message_shapes::MessageShapes,
    session::{Session, first_frame_after, is_truncated},
};

/// The transcript of a case.
pub struct Transcript<'a> {
    /// The evidence.
    pub(super) evidence: &'a Evidence,
    /// The names in the scenario that no server has.
    pub(super) unknown: &'a UnknownNames,
    /// Every frame of MCP, in order.
    frames: Vec<&'a Frame>,
    /// Every message, in order.
    messages: Vec<Message<'a>>,
    connections: Vec<ConnectionFrames<'a>>,
    by_connection: HashMap<(&'a str, u64), usize>,
    endpoints: HashSet<(&'a str, &'a str)>,
    sessions: Vec<Session<'a>>,
    /// The frames in which a server's process exits, in order.
    exits: HashMap<&'a str, Vec<&'a Frame>>,
    requests: OnceCell<Requests<'a>>,
    shapes: OnceCell<MessageShapes>,
    authorization: OnceCell<AuthorizationExchanges<'a>>,
}

/// The requests of the client with their responses, and their positions by method.
struct Requests<'a> {
    all: Vec<RequestResponse<'a>>,
    by_method: HashMap<&'a str, Vec<usize>>,
}

/// The frames with one connection number, in order.
pub(super) struct ConnectionFrames<'a> {
    /// The server.
    pub(super) server: &'a str,
    /// The frames.
    pub(super) frames: Vec<&'a Frame>,
}

/// A request of the client and its response.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestResponse<'a> {
    /// The request.
    pub(super) request: Message<'a>,
    /// The response, if there is one.
    pub(super) response: Option<Message<'a>>,
}

impl<'a> Transcript<'a> {
    /// Indexes the evidence of a case.
    #[must_use]
    pub fn new(evidence: &'a Evidence, unknown: &'a UnknownNames) -> Self {
        let mut connections: Vec<ConnectionFrames<'a>> = Vec::new();
        let mut by_connection = HashMap::new();
        let mut endpoints = HashSet::new();
        let mut exits = HashMap::<_, Vec<&Frame>>::new();
        let frames: Vec<_> = evidence.frames.iter().filter(|frame| !is_authorization(frame)).collect();
        for frame in frames.iter().copied() {
            let server = frame.server.as_str();
            let position = *by_connection.entry((server, frame.connection)).or_insert_with(|| {
                connections.push(ConnectionFrames { server, frames: vec![] });
                connections.len() - 1
            });
            connections[position].frames.push(frame);
            if frame.body == Body::Event(ConnectionEvent::Exit) {
                exits.entry(server).or_default().push(frame);
            }
            // The paths to which JSON-RPC was posted are the MCP endpoints. Others are for authorization, for example.
            if let Some(path) = http::path(frame).filter(|_| is_rpc_post(frame)) {
                endpoints.insert((server, path));
            }
        }
        let sessions = session::sessions(evidence, &connections, &endpoints);
        Self {
            evidence,
            unknown,
            messages: frames.iter().copied().flat_map(Message::all_of).collect(),
            frames,
            connections,
            by_connection,
            endpoints,
            sessions,
            exits,
            requests: OnceCell::new(),
            shapes: OnceCell::new(),
            authorization: OnceCell::new(),
        }
    }

    /// The frames of the case by connection, in the order in which the connections began.
    pub(super) fn connections(&self) -> &[ConnectionFrames<'a>] {
        &self.connections
    }

    /// The frames on the connection of a frame.
    pub(super) fn connection_of(&self, frame: &Frame) -> Option<&ConnectionFrames<'a>> {
        let position = self.by_connection.get(&(frame.server.as_str(), frame.connection))?;
        Some(&self.connections[*position])
    }

    /// Every session, in the order in which they began.
    pub(super) fn sessions(&self) -> &[Session<'a>] {
        &self.sessions
    }

    /// Whether a frame was sent to an MCP endpoint.
    pub(super) fn is_to_endpoint(&self, frame: &Frame) -> bool {
        http::path(frame).is_some_and(|path| self.endpoints.contains(&(frame.server.as_str(), path)))
    }

    /// Every frame of MCP, in order.
    fn frames(&self) -> impl Iterator<Item = &'a Frame> {
        self.frames.iter().copied()
    }

    /// The exchanges of authorization.
    pub(super) fn authorization(&self) -> &AuthorizationExchanges<'a> {
        self.authorization.get_or_init(|| AuthorizationExchanges::new(self))
    }

    /// Every message, in order.
    pub(super) fn messages(&self) -> impl Iterator<Item = Message<'a>> {
        self.messages.iter().copied()
    }

    /// Every message after the frame `seq`, in order.
    pub(super) fn messages_after(&self, seq: u64) -> impl Iterator<Item = Message<'a>> {
        let from = self.messages.partition_point(|message| message.seq() <= seq);
        self.messages[from..].iter().copied()
    }

    /// Every message of the client, in order.
    pub(super) fn client_messages(&self) -> impl Iterator<Item = Message<'a>> {
        self.messages().filter(Message::by_client)
    }

    /// Every message of a server, in order.
    pub(super) fn server_messages(&self) -> impl Iterator<Item = Message<'a>> {
        self.messages().filter(|message| !message.by_client())
    }

    /// The frames of the client, in order.
    pub(super) fn client_frames(&self) -> impl Iterator<Item = &'a Frame> {
        self.frames().filter(|frame| frame.from_client())
    }

    /// The frames of the client by path, in order.
    pub(super) fn client_frames_by_path(&self) -> HashMap<&'a str, Vec<&'a Frame>> {
        let mut by_path = HashMap::<_, Vec<_>>::new();
        for frame in self.client_frames() {
            if let Some(path) = http::path(frame) {
                by_path.entry(path).or_default().push(frame);
            }
        }
        by_path
    }

    /// Every request of the client outside batches, in order, with the first later response with its id; over HTTP the
    /// one on the same connection, if there is one.
    pub(super) fn requests(&self) -> &[RequestResponse<'a>] {
        &self.indexed_requests().all
    }

    /// The messages of the server, compared with their shapes.
    pub(super) fn shapes(&self) -> &MessageShapes {
        self.shapes.get_or_init(|| MessageShapes::compare(self))
    }

    /// Whether the server surely sent a message after the client received the frame `seq`. Over HTTP two streams have no
    /// common order, but the exchange of a later request has only later messages.
    pub(super) fn is_sent_after(&self, message: &Message<'_>, seq: u64) -> bool {
        if self.evidence.transport != Transport::StreamableHttp {
            return message.seq() > seq;
        }
        let request = self.connection_of(message.frame).and_then(ConnectionFrames::request);
        request.is_some_and(|request| request.seq > seq)
    }

    /// The requests of one method, in order.
    pub(super) fn requests_of<'t>(&'t self, method: &str) -> impl Iterator<Item = &'t RequestResponse<'a>> {
        let Requests { all, by_method } = self.indexed_requests();
        by_method.get(method).into_iter().flatten().map(|position| &all[*position])
    }

    fn indexed_requests(&self) -> &Requests<'a> {
        self.requests.get_or_init(|| {
            let is_single = |message: &Message<'a>| message.json.is_object() && message.is_request();
            let single = || self.client_messages().filter(is_single);
            let asked_on: HashSet<(&str, u64, IdKey<'_>)> = single()
                .filter_map(|request| {
                    Some((request.frame.server.as_str(), request.frame.connection, request.id_key()?))
                })
                .collect();
            // Each connection to a server has ids of its own, which may be those of another server.
            let mut responses: HashMap<(&str, IdKey<'_>), Vec<Message<'a>>> = HashMap::new();
            let mut responses_on: HashMap<(&str, u64, IdKey<'_>), Vec<Message<'a>>> = HashMap::new();
            // A check reports an id of the wrong type; the others judge the response.
            let mut by_text: HashMap<(&str, String), Vec<Message<'a>>> = HashMap::new();
            for message in self.server_messages().filter(Message::may_be_response) {
                let Some(id) = message.id_key() else { continue };
                let server = message.frame.server.as_str();
                let on = (server, message.frame.connection, id);
                responses_on.entry(on).or_default().push(message);
                // It belongs to the request on its own connection, also if another client used the same id.
                if asked_on.contains(&on) {
                    continue;
                }
                responses.entry((server, id)).or_default().push(message);
                if let Some(text) = id_text(message.id()) {
                    by_text.entry((server, text)).or_default().push(message);
                }
            }
            let after = |responses: Option<&Vec<Message<'a>>>, seq: u64| {
                let responses = responses?;
                responses.get(responses.partition_point(|response| response.seq() <= seq)).copied()
            };
            let (mut all, mut by_method) = (Vec::new(), HashMap::<_, Vec<usize>>::new());
            for request in single().filter(|message| !matches!(message.frame.json(), Some(Value::Array(_)))) {
                let (Some(id), Some(method)) = (request.id_key(), request.method()) else { continue };
                let server = request.frame.server.as_str();
                let same = after(responses_on.get(&(server, request.frame.connection, id)), request.seq());
                let similar = || after(by_text.get(&(server, id_text(request.id())?)), request.seq());
                let response = same.or_else(|| after(responses.get(&(server, id)), request.seq())).or_else(similar);
                by_method.entry(method).or_default().push(all.len());
                all.push(RequestResponse { request, response });
            }
            Requests { all, by_method }
        })
    }

    /// Every item of a list in the pages that were read, with the frame that carried it.
    pub(super) fn items<'t>(&'t self, method: &str, key: &'t str) -> impl Iterator<Item = (u64, &'a Value)> {
        self.requests_of(method).filter_map(|one| Some((one.response?.seq(), one.result()?))).flat_map(
            move |(seq, result)| {
                let items = result.get(key).and_then(Value::as_array).into_iter().flatten();
                items.map(move |item| (seq, item))
            },
        )
    }

    /// The HTTP response to a request: the first later frame of the server on its connection.
    pub(super) fn reply(&self, request: &Frame) -> Option<&'a Frame> {
        let frames = &self.connection_of(request)?.frames;
        let later = &frames[frames.partition_point(|frame| frame.seq <= request.seq)..];
        later.iter().copied().find(|frame| !frame.from_client())
    }

    /// The identity of the server from its handshake: newest revision of each era, capabilities, session.
    pub(super) fn server_identity(&self) -> Option<&'a Value> {
        let handshake = self.evidence.steps.iter().find(|outcome| outcome.step.is_none())?;
        match &handshake.outcome {
            Outcome::Value(value) => Some(value),
            _ => None,
        }
    }

    /// Whether the server declares a capability, for example `resources.subscribe`; `None` if its capabilities are unknown.
    pub(super) fn declares(&self, capability: &str) -> Option<bool> {
        let capabilities = self.server_identity()?.get("capabilities")?;
        let declared = capability.split('.').try_fold(capabilities, |value, name| value.get(name));
        Some(declared.is_some_and(|value| value.is_object() || *value == Value::Bool(true)))
    }

    /// Whether the server supports revisions of both eras, or may do so.
    pub(super) fn may_be_dual_era(&self) -> bool {
        let known = self.server_identity().and_then(|identity| identity.get("has_handshake")?.as_bool());
        known.unwrap_or_else(|| self.may_support(|revision| !revision.is_modern()))
    }

    /// Whether the newest revision of an era that the server supports is of this kind, or may be because it was not asked for all.
    pub(super) fn may_support(&self, is_wanted: impl Fn(Revision) -> bool) -> bool {
        let revisions =
            self.server_identity().and_then(|identity| identity.get("newest_revisions")).and_then(Value::as_array);
        revisions.is_none_or(|revisions| {
            let known = |revision: &Value| revision.as_str().and_then(|text| text.parse::<Revision>().ok());
            revisions.iter().any(|revision| known(revision).is_none_or(&is_wanted))
        })
    }

    /// Whether the case ran over Streamable HTTP.
    pub(super) fn is_http(&self) -> bool {
        self.evidence.transport == Transport::StreamableHttp
    }

    /// The first frame of the client that is not a well-formed message. A response may lack an id after it, and a server
    /// may be unable to continue.
    pub(super) fn first_malformed(&self) -> Option<&'a Frame> {
        self.client_frames().find(|frame| match &frame.body {
            // Many servers of newer revisions reject a batch, with an error that has no id.
            Body::Text(_) => true,
            Body::Json(message) => message.is_array() || !is_well_formed(message),
            Body::Event(_) => false,
        })
    }

    /// Number of the first malformed message of the client, whose responses say nothing about the others.
    pub(super) fn malformed_from(&self) -> u64 {
        self.first_malformed().map_or(u64::MAX, |frame| frame.seq)
    }

    /// The capabilities that the client declared in `initialize`.
    pub(super) fn client_capabilities(&self) -> Option<&'a Value> {
        self.client_messages().find(|message| message.is("initialize"))?.param("capabilities")
    }

    /// The values of the steps that have one.
    pub(super) fn step_values(&self) -> impl Iterator<Item = &'a Value> + use<'a> {
        self.evidence.steps.iter().filter_map(|step| match &step.outcome {
            Outcome::Value(value) => Some(value),
            Outcome::Error(_) | Outcome::Skipped(_) => None,
        })
    }

    /// The members with these names of the first step value that has them all as numbers.
    pub(super) fn step_numbers<const N: usize>(&self, names: [&str; N]) -> Option<[u64; N]> {
        self.step_values().find_map(|value| {
            let numbers: Vec<u64> = names.iter().map_while(|name| value.get(name)?.as_u64()).collect();
            numbers.try_into().ok()
        })
    }

    /// Whether the workbench killed the subject on purpose.
    pub(super) fn was_killed_on_purpose(&self) -> bool {
        self.evidence.process.as_ref().is_some_and(|process| process.killed_on_purpose)
    }

    /// The frames in which a server's process exits, in order.
    pub(super) fn exits(&self, server: &str) -> &[&'a Frame] {
        self.exits.get(server).map_or(&[], Vec::as_slice)
    }
}

impl<'a> RequestResponse<'a> {
    /// The result of the response.
    pub(super) fn result(&self) -> Option<&'a Value> {
        self.response?.result()
    }

    /// The error of the response.
    pub(super) fn error(&self) -> Option<&'a Value> {
        self.response?.error()
    }

    /// The code of the error.
    pub(super) fn code(&self) -> Option<i64> {
        self.error()?.get("code")?.as_i64()
    }

    /// The HTTP status of the response.
    pub(super) fn status(&self) -> Option<u16> {
        http::status(self.response?.frame)
    }

    /// A parameter of the request.
    pub(super) fn param(&self, name: &str) -> Option<&'a Value> {
        self.request.param(name)
    }

    /// The frame of the response, or of the request if there is none.
    pub(super) fn last_frame(&self) -> u64 {
        self.response.unwrap_or(self.request).seq()
    }

    /// The frames of both.
    pub(super) fn frames(&self) -> Vec<u64> {
        [Some(self.request.seq()), self.response.map(|response| response.seq())].into_iter().flatten().collect()
    }
}

/// Whether a value is a request, a notification or a response of the specification.
fn is_well_formed(message: &Value) -> bool {
    let member = |name: &str| message.get(name);
    let is_id = |id: &Value| id.is_string() || id.is_i64() || id.is_u64();
    if member("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return false;
    }
    match member("method") {
        Some(method) => {
            method.is_string() && member("id").is_none_or(is_id) && member("params").is_none_or(Value::is_object)
        }
        None => member("id").is_some_and(is_id) && (member("result").is_some() != member("error").is_some()),
    }
}

/// An id as text: `1` and `"1"` are the same.
pub(super) fn id_text(id: Option<&Value>) -> Option<String> {
    match id? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Counts accesses to messages, so that a test can compare the work of checks without a clock.
#[cfg(test)]
fn count_work() {
    WORK.with(|work| work.set(work.get() + 1));
}

#[cfg(not(test))]
const fn count_work() {}

#[cfg(test)]
thread_local! {
    pub(super) static WORK: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}
