//! Whether a response that is missing is a violation: requests may be cancelled, crossed or slow.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use serde_json::Value;

use crate::judge::transcript::{
    Body, ConnectionEvent, ConnectionFrames, Frame, IdKey, Message, RequestResponse, Transcript,
    http::{SESSION_HEADER, event_id, header, is_stream, status},
    id_text,
};

/// How long the server has to answer. Shorter than the timeout of a step, so that every step shows a missing response.
const ANSWER_US: u64 = 1_900_000;
/// The same for methods that execute code of the server's author, which can be slow.
const SLOW_ANSWER_US: u64 = 15_000_000;
/// The same for a tool without a success if another call took longer than `SLOW_CALL_US`: names are looked up in a network that
/// does not exist, which takes long on a busy machine.
const SLOW_SERVER_US: u64 = 60_000_000;
const SLOW_CALL_US: u64 = 2_000_000;
/// How many times as long as the slowest response for the same tool or prompt another one may take.
const MAX_DELAY: u64 = 50;
/// When so many streams that resume one end without the response, there is none.
const MANY_RESUMPTIONS: usize = 15;
/// A server may limit the size of its messages, but not to less than this, in bytes.
const SMALL: usize = 4_096;
/// The scheme of the resources that the workbench reads and no server has.
const NO_RESOURCE: &str = "workbench-test:";
/// The methods that execute code of the server's author.
const SLOW_METHODS: [&str; 4] = ["tools/call", "resources/read", "prompts/get", "completion/complete"];

/// The session over HTTP, and the id of a request.
type SessionAndId<'a> = (Option<&'a str>, IdKey<'a>);

pub(super) fn session_and_id<'a>(request: &Message<'a>) -> Option<SessionAndId<'a>> {
    Some((header(request.frame, SESSION_HEADER), request.id_key()?))
}

/// The first cancellation of each request.
pub(super) fn first_cancellations<'a>(transcript: &Transcript<'a>) -> HashMap<SessionAndId<'a>, Message<'a>> {
    let mut first = HashMap::new();
    for cancel in transcript.client_messages() {
        let session = header(cancel.frame, SESSION_HEADER);
        cancel.cancels().map(|id| first.entry((session, IdKey::new(id))).or_insert(cancel));
    }
    first
}

/// Decides whether a missing response is a violation.
pub(super) struct Waiting<'t, 'a> {
    transcript: &'t Transcript<'a>,
    cancelled: HashMap<SessionAndId<'a>, Message<'a>>,
    /// The first frame after which the server may be unable to respond.
    malformed: u64,
    /// When the workbench closed the connection.
    closed_by_us: Option<(u64, u64)>,
    /// When the server closed its output, over stdio and HTTP+SSE.
    closed_by_server: Option<u64>,
    /// The latency of each tool and prompt.
    latencies: HashMap<(&'a str, &'a str), Latency>,
    /// Whether a call took long, also one that was cancelled: the server waits for a network, for example.
    has_slow_calls: bool,
    /// The frames from a response that crossed its cancellation to the end of the connection, if nothing else came.
    crossed: Vec<Range<u64>>,
}

