//! Which frames belong together: one session per process run over stdio, per stream over HTTP+SSE, and per
//! `initialize` over Streamable HTTP. What a client sends before any handshake forms a session of its own.

use std::collections::{BTreeMap, BTreeSet};

use mock_servers::{Body, Frame, Mark};
use serde_json::Value;

use super::message::Message;
use crate::{evidence::Evidence, model::Transport};

/// The header that carries the id of a session (2025-03-26, basic/transports#session-management).
pub(super) const SESSION_HEADER: &str = "mcp-session-id";

/// Frames that belong together, in order.
#[derive(Debug)]
pub(super) struct Session<'a> {
    /// The server at the other end.
    pub(super) server: &'a str,
    /// The id that the server gave it, over Streamable HTTP.
    pub(super) id: Option<&'a str>,
    /// Its frames.
    pub(super) frames: Vec<&'a Frame>,
}

/// An `initialize` and its result.
#[derive(Debug, Clone, Copy)]
pub(super) struct Handshake<'a> {
    /// The request.
    pub(super) request: Message<'a>,
    /// The answer, a result.
    pub(super) answer: Message<'a>,
}

impl Handshake<'_> {
    /// The revision that the server answered with.
    pub(super) fn negotiated(&self) -> Option<&str> {
        self.answer.result()?.get("protocolVersion")?.as_str()
    }
}

impl<'a> Session<'a> {
    /// Its messages, in order.
    pub(super) fn messages(&self) -> impl Iterator<Item = Message<'a>> {
        self.frames.iter().flat_map(|frame| Message::all_of(frame))
    }

    /// What the client said in it.
    pub(super) fn said(&self) -> impl Iterator<Item = Message<'a>> {
        self.messages().filter(Message::by_client)
    }

    /// The first `initialize` that was answered with a result.
    pub(super) fn handshake(&self) -> Option<Handshake<'a>> {
        self.said().filter(|message| message.is("initialize") && message.is_request()).find_map(|request| {
            let answer = self.answer(&request).filter(|answer| answer.result().is_some())?;
            Some(Handshake { request, answer })
        })
    }

    /// Whether the client tried a handshake in it.
    pub(super) fn has_initialize(&self) -> bool {
        self.said().any(|message| message.is("initialize"))
    }

    /// The first sound answer to a request of the client's. It may come on any stream of a session (2025-11-25,
    /// basic/transports#resumability-and-redelivery), but without sessions only on the exchange that asked
    /// (2026-07-28, basic/transports/streamable-http#receiving-messages).
    pub(super) fn answer(&self, request: &Message<'a>) -> Option<Message<'a>> {
        let modern = request.frame.http.is_some() && request.is_modern();
        self.messages()
            .filter(|message| !message.by_client() && message.seq() > request.seq())
            .filter(|message| !modern || message.frame.connection == request.frame.connection)
            .find(|message| message.is_sound_response() && message.id() == request.id())
    }

    /// The frames that carried nothing but this mark.
    pub(super) fn marks(&self, mark: Mark) -> impl Iterator<Item = &'a Frame> {
        self.frames.iter().copied().filter(move |frame| frame.body == Body::Mark(mark))
    }
}

/// Every session of a case, in the order in which they began.
pub(super) fn sessions(evidence: &Evidence) -> Vec<Session<'_>> {
    let mut sorted = match evidence.transport {
        Transport::Stdio => exchanges(evidence)
            .into_iter()
            .map(|exchange| Session { server: exchange.server, id: None, frames: exchange.frames })
            .collect(),
        Transport::Sse | Transport::StreamableHttp => Sorter::new(evidence).sort(exchanges(evidence)),
    };
    for session in &mut sorted {
        session.frames.sort_by_key(|frame| frame.seq);
    }
    sorted.sort_by_key(|session| session.frames.first().map(|frame| frame.seq));
    sorted
}

/// The frames with one connection number.
pub(super) struct Exchange<'a> {
    /// The server at the other end.
    pub(super) server: &'a str,
    /// Its frames, in order.
    pub(super) frames: Vec<&'a Frame>,
}

/// The frames of a case by connection, in the order in which the connections began.
pub(super) fn exchanges(evidence: &Evidence) -> Vec<Exchange<'_>> {
    let mut places: BTreeMap<(&str, u64), usize> = BTreeMap::new();
    let mut found: Vec<Exchange<'_>> = Vec::new();
    for frame in &evidence.frames {
        let place = *places.entry((frame.server.as_str(), frame.connection)).or_insert_with(|| {
            found.push(Exchange { server: &frame.server, frames: vec![] });
            found.len() - 1
        });
        found[place].frames.push(frame);
    }
    found
}

