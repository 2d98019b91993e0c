//! Sessions: the frames of one process run over stdio, of one stream over HTTP+SSE, and of one `initialize` over Streamable
//! HTTP. Messages of a client before any handshake form a session of their own.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{
    Body, ConnectionEvent, ConnectionFrames, Frame, Message,
    http::{SESSION_HEADER, header, method, path},
    message::IdKey,
};
use crate::{
    evidence::Evidence,
    model::{Revision, Transport},
};

/// Positions of messages in a session, by id, in order.
type ById<'a> = HashMap<IdKey<'a>, Vec<usize>>;

/// Frames that belong together, in order, with indexes of their messages.
#[derive(Debug, Default)]
pub(in crate::judge) struct Session<'a> {
    /// The server.
    pub(in crate::judge) server: &'a str,
    /// The session id that the server assigned, over Streamable HTTP.
    pub(in crate::judge) id: Option<&'a str>,
    /// The frames.
    pub(in crate::judge) frames: Vec<&'a Frame>,
    messages: Vec<Message<'a>>,
    /// Well-formed responses of the server.
    responses: ById<'a>,
    /// The same by connection, since one id may be in use on many HTTP exchanges.
    responses_on: HashMap<(u64, IdKey<'a>), Vec<usize>>,
    requests: ById<'a>,
    cancels: ById<'a>,
    /// Events that end a connection or the process, and the first two kinds by connection.
    ends: Vec<&'a Frame>,
    closes: HashMap<u64, Vec<&'a Frame>>,
    /// Frames of the server that the recorder truncated.
    truncated: Vec<&'a Frame>,
    handshake: Option<Handshake<'a>>,
    has_initialize: bool,
}

/// An `initialize` request and its result.
#[derive(Debug, Clone, Copy)]
pub(in crate::judge) struct Handshake<'a> {
    /// The request.
    pub(in crate::judge) request: Message<'a>,
    /// The response, which has a result.
    pub(in crate::judge) answer: Message<'a>,
}

impl<'a> Handshake<'a> {
    /// The revision in the result, if it exists.
    pub(in crate::judge) fn revision(&self) -> Option<Revision> {
        self.answer.result()?.get("protocolVersion")?.as_str()?.parse().ok()
    }
}

impl<'a> Session<'a> {
    /// Sorts and indexes the frames.
    fn index(mut self) -> Self {
        self.frames.sort_by_key(|frame| frame.seq);
        self.messages = self.frames.iter().copied().flat_map(Message::all_of).collect();
        for (position, message) in self.messages.iter().enumerate() {
            if !message.by_client() {
                if let Some(id) = message.id_key().filter(|_| message.is_sound_response()) {
                    self.responses.entry(id).or_default().push(position);
                    self.responses_on.entry((message.frame.connection, id)).or_default().push(position);
                }
                continue;
            }
            self.has_initialize |= message.is("initialize");
            if let Some(id) = message.id_key().filter(|_| message.is_request()) {
                self.requests.entry(id).or_default().push(position);
            }
            if let Some(id) = message.cancels() {
                self.cancels.entry(IdKey::new(id)).or_default().push(position);
            }
        }
        for frame in &self.frames {
            match &frame.body {
                Body::Event(ConnectionEvent::ClosedByPeer | ConnectionEvent::ClosedByServer) => {
                    self.ends.push(frame);
                    self.closes.entry(frame.connection).or_default().push(frame);
                }
                Body::Event(ConnectionEvent::Sigterm | ConnectionEvent::Exit) => self.ends.push(frame),
                Body::Text(text) if !frame.from_client() && is_truncated(text) => self.truncated.push(frame),
                _ => {}
            }
        }
        let mut initialize = self.client_messages().filter(|one| one.is("initialize") && one.is_request());
        let handshake = initialize.find_map(|request| {
            let answer = self.answer(&request).filter(|answer| answer.result().is_some())?;
            Some(Handshake { request, answer })
        });
        drop(initialize);
        self.handshake = handshake;
        self
    }