impl<'t, 'a> Waiting<'t, 'a> {
    pub(super) fn new(transcript: &'t Transcript<'a>) -> Self {
        let frames = &transcript.evidence.frames;
        let cancelled = first_cancellations(transcript);
        let by_us = |frame: &&Frame| {
            frame.from_client()
                && matches!(frame.body, Body::Event(ConnectionEvent::ClosedByPeer | ConnectionEvent::Sigterm))
        };
        let by_server =
            |frame: &&Frame| !transcript.is_http() && frame.body == Body::Event(ConnectionEvent::ClosedByServer);
        let is_slow = |one: &RequestResponse<'_>| {
            let given_up = || cancelled.get(&session_and_id(&one.request)?).copied();
            let end = one.response.or_else(given_up);
            target_of(&one.request).is_some() && end.is_some_and(|end| end.at_us() > one.request.at_us() + SLOW_CALL_US)
        };
        let has_slow_calls = transcript.requests().iter().any(is_slow);
        let killed = transcript.evidence.process.as_ref().is_some_and(|process| process.signal == Some(9));
        Self {
            transcript,
            cancelled,
            malformed: transcript.malformed_from(),
            closed_by_us: frames.iter().find(by_us).map(|frame| (frame.seq, frame.at_us)),
            // The workbench ends a server that does not exit with SIGKILL.
            closed_by_server: if killed { None } else { frames.iter().find(by_server).map(|frame| frame.seq) },
            latencies: latencies(transcript),
            has_slow_calls,
            crossed: crossed_cancellations(transcript),
        }
    }

    /// Why the missing response is a violation; `None` if it is none.
    pub(super) fn judge(&self, request: &Message<'a>) -> Option<&'static str> {
        // The receiver of a cancellation should not respond (2025-11-25, basic/utilities/cancellation); the response to a
        // subscription is its end (2026-07-28, basic/patterns/subscriptions).
        let cancelled = session_and_id(request).and_then(|key| self.cancelled.get(&key));
        let is_subscription = request.method().is_some_and(|method| method == "subscriptions/listen");
        if is_subscription || request.seq() >= self.malformed {
            return None;
        }
        // Some servers fail if a response crosses its cancellation, which depends on time. `survives-cancellation` judges
        // cancellations that are surely too late.
        if self.crossed.iter().any(|frames| frames.contains(&request.seq())) {
            return None;
        }
        if let Some(cancelled) = cancelled {
            let exchange = self.transcript.connection_of(request.frame).filter(|_| self.transcript.is_http());
            return exchange.and_then(|exchange| self.judge_end(exchange, cancelled.seq()));
        }
        if self.closed_by_us.is_some_and(|(seq, _)| seq < request.seq()) {
            return None;
        }
        if self.transcript.is_http() {
            return self.judge_exchange(request);
        }
        // Over HTTP+SSE the server may reject the POST, for example one that is too large.
        if self.transcript.reply(request.frame).and_then(status).is_some_and(is_client_error) {
            return None;
        }
        let before_our_close = |seq: u64| self.closed_by_us.is_none_or(|(ours, _)| seq < ours);
        if self.closed_by_server.is_some_and(before_our_close) {
            return Some("the server closed the connection without a response");
        }
        if self.is_refused_without_id(request) {
            return Some("no response, but an error without an id,");
        }
        self.waited_long(request).then_some("no response")
    }

    /// Whether all that follows a request that is readable, and not larger than others, until the next message of the client is
    /// an error without an id.
    fn is_refused_without_id(&self, request: &Message<'a>) -> bool {
        let is_small = request.json.to_string().len() < SMALL;
        let later = self.transcript.messages_after(request.seq());
        let mut answers = later.take_while(|message| !message.by_client());
        is_small && answers.any(|message| message.error().is_some() && message.id().is_none_or(Value::is_null))
    }

    fn judge_exchange(&self, request: &Message<'a>) -> Option<&'static str> {
        let connection = self.transcript.connection_of(request.frame)?;
        let replies = || connection.frames.iter().filter(|frame| !frame.from_client() && frame.seq > request.seq());
        // The workbench lost the connection on purpose; another check judges what follows.
        if connection.frames.iter().any(|frame| frame.body == Body::Event(ConnectionEvent::ClosedByPeer)) {
            return None;
        }
        // An HTTP error is an answer too; other checks judge the status.
        if replies().any(|frame| status(frame).is_some_and(is_client_error)) {
            return None;
        }
        if replies().any(|frame| event_id(frame).is_some()) {
            return self.judge_resumption(connection, request);
        }
        let is_whole = |frame: &Frame| {
            frame.body == Body::Event(ConnectionEvent::ClosedByServer) || (status(frame).is_some() && !is_stream(frame))
        };
        if replies().any(|frame| is_whole(frame)) {
            return Some("the exchange ended without a response");
        }
        self.waited_long(request).then_some("no response")
    }

    /// Whether the stream of a request ended before the request was cancelled in this frame, so that a response was no longer
    /// possible.
    fn judge_end(&self, first: &ConnectionFrames<'a>, cancelled: u64) -> Option<&'static str> {
        let is_stream = first.frames.iter().any(|frame| is_stream(frame));
        let is_closed = |connection: &ConnectionFrames<'_>| {
            let mut frames = connection.frames.iter();
            frames.any(|one| one.body == Body::Event(ConnectionEvent::ClosedByServer) && one.seq < cancelled)
        };
        if !is_stream || !is_closed(first) {
            return None;
        }
        if first.frames.iter().all(|frame| event_id(frame).is_none()) {
            return Some("the stream ended without a response");
        }
        let ended = resumptions(self.transcript, first).into_iter().filter(|one| is_closed(one)).count();
        (ended >= MANY_RESUMPTIONS).then_some("the stream ended without a response, and so did those that resumed it,")
    }

    /// The rest of a stream with event ids can be requested with another GET (2025-11-25, basic/transports, 6).
    fn judge_resumption(&self, first: &ConnectionFrames<'a>, request: &Message<'a>) -> Option<&'static str> {
        let last = resumptions(self.transcript, first).pop().unwrap_or(first);
        if last.frames.iter().filter_map(|frame| status(frame)).any(is_client_error) {
            return Some("the stream ended without a response, and the server does not resume it");
        }
        let is_closed = last.frames.iter().any(|frame| frame.body == Body::Event(ConnectionEvent::ClosedByServer));
        let is_open = !is_closed || !std::ptr::eq(last, first);
        (is_open && self.waited_long(request)).then_some("no response")
    }

    fn waited_long(&self, request: &Message<'a>) -> bool {
        let end = self.closed_by_us.map_or(self.transcript.evidence.elapsed_us, |(_, at_us)| at_us);
        end.saturating_sub(request.at_us()) >= self.time_of(request)
    }

    /// How long the server has to answer.
    fn time_of(&self, request: &Message<'a>) -> u64 {
        if !request.method().is_some_and(|method| SLOW_METHODS.contains(&method)) {
            return ANSWER_US;
        }
        match target_of(request).and_then(|target| self.latencies.get(&target)) {
            // On a busy machine other responses are late too.
            Some(latency) if latency.succeeded || !self.has_slow_calls => {
                (latency.longest_us * MAX_DELAY).clamp(ANSWER_US, SLOW_ANSWER_US)
            }
            _ if self.has_slow_calls => SLOW_SERVER_US,
            _ => SLOW_ANSWER_US,
        }
    }
}