impl<'a> Exchange<'a> {
    /// The client's part: the HTTP request.
    pub(super) fn request(&self) -> Option<&'a Frame> {
        self.frames.iter().copied().find(|frame| frame.from_client() && method(frame).is_some())
    }

    /// A header of the server's part.
    fn given(&self, name: &str) -> Option<&'a str> {
        self.frames.iter().filter(|frame| !frame.from_client()).find_map(|frame| header(frame, name))
    }

    /// The HTTP status of the server's part.
    pub(super) fn status(&self) -> Option<u16> {
        self.frames.iter().find_map(|frame| frame.http.as_ref()?.status)
    }

    /// Where the `endpoint` event of HTTP+SSE sends the client (2024-11-05, basic/transports#http-with-sse).
    fn endpoint(&self) -> Option<&'a str> {
        let announced = self.frames.iter().find(|frame| {
            !frame.from_client() && frame.http.as_ref().is_some_and(|http| http.event.as_deref() == Some("endpoint"))
        })?;
        match &announced.body {
            Body::Text(text) => Some(text.trim()),
            Body::Json(value) => value.as_str(),
            Body::Mark(_) => None,
        }
    }
}

/// The HTTP method of a client's frame.
pub(super) fn method(frame: &Frame) -> Option<&str> {
    frame.http.as_ref()?.method.as_deref()
}

/// The path of a client's frame, without its query.
pub(super) fn path(frame: &Frame) -> Option<&str> {
    frame.http.as_ref()?.path.as_deref()?.split('?').next()
}

/// An HTTP header of a frame.
pub(super) fn header<'a>(frame: &'a Frame, name: &str) -> Option<&'a str> {
    frame.http.as_ref()?.headers.get(name).map(|value| value.trim())
}

/// Whether a frame is a POST that carries JSON-RPC, and not one to an authorization server, say.
pub(super) fn is_rpc_post(frame: &Frame) -> bool {
    let rpc = |value: &Value| value.get("jsonrpc").is_some() || value.get("method").is_some();
    let holds_rpc = match frame.json() {
        Some(Value::Array(messages)) => messages.iter().any(rpc),
        Some(value) => rpc(value),
        None => false,
    };
    frame.from_client() && method(frame) == Some("POST") && holds_rpc
}

/// The paths to which JSON-RPC was posted, by server: the MCP endpoints. Other paths serve authorization and the like.
pub(super) fn endpoints(evidence: &Evidence) -> BTreeSet<(&str, &str)> {
    evidence
        .frames
        .iter()
        .filter(|frame| is_rpc_post(frame))
        .filter_map(|frame| Some((frame.server.as_str(), path(frame)?)))
        .collect()
}

/// Sorts HTTP exchanges into sessions.
struct Sorter<'a> {
    endpoints: BTreeSet<(&'a str, &'a str)>,
    sessions: Vec<Session<'a>>,
    by_id: BTreeMap<(&'a str, &'a str), usize>,
    by_stream: Vec<(&'a str, &'a str, usize)>,
    latest: BTreeMap<&'a str, usize>,
}

impl<'a> Sorter<'a> {
    fn new(evidence: &'a Evidence) -> Self {
        Self {
            endpoints: endpoints(evidence),
            sessions: vec![],
            by_id: BTreeMap::new(),
            by_stream: vec![],
            latest: BTreeMap::new(),
        }
    }

    fn sort(mut self, exchanges: Vec<Exchange<'a>>) -> Vec<Session<'a>> {
        for exchange in exchanges {
            if let Some(place) = self.place(&exchange) {
                self.sessions[place].frames.extend(exchange.frames);
            }
        }
        self.sessions
    }

    fn place(&mut self, exchange: &Exchange<'a>) -> Option<usize> {
        let server = exchange.server;
        if let Some(stream) = exchange.endpoint() {
            let place = self.open(server, None);
            self.by_stream.push((server, stream, place));
            return Some(place);
        }
        let request = exchange.request()?;
        let posted_to = request.http.as_ref()?.path.as_deref()?;
        // The event holds a URI, whole or relative; the request shows path and query.
        let stream = self.by_stream.iter().rev().find(|(at, uri, _)| *at == server && uri.ends_with(posted_to));
        if let Some((_, _, place)) = stream {
            return Some(*place);
        }
        if !self.endpoints.contains(&(server, path(request)?)) {
            return None;
        }
        if Message::all_of(request).any(|message| message.is("initialize")) {
            return Some(self.open(server, exchange.given(SESSION_HEADER)));
        }
        let named = header(request, SESSION_HEADER).and_then(|id| self.by_id.get(&(server, id)));
        match named.or_else(|| self.latest.get(server)) {
            Some(place) => Some(*place),
            None => Some(self.open(server, None)),
        }
    }

    fn open(&mut self, server: &'a str, id: Option<&'a str>) -> usize {
        let place = self.sessions.len();
        self.sessions.push(Session { server, id, frames: vec![] });
        self.latest.insert(server, place);
        if let Some(id) = id {
            self.by_id.insert((server, id), place);
        }
        place
    }
}