    /// The messages, in order.
    pub(in crate::judge) fn messages(&self) -> impl Iterator<Item = Message<'a>> {
        self.messages.iter().copied()
    }

    /// The messages of the client, in order.
    pub(in crate::judge) fn client_messages(&self) -> impl Iterator<Item = Message<'a>> {
        self.messages().filter(Message::by_client)
    }

    /// The messages after a frame, in order.
    pub(in crate::judge) fn messages_after(&self, seq: u64) -> impl Iterator<Item = Message<'a>> {
        self.messages[self.messages.partition_point(|message| message.seq() <= seq)..].iter().copied()
    }

    /// The first `initialize` with a result.
    pub(in crate::judge) fn handshake(&self) -> Option<Handshake<'a>> {
        self.handshake
    }

    /// Whether the client sent an `initialize`.
    pub(in crate::judge) fn has_initialize(&self) -> bool {
        self.has_initialize
    }

    /// The first well-formed response to a request of the client. It may arrive on any stream of a session (2025-11-25,
    /// basic/transports#resumability-and-redelivery), but without sessions only on the exchange of the request
    /// (2026-07-28, basic/transports/streamable-http#receiving-messages).
    pub(in crate::judge) fn answer(&self, request: &Message<'a>) -> Option<Message<'a>> {
        let id = request.id_key()?;
        let answers = if request.frame.http.is_some() && request.is_modern() {
            self.responses_on.get(&(request.frame.connection, id))
        } else {
            self.responses.get(&id)
        };
        self.first_after(answers?, request.seq())
    }

    /// The client's requests with this id, in order.
    pub(in crate::judge) fn requests_with(&self, id: IdKey<'a>) -> impl DoubleEndedIterator<Item = Message<'a>> {
        self.requests.get(&id).into_iter().flatten().map(|position| self.messages[*position])
    }

    /// The first cancellation of this id after a frame.
    pub(in crate::judge) fn cancel_after(&self, id: IdKey<'a>, seq: u64) -> Option<Message<'a>> {
        self.first_after(self.cancels.get(&id)?, seq)
    }

    fn first_after(&self, positions: &[usize], seq: u64) -> Option<Message<'a>> {
        let next = positions.partition_point(|position| self.messages[*position].seq() <= seq);
        positions.get(next).map(|position| self.messages[*position])
    }

    /// The first event after a frame that ends the connection or the process.
    pub(in crate::judge) fn end_after(&self, seq: u64) -> Option<&'a Frame> {
        first_frame_after(&self.ends, seq)
    }

    /// The events that close a connection, in order.
    pub(in crate::judge) fn closes_of(&self, connection: u64) -> &[&'a Frame] {
        self.closes.get(&connection).map_or(&[], Vec::as_slice)
    }

    /// The first truncated frame of the server after a frame.
    pub(in crate::judge) fn truncated_after(&self, seq: u64) -> Option<&'a Frame> {
        first_frame_after(&self.truncated, seq)
    }
}

/// The first frame with a higher number, of frames in order.
pub(in crate::judge) fn first_frame_after<'a>(frames: &[&'a Frame], seq: u64) -> Option<&'a Frame> {
    frames.get(frames.partition_point(|frame| frame.seq <= seq)).copied()
}

/// Whether the recorder truncated this text, so that it cannot be judged.
pub(in crate::judge) fn is_truncated(text: &str) -> bool {
    text.ends_with(" bytes more]")
}

/// Groups connections into sessions, in the order in which they began.
pub(super) fn sessions<'a>(
    evidence: &Evidence,
    connections: &[ConnectionFrames<'a>],
    endpoints: &HashSet<(&'a str, &'a str)>,
) -> Vec<Session<'a>> {
    let sessions = match evidence.transport {
        Transport::Stdio => connections
            .iter()
            .map(|one| Session { server: one.server, frames: one.frames.clone(), ..Session::default() })
            .collect(),
        Transport::HttpSse | Transport::StreamableHttp => Grouping::new(endpoints).group(connections),
    };
    let mut sessions: Vec<Session<'a>> = sessions.into_iter().map(Session::index).collect();
    sessions.sort_by_key(|session| session.frames.first().map(|frame| frame.seq));
    sessions
}