/// The connections that resume a stream.
pub(super) fn resumptions<'t, 'a>(
    transcript: &'t Transcript<'a>,
    first: &ConnectionFrames<'a>,
) -> Vec<&'t ConnectionFrames<'a>> {
    let mut ids: HashSet<&str> = first.frames.iter().filter_map(|frame| event_id(frame)).collect();
    let mut found = Vec::new();
    for connection in transcript.connections() {
        if connection.resumes_after().is_some_and(|id| ids.contains(id)) {
            ids.extend(connection.frames.iter().filter_map(|frame| event_id(frame)));
            found.push(connection);
        }
    }
    found
}

/// The method of a request, and what it is about: a tool, a prompt, any completion, or a resource that no server has. Other
/// resources are not among them, since reading one may take different times.
fn target_of<'a>(request: &Message<'a>) -> Option<(&'a str, &'a str)> {
    let method = request.method()?;
    let target = match method {
        "tools/call" | "prompts/get" => request.param("name")?.as_str()?,
        "completion/complete" => method,
        "resources/read" if request.param("uri")?.as_str()?.starts_with(NO_RESOURCE) => NO_RESOURCE,
        _ => return None,
    };
    Some((method, target))
}

/// Over stdio, the frames after which a connection has no message of the server any more, if its last one is a response to a
/// request that was cancelled before.
fn crossed_cancellations(transcript: &Transcript<'_>) -> Vec<Range<u64>> {
    let mut crossed = Vec::new();
    if transcript.is_http() {
        return crossed;
    }
    let mut cancelled = HashSet::new();
    let mut last_crossed = None;
    for frame in &transcript.evidence.frames {
        if matches!(frame.body, Body::Event(ConnectionEvent::ClosedByServer | ConnectionEvent::ClosedByPeer)) {
            crossed.extend(last_crossed.take().map(|seq| seq..frame.seq));
            cancelled.clear();
        }
        for message in Message::all_of(frame) {
            if message.by_client() {
                cancelled.extend(id_text(message.cancels()));
            } else {
                let is_crossed =
                    message.method().is_none() && id_text(message.id()).is_some_and(|id| cancelled.contains(&id));
                last_crossed = is_crossed.then_some(message.seq());
            }
        }
    }
    crossed
}

/// How long a tool or prompt took.
#[derive(Debug, Clone, Copy, Default)]
struct Latency {
    longest_us: u64,
    /// Whether a response had a result without an error. Invalid arguments may be rejected faster than valid ones are processed.
    succeeded: bool,
}

fn latencies<'a>(transcript: &Transcript<'a>) -> HashMap<(&'a str, &'a str), Latency> {
    let mut latencies: HashMap<_, Latency> = HashMap::new();
    for one in transcript.requests() {
        if let (Some(target), Some(response)) = (target_of(&one.request), one.response) {
            let latency = latencies.entry(target).or_default();
            latency.longest_us = latency.longest_us.max(response.at_us().saturating_sub(one.request.at_us()));
            let is_success = |result: &Value| result.get("isError").is_none_or(|error| *error != true);
            latency.succeeded |= target.1 == NO_RESOURCE || response.result().is_some_and(is_success);
        }
    }
    latencies
}

pub(super) fn is_client_error(status: u16) -> bool {
    (400..500).contains(&status)
}
