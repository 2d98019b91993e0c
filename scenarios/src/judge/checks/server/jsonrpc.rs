//! JSON-RPC between request and response: that each request is answered, batches, malformed parameters, and the ids of the
//! server's own requests.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use serde_json::{Map, Value};

use super::{has_is_error, known};
use crate::{
    judge::{
        capabilities::capability_of,
        check::{Check, CheckOutcome, Findings, Rule, Scope, brief, brief_or_missing},
        transcript::{
            Body, ConnectionEvent, ConnectionFrames, Frame, IdKey, Message, RequestResponse, Transcript,
            http::{SESSION_HEADER, event_id, header, is_stream, status},
            id_text,
        },
    },
    model::{Revision, Transport},
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "requests-are-answered",
        requirement: "messages/every-request-answered",
        scope: Scope::Always,
        expected: "every request is answered under its own id",
        rule: Rule::Case(answered),
    },
    Check {
        id: "server-request-ids",
        requirement: "messages/request-id",
        scope: Scope::Always,
        expected: "a request of the server has a string or an integer as its id, and no id is used again",
        rule: Rule::Case(request_ids),
    },
    Check {
        id: "notification-has-no-id",
        requirement: "messages/notification-without-id",
        scope: Scope::Always,
        expected: "a notification of the server has no id",
        rule: Rule::Case(notification_ids),
    },
    Check {
        id: "messages-are-single",
        requirement: "messages/no-batches",
        scope: Scope::Always,
        expected: "the server sends single messages and no array of messages",
        rule: Rule::Case(single),
    },
    Check {
        id: "batch-is-answered",
        requirement: "messages/batch",
        scope: Scope::Named,
        expected: "every request of a batch is answered; a batch of notifications gets 202 over HTTP, and no empty array",
        rule: Rule::Case(batch),
    },
    Check {
        id: "malformed-params-are-refused",
        requirement: "messages/malformed-params",
        scope: Scope::Always,
        expected: "a request whose required parameter is missing or has another type is answered with an error",
        rule: Rule::Case(malformed_params),
    },
    Check {
        id: "malformed-params-code",
        requirement: "messages/invalid-params",
        scope: Scope::Always,
        expected: "the error code of malformed parameters is -32602 (invalid params)",
        rule: Rule::Case(malformed_params_code),
    },
];

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

fn answered(transcript: &Transcript<'_>) -> CheckOutcome {
    let waiting = Waiting::new(transcript);
    let single = transcript.requests().iter().map(|one| (one.request, one.response.is_some()));
    let mut findings = Findings::default();
    for ping in rejected_by_id(transcript) {
        let error = ping.error().unwrap_or_default();
        let id = brief_or_missing(ping.request.json.get("id"));
        findings.fail(
            format!("a ping with the id {id} is rejected with {}, and others are not", brief(error)),
            ping.frames(),
        );
    }
    let mut last = last_received(transcript).filter(|last| waiting.judge(last).is_none());
    for (request, answered) in single {
        if answered {
            findings.saw(request.seq());
        } else if let Some(why) = waiting.judge(&request) {
            if let Some(last) = last.take_if(|last| last.seq() < request.seq()) {
                let bytes = last.json.to_string().len();
                findings.fail(
                    format!("the server sent nothing after {} ({bytes} bytes)", brief(last.json)),
                    vec![last.seq()],
                );
            }
            findings.check(request.seq(), Err(format!("{why} to {}", brief(request.json))));
        }
    }
    findings.or_not_applicable("requests", "no request was sent")
}

/// The request after which the server sent nothing more, although others followed.
fn last_received<'a>(transcript: &Transcript<'a>) -> Option<Message<'a>> {
    let mut frames = transcript.evidence.frames.iter().rev();
    let last = frames.find(|frame| !frame.from_client()).map(|frame| frame.seq);
    transcript.requests().iter().map(|one| one.request).find(|request| Some(request.seq()) > last)
}