/// Assigns HTTP exchanges to sessions.
struct Grouping<'a, 'e> {
    endpoints: &'e HashSet<(&'a str, &'a str)>,
    sessions: Vec<Session<'a>>,
    by_id: BTreeMap<(&'a str, &'a str), usize>,
    /// The message endpoints of HTTP+SSE streams by server, newest last. There is one per stream of the case.
    by_stream: BTreeMap<&'a str, Vec<(&'a str, usize)>>,
    /// Endpoints that were looked up before, by server and the path of the POST.
    known_streams: HashMap<(&'a str, &'a str), usize>,
    latest: BTreeMap<&'a str, usize>,
}

impl<'a, 'e> Grouping<'a, 'e> {
    fn new(endpoints: &'e HashSet<(&'a str, &'a str)>) -> Self {
        Self {
            endpoints,
            sessions: vec![],
            by_id: BTreeMap::new(),
            by_stream: BTreeMap::new(),
            known_streams: HashMap::new(),
            latest: BTreeMap::new(),
        }
    }

    fn group(mut self, connections: &[ConnectionFrames<'a>]) -> Vec<Session<'a>> {
        // Streams without a session id by server, each with its session unless the next POST begins another one: a client may
        // open the stream of a session before its `initialize`.
        let mut streams: BTreeMap<&str, Vec<(&ConnectionFrames<'a>, usize)>> = BTreeMap::new();
        for connection in connections {
            let known = self.sessions.len();
            let Some(session) = self.session_of(connection) else { continue };
            let begins = self.sessions.len() > known;
            let request = connection.request();
            match request.and_then(method) {
                Some("GET") if !begins && request.is_some_and(|get| header(get, SESSION_HEADER).is_none()) => {
                    streams.entry(connection.server).or_default().push((connection, session));
                    continue;
                }
                Some("POST") => {
                    for (stream, own) in streams.remove(connection.server).unwrap_or_default() {
                        self.sessions[if begins { session } else { own }].frames.extend(&stream.frames);
                    }
                }
                _ => {}
            }
            self.sessions[session].frames.extend(&connection.frames);
        }
        for (stream, own) in streams.into_values().flatten() {
            self.sessions[own].frames.extend(&stream.frames);
        }
        self.sessions
    }

    fn session_of(&mut self, connection: &ConnectionFrames<'a>) -> Option<usize> {
        let server = connection.server;
        if let Some((_, stream)) = connection.endpoint() {
            let session = self.open(server, None);
            self.by_stream.entry(server).or_default().push((stream, session));
            self.known_streams.clear();
            return Some(session);
        }
        let request = connection.request()?;
        let posted_to = request.http.as_ref()?.path.as_deref()?;
        if let Some(session) = self.stream_of(server, posted_to) {
            return Some(session);
        }
        if !self.endpoints.contains(&(server, path(request)?)) {
            return None;
        }
        if Message::all_of(request).any(|message| message.is("initialize")) {
            return Some(self.open(server, connection.response_header(SESSION_HEADER)));
        }
        let named = header(request, SESSION_HEADER).and_then(|id| self.by_id.get(&(server, id)));
        match named.or_else(|| self.latest.get(server)) {
            Some(session) => Some(*session),
            None => Some(self.open(server, None)),
        }
    }

    /// The newest stream whose endpoint is this path. The event has a URI, absolute or relative; the request has path and
    /// query.
    fn stream_of(&mut self, server: &'a str, posted_to: &'a str) -> Option<usize> {
        if let Some(session) = self.known_streams.get(&(server, posted_to)) {
            return Some(*session);
        }
        let streams = self.by_stream.get(server)?;
        let is_same = |uri: &str| {
            uri.ends_with(posted_to) || posted_to.strip_suffix(uri).is_some_and(|folder| folder.ends_with('/'))
        };
        let (_, session) = streams.iter().rev().find(|(uri, _)| is_same(uri))?;
        self.known_streams.insert((server, posted_to), *session);
        Some(*session)
    }

    fn open(&mut self, server: &'a str, id: Option<&'a str>) -> usize {
        let session = self.sessions.len();
        self.sessions.push(Session { server, id, ..Session::default() });
        self.latest.insert(server, session);
        if let Some(id) = id {
            self.by_id.insert((server, id), session);
        }
        session
    }
}