/// The pings that are rejected although their ids are numbers, as those of pings that have a result. Over HTTP the session may
/// be the reason.
fn rejected_by_id<'t, 'a>(transcript: &'t Transcript<'a>) -> Vec<&'t RequestResponse<'a>> {
    let has_number = |ping: &&RequestResponse<'_>| ping.request.json.get("id").is_some_and(Value::is_number);
    let pings = || transcript.requests_of("ping").filter(has_number);
    let first = pings().find(|ping| ping.result().is_some()).filter(|_| !transcript.is_http());
    let since = first.map_or(u64::MAX, |ping| ping.request.seq());
    pings().filter(|ping| ping.request.seq() > since && ping.error().is_some()).collect()
}

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
struct Waiting<'t, 'a> {
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
    fn new(transcript: &'t Transcript<'a>) -> Self {
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
    fn judge(&self, request: &Message<'a>) -> Option<&'static str> {
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

/// Requests that a server may send to a client of the handshake revisions.
const SERVER_METHODS: [&str; 4] = ["ping", "roots/list", "sampling/createMessage", "elicitation/create"];

fn request_ids(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut seen: HashMap<IdKey<'_>, u64> = HashMap::new();
    let one_session = is_one_session(transcript);
    let mut findings = Findings::default();
    for message in transcript.server_messages() {
        let Some(method) = message.method() else { continue };
        if !message.is_request() && !SERVER_METHODS.contains(&method) {
            continue;
        }
        let id = message.id();
        if !id.is_some_and(|id| id.is_string() || id.is_i64() || id.is_u64()) {
            findings.check(message.seq(), Err(format!("the id of `{method}` is {}", brief_or_missing(id))));
            continue;
        }
        findings.saw(message.seq());
        let Some(earlier) = message.id_key().and_then(|id| seen.insert(id, message.seq())) else { continue };
        // A resumed stream repeats messages (2025-11-25, basic/transports, resumability).
        if one_session && !is_resumed(transcript, message.frame) {
            let text = format!("the id {} of `{method}` was used before", brief_or_missing(message.id()));
            findings.fail(text, [earlier, message.seq()]);
        }
    }
    findings.or_not_applicable("requests", "the server sent no request")
}

/// Whether all messages belong to one session. Over HTTP each request is its own session if the server assigns none.
fn is_one_session(transcript: &Transcript<'_>) -> bool {
    let handshakes = transcript.client_messages().filter(|message| message.is("initialize")).count();
    let has_session = || transcript.client_frames().any(|frame| header(frame, SESSION_HEADER).is_some());
    handshakes <= 1 && (transcript.evidence.transport != Transport::StreamableHttp || has_session())
}

pub(super) fn is_resumed(transcript: &Transcript<'_>, frame: &Frame) -> bool {
    transcript.is_http()
        && transcript.connection_of(frame).is_some_and(|connection| connection.resumes_after().is_some())
}

fn notification_ids(transcript: &Transcript<'_>) -> CheckOutcome {
    let sent = transcript.server_messages();
    let sent = sent.filter(|message| message.method().is_some_and(|method| method.starts_with("notifications/")));
    let fault = |message: &Message<'_>| message.id().map(|id| format!("the id of a notification is {}", brief(id)));
    Findings::from_each(sent.map(|message| (message.seq(), message)), fault)
        .or_not_applicable("notifications", "the server sent no notification")
}

fn single(transcript: &Transcript<'_>) -> CheckOutcome {
    let frames = transcript.evidence.frames.iter().filter(|frame| !frame.from_client());
    let frames = frames.filter_map(|frame| Some((frame.seq, frame.json()?)));
    let fault = |value: &&Value| value.is_array().then(|| format!("the server sent {}", brief(value)));
    Findings::from_each(frames, fault).or_not_applicable("messages", "the server sent no message")
}

/// Whether the server supports a revision without batches, or may do so. Its SDK then no longer has them in any revision.
fn batch(transcript: &Transcript<'_>) -> CheckOutcome {
    let newer = transcript.may_support(|revision| revision > Revision::V2025_03_26);
    if newer && !answers_in_batches(transcript) { unsupported_batches(transcript) } else { judge_batches(transcript) }
}

/// SDKs removed batches from all revisions when 2025-06-18 removed them.
fn unsupported_batches(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for batch in batches(transcript) {
        // Over HTTP each exchange is a connection.
        let answers = |message: &Message<'_>| message.seq() > batch.seq && message.frame.connection == batch.connection;
        let errors =
            transcript.server_messages().filter(|message| message.error().is_some() && known::id_of_none(message));
        let mut refusals = errors.filter(answers);
        match refusals.next().filter(|refusal| !known::rejects_batch(refusal)) {
            Some(refusal) => {
                findings.fail(format!("the batch is rejected: {}", brief(refusal.json)), [batch.seq, refusal.seq()]);
            }
            None if accepts_requests(transcript, batch) => {
                findings.fail("the status of a batch with requests is 202, and they have no response", [batch.seq]);
            }
            None => findings.known(batch.seq, "the batch is not read, as in SDKs that removed batches".to_owned()),
        }
    }
    findings.or_not_applicable("batches", "no batch was sent")
}

/// Whether requests of a batch get the HTTP response of notifications.
fn accepts_requests(transcript: &Transcript<'_>, batch: &Frame) -> bool {
    let has_request = Message::all_of(batch).any(|message| message.is_request());
    let is_stream = transcript.evidence.transport == Transport::StreamableHttp;
    has_request && is_stream && transcript.reply(batch).and_then(status) == Some(202)
}

fn batches<'t, 'a>(transcript: &'t Transcript<'a>) -> impl Iterator<Item = &'a Frame> + use<'t, 'a> {
    transcript.client_frames().filter(|frame| frame.json().is_some_and(Value::is_array))
}

/// Whether a request of a batch has a response.
fn answers_in_batches(transcript: &Transcript<'_>) -> bool {
    let ids: HashSet<_> =
        batches(transcript).flat_map(Message::all_of).filter_map(|request| request.id_key()).collect();
    let mut responses = transcript.server_messages().filter(Message::may_be_response);
    responses.any(|response| response.id_key().is_some_and(|id| ids.contains(&id)))
}

fn judge_batches(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut responses: HashMap<IdKey<'_>, u64> = HashMap::new();
    for response in transcript.server_messages().filter(Message::may_be_response) {
        if let Some(id) = response.id_key() {
            responses.insert(id, response.seq());
        }
    }
    let mut findings = Findings::default();
    for frame in batches(transcript) {
        findings.saw(frame.seq);
        let requests: Vec<_> = Message::all_of(frame).filter(Message::is_request).collect();
        let open = requests.iter().filter(|request| {
            let answer = request.id_key().and_then(|id| responses.get(&id));
            answer.is_none_or(|answer| *answer < frame.seq)
        });
        let open: Vec<String> = open.map(|request| brief_or_missing(request.id())).collect();
        if !open.is_empty() {
            findings.fail(format!("the ids {} of the batch have no response", open.join(", ")), [frame.seq]);
        }
        let status = transcript.reply(frame).and_then(status).filter(|_| transcript.is_http() && requests.is_empty());
        if let Some(status) = status.filter(|status| *status != 202) {
            findings.fail(format!("the status of a batch of notifications is {status}"), [frame.seq]);
        }
    }
    // JSON-RPC 2.0, section 6: nothing is returned if no response is.
    let is_empty = |frame: &&Frame| frame.json().and_then(Value::as_array).is_some_and(Vec::is_empty);
    let empty = transcript.evidence.frames.iter().filter(|frame| !frame.from_client()).find(is_empty);
    if let Some(empty) = empty {
        findings.fail("the server sent an empty array", [empty.seq]);
    }
    findings.or_not_applicable("batches", "no batch was sent")
}

/// The requests whose required parameter is missing or has another type in every revision, of features that the server declares
/// as far as is known.
fn malformed<'t, 'a>(transcript: &'t Transcript<'a>) -> impl Iterator<Item = &'t RequestResponse<'a>> {
    transcript.requests().iter().filter(|one| {
        let param = |name: &str| one.param(name);
        // Many languages do not tell `null` from an absent member.
        let has_arguments = || param("arguments").is_none_or(|given| given.is_object() || given.is_null());
        let well_formed = match one.request.method() {
            Some("tools/call") => param("name").is_some_and(Value::is_string) && has_arguments(),
            Some("prompts/get") => {
                let values = param("arguments").and_then(Value::as_object).into_iter().flat_map(Map::values);
                let has_texts = values.into_iter().all(|value| value.is_string() || value.is_null());
                param("name").is_some_and(Value::is_string) && has_arguments() && has_texts
            }
            Some("resources/read" | "resources/subscribe" | "resources/unsubscribe") => {
                param("uri").is_some_and(Value::is_string)
            }
            Some("logging/setLevel") => param("level").is_some_and(Value::is_string),
            Some("completion/complete") => {
                let value = param("argument").and_then(|argument| argument.get("value"));
                let kind = param("ref").and_then(|reference| reference.get("type")?.as_str());
                matches!(kind, Some("ref/prompt" | "ref/resource")) && value.is_some_and(Value::is_string)
            }
            _ => true,
        };
        // Parameters that are no object are malformed for JSON-RPC, not for the method.
        !well_formed && one.request.params().is_none_or(Value::is_object) && !is_undeclared(transcript, one)
    })
}

const NO_MALFORMED_PARAMS: &str = "no request with malformed parameters was sent";

fn malformed_params(transcript: &Transcript<'_>) -> CheckOutcome {
    // Rejecting a log level is a SHOULD (server/utilities/logging#error-handling).
    let requests = malformed(transcript).filter(|one| one.response.is_some() && !one.request.is("logging/setLevel"));
    Findings::from_each(requests.map(|one| (one.last_frame(), one)), |one| accepted(one))
        .or_not_applicable("requests", NO_MALFORMED_PARAMS)
}

/// What is wrong if malformed parameters have a result. An error of a tool is one.
fn accepted(one: &RequestResponse<'_>) -> Option<String> {
    let result = one.result()?;
    let is_error = one.request.is("tools/call") && has_is_error(result);
    (!is_error).then(|| format!("{} is answered with {}", brief(one.request.json), brief(result)))
}

/// Whether the server does not declare the capability of a method. It may answer as it likes.
fn is_undeclared(transcript: &Transcript<'_>, one: &RequestResponse<'_>) -> bool {
    let capability = one.request.method().and_then(capability_of).and_then(|pointer| pointer.split('/').nth(1));
    capability.and_then(|name| transcript.declares(name)) == Some(false)
}

fn malformed_params_code(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for one in malformed(transcript) {
        if let Some(accepted) = accepted(one).filter(|_| one.request.is("logging/setLevel")) {
            findings.fail(accepted, [one.last_frame()]);
        }
        let Some(code) = one.code() else { continue };
        // A server without the feature rejects the method, and one of 2026-07-28 may require headers first.
        let valid = matches!(code, -32602 | -32601) || transcript.evidence.revision.is_modern();
        match known::sdk_of(one).filter(|_| !valid) {
            Some(sdk) => findings.known(one.last_frame(), known::rejection(code, sdk)),
            None => {
                let fault = || format!("the code of the error to {} is {code}", brief(one.request.json));
                findings.check(one.last_frame(), if valid { Ok(()) } else { Err(fault()) });
            }
        }
    }
    findings.or_not_applicable("errors", NO_MALFORMED_PARAMS)
}
