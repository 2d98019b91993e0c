//! Streams of events over HTTP: their messages, their ids, their end, and what is sent on which stream.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ops::Range,
};

use super::{
    jsonrpc::is_resumed,
    waiting::{is_client_error, resumptions},
};
use crate::{
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope, brief},
        transcript::{
            Body, ConnectionEvent, ConnectionFrames, Frame, IdKey, Message, RequestResponse, Transcript,
            http::{REVISION_HEADER, SESSION_HEADER, event_id, header, is_stream, method},
        },
    },
    model::Transport,
    peer::OTHER_SESSION,
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "event-is-a-message",
        requirement: "transports/event-data",
        scope: Scope::Always,
        expected: "the data of an event is one JSON-RPC message",
        rule: Rule::Case(event_data),
    },
    Check {
        id: "event-has-the-type-message",
        requirement: "transports/event-type",
        scope: Scope::Always,
        expected: "an event with a message has the type `message` or none",
        rule: Rule::Case(event_type),
    },
    Check {
        id: "endpoint-event-comes-first",
        requirement: "transports/endpoint-event",
        scope: Scope::Always,
        expected: "the first event of a stream is `endpoint`",
        rule: Rule::Case(endpoint_first),
    },
    Check {
        id: "response-ends-the-stream",
        requirement: "transports/stream-end",
        scope: Scope::Always,
        expected: "the server closes the stream of a request after the response",
        rule: Rule::Case(stream_end),
    },
    Check {
        id: "no-response-on-another-stream",
        requirement: "transports/no-response-on-get",
        scope: Scope::Always,
        expected: "a stream that the client opened with GET has no responses",
        rule: Rule::Case(responses_on_get),
    },
    Check {
        id: "response-on-the-stream-of-its-request",
        requirement: "transports/response-on-its-stream",
        scope: Scope::Always,
        expected: "a response is sent on the stream of its request",
        rule: Rule::Case(response_stream),
    },
    Check {
        id: "message-on-one-stream",
        requirement: "transports/one-stream",
        scope: Scope::Always,
        expected: "no message is sent on several streams",
        rule: Rule::Case(one_stream),
    },
    Check {
        id: "stream-has-progress-of-its-request",
        requirement: "transports/related-messages",
        scope: Scope::Always,
        expected: "progress on the stream of a request is that of the request",
        rule: Rule::Case(related_messages),
    },
    Check {
        id: "stream-begins-with-an-event-id",
        requirement: "transports/priming-event",
        scope: Scope::Always,
        expected: "a stream whose events have ids begins with an event that has an id and no data",
        rule: Rule::Case(priming_event),
    },
    Check {
        id: "closed-stream-has-a-retry",
        requirement: "transports/retry-sent",
        scope: Scope::Always,
        expected: "a connection that the server closes before the response of the request has an event with `retry`",
        rule: Rule::Case(retry_sent),
    },
    Check {
        id: "event-retry-is-a-number",
        requirement: "transports/retry-form",
        scope: Scope::Always,
        expected: "the `retry` of an event is a number of milliseconds in digits",
        rule: Rule::Case(retry_form),
    },
    Check {
        id: "get-stream-has-no-progress-of-requests",
        requirement: "transports/unrelated-messages",
        scope: Scope::Always,
        expected: "a stream that the client opened with GET has no progress of a running request",
        rule: Rule::Case(unrelated_messages),
    },
    Check {
        id: "call-outlives-its-connection",
        requirement: "transports/lost-connection",
        scope: Scope::Named,
        expected: "a call whose connection is lost has its response on the stream that resumes it",
        rule: Rule::Case(outlives),
    },
    Check {
        id: "sessions-are-separate",
        requirement: "transports/separate-sessions",
        scope: Scope::Always,
        expected: "an idle session gets no message that belongs to another session",
        rule: Rule::Case(separate_sessions),
    },
];

/// How long a stream may stay open after the response.
const STREAM_END_US: u64 = 1_000_000;
/// The same for a stream that the server closes in the end, as a server on a busy machine is late.
const LATE_END_US: u64 = 5_000_000;
const NO_STREAM: &str = "the server sent no stream of events";
const NO_GET_STREAM: &str = "no stream was opened with GET";

/// Whether a frame of the server was sent in a stream of events.
fn is_event(frame: &Frame) -> bool {
    let named = frame.http.as_ref().is_some_and(|http| http.event.is_some());
    !frame.from_client() && (named || is_stream(frame))
}

/// The events with data.
fn events<'a>(transcript: &Transcript<'a>) -> impl Iterator<Item = &'a Frame> + use<'a> {
    let frames = transcript.evidence.frames.iter();
    frames.filter(|frame| is_event(frame) && !matches!(frame.body, Body::Event(_)) && !is_endpoint(frame))
}

pub(super) fn is_endpoint(frame: &Frame) -> bool {
    frame.http.as_ref().is_some_and(|http| http.event.as_deref() == Some("endpoint"))
}

fn event_data(transcript: &Transcript<'_>) -> CheckOutcome {
    let fault = |frame: &&Frame| match &frame.body {
        Body::Text(text) => Some(format!("the data is `{}`", text.chars().take(120).collect::<String>())),
        Body::Json(value) if !(value.is_object() || value.is_array()) => Some(format!("the data is {}", brief(value))),
        _ => None,
    };
    Findings::from_each(events(transcript).map(|frame| (frame.seq, frame)), fault)
        .or_not_applicable("events", NO_STREAM)
}

fn event_type(transcript: &Transcript<'_>) -> CheckOutcome {
    let fault = |frame: &&Frame| {
        let kind = frame.http.as_ref()?.event.as_deref()?;
        (!matches!(kind, "message" | "")).then(|| format!("the type is `{kind}`"))
    };
    // Other types without a message may be for other purposes.
    let with_message =
        events(transcript).filter(|frame| frame.json().is_some_and(|json| json.get("jsonrpc").is_some()));
    Findings::from_each(with_message.map(|frame| (frame.seq, frame)), fault).or_not_applicable("events", NO_STREAM)
}

fn endpoint_first(transcript: &Transcript<'_>) -> CheckOutcome {
    if transcript.evidence.transport != Transport::HttpSse {
        return CheckOutcome::not_applicable("the transport is not HTTP+SSE");
    }
    let first = transcript.evidence.frames.iter().find(|frame| !frame.from_client() && frame.connection == 0);
    match first {
        Some(frame) if is_endpoint(frame) => CheckOutcome::passed("it comes first", vec![frame.seq]),
        Some(frame) => CheckOutcome::failed("another event comes first", vec![frame.seq]),
        None => CheckOutcome::not_applicable(NO_STREAM),
    }
}

pub(super) fn connection_number(connection: &ConnectionFrames<'_>) -> u64 {
    connection.frames.first().map_or(0, |frame| frame.connection)
}

/// The session of the exchange of a frame, as records name it.
pub(super) fn session_of<'a>(connection: &ConnectionFrames<'a>) -> Option<&'a str> {
    connection.request().and_then(|request| header(request, SESSION_HEADER))
}

/// Whether an exchange belongs to a further session, which is not that of the scenario.
pub(super) fn is_of_other_session(connection: &ConnectionFrames<'_>) -> bool {
    session_of(connection).is_some_and(|session| session.starts_with(OTHER_SESSION))
}

fn stream_end(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for connection in transcript.connections() {
        let posted = connection.request().filter(|request| method(request) == Some("POST") && request.is_request());
        let Some(request) = posted else { continue };
        let answer = connection.frames.iter().find(|frame| {
            is_event(frame)
                && frame.json().is_some_and(|json| json.get("method").is_none() && json.get("id") == request.id())
        });
        let Some(answer) = answer else { continue };
        let closed = |by: ConnectionEvent| connection.frames.iter().find(|frame| frame.body == Body::Event(by));
        let by_server = closed(ConnectionEvent::ClosedByServer);
        let end = by_server.or_else(|| closed(ConnectionEvent::ClosedByPeer));
        let until = end.map_or(transcript.evidence.elapsed_us, |frame| frame.at_us);
        let open_us = until.saturating_sub(answer.at_us);
        let limit = if by_server.is_some() { LATE_END_US } else { STREAM_END_US };
        let message = || format!("the stream is open {} ms after the response", open_us / 1000);
        findings.check(answer.seq, if open_us > limit { Err(message()) } else { Ok(()) });
    }
    findings.or_not_applicable("streams", NO_STREAM)
}

/// The streams that the client opened or resumed with GET.
fn all_get_streams<'t, 'a>(transcript: &'t Transcript<'a>) -> impl Iterator<Item = &'t ConnectionFrames<'a>> {
    transcript.connections().iter().filter(|connection| connection.request().and_then(method) == Some("GET"))
}

/// The streams that the client opened with GET and did not resume.
fn get_streams<'t, 'a>(transcript: &'t Transcript<'a>) -> impl Iterator<Item = &'t ConnectionFrames<'a>> {
    all_get_streams(transcript).filter(|connection| connection.resumes_after().is_none())
}

pub(super) fn messages<'a>(connection: &ConnectionFrames<'a>) -> impl Iterator<Item = Message<'a>> {
    let frames: Vec<&'a Frame> = connection.frames.iter().copied().filter(|frame| is_event(frame)).collect();
    frames.into_iter().flat_map(Message::all_of)
}

fn responses_on_get(transcript: &Transcript<'_>) -> CheckOutcome {
    if !transcript.is_http() {
        return CheckOutcome::not_applicable(NO_GET_STREAM);
    }
    let mut findings = Findings::default();
    for stream in get_streams(transcript) {
        let Some(first) = stream.frames.iter().find(|frame| is_event(frame)) else { continue };
        findings.saw(first.seq);
        for message in messages(stream).filter(|message| message.is_response()) {
            findings.fail(brief(message.json), [message.seq()]);
        }
    }
    findings.or_not_applicable("streams", NO_GET_STREAM)
}

fn response_stream(transcript: &Transcript<'_>) -> CheckOutcome {
    if !transcript.is_http() {
        return CheckOutcome::not_applicable("the transport is not Streamable HTTP");
    }
    let mut posts: HashMap<IdKey<'_>, HashSet<u64>> = HashMap::new();
    for request in transcript.client_messages().filter(Message::is_request) {
        if let Some(id) = request.id_key() {
            posts.entry(id).or_default().insert(request.frame.connection);
        }
    }
    let responses = || transcript.server_messages().filter(Message::is_response);
    let answered: HashSet<_> = responses().map(|one| (one.frame.connection, one.id_key())).collect();
    let mut seen = HashSet::new();
    let mut findings = Findings::default();
    for response in responses() {
        // An error without an id refers to no request.
        let id = response.id_key().filter(|_| !response.id().is_none_or(serde_json::Value::is_null));
        let Some(connections) = id.and_then(|id| posts.get(&id)) else { continue };
        let connection = transcript.connection_of(response.frame);
        let request = connection.and_then(|connection| connection.request());
        // Other checks judge the streams that GET opened.
        if request.is_none_or(|request| method(request) != Some("POST")) {
            continue;
        }
        let number = response.frame.connection;
        let is_second = !seen.insert((number, response.id_key()));
        // Sessions may use the same ids.
        let of_another = || connections.iter().any(|other| !answered.contains(&(*other, response.id_key())));
        let misplaced = !connections.contains(&number) || (is_second && of_another());
        let message = || format!("the response {} arrives on another exchange", brief(response.json));
        findings.check(response.seq(), if misplaced { Err(message()) } else { Ok(()) });
    }
    findings.or_not_applicable("responses", "the server sent no response")
}

fn one_stream(transcript: &Transcript<'_>) -> CheckOutcome {
    if !transcript.is_http() {
        return CheckOutcome::not_applicable("the transport is not Streamable HTTP");
    }
    let mut copies: BTreeMap<(Option<&str>, String), Vec<Sent<'_>>> = BTreeMap::new();
    let mut findings = Findings::default();
    for connection in transcript.connections() {
        let session = session_of(connection);
        for message in messages(connection).filter(|message| !is_resumed(transcript, message.frame)) {
            // Other checks judge responses, which belong to the stream of their request.
            if message.method().is_some() {
                findings.saw(message.seq());
                copies.entry((session, message.json.to_string())).or_default().push(Sent { message, connection });
            }
        }
    }
    for copies in copies.values_mut() {
        copies.sort_by_key(Sent::time);
        let mut times: HashMap<u64, Vec<u64>> = HashMap::new();
        for copy in &*copies {
            times.entry(copy.stream()).or_default().push(copy.time());
        }
        for (first, second) in copies.iter().zip(copies.iter().skip(1)) {
            if first.stream() != second.stream() && are_of_one_message(first, second, &times) {
                let (json, seqs) = (second.message.json, [first.message.seq(), second.message.seq()]);
                findings.fail(format!("{} is sent on two streams", brief(json)), seqs);
            }
        }
    }
    findings.or_not_applicable("messages", NO_STREAM)
}

/// A message, and the exchange whose stream has it.
struct Sent<'a> {
    message: Message<'a>,
    connection: &'a ConnectionFrames<'a>,
}

/// Copies of one message are sent within this time.
const SAME_TIME_US: u64 = 100_000;

impl Sent<'_> {
    fn stream(&self) -> u64 {
        connection_number(self.connection)
    }

    fn time(&self) -> u64 {
        self.message.frame.at_us
    }

    fn is_on_get_stream(&self) -> bool {
        self.connection.request().is_some_and(|request| method(request) == Some("GET"))
    }

    /// The times when a copy of a message on another stream would be sent on this one.
    fn open(&self) -> Range<u64> {
        let frames = &self.connection.frames;
        let time = |frame: Option<&&Frame>| frame.map_or(0, |frame| frame.at_us);
        if self.is_on_get_stream() {
            return time(frames.iter().find(|frame| !frame.from_client()))..u64::MAX;
        }
        time(frames.first())..time(frames.last()).saturating_add(SAME_TIME_US)
    }
}

/// Whether two equal messages on different streams are copies of one. Equal notifications can be about two requests,
/// and lists can change twice in a short time. A server that sends all to several streams sends as many on each.
fn are_of_one_message(first: &Sent<'_>, second: &Sent<'_>, times: &HashMap<u64, Vec<u64>>) -> bool {
    if first.message.is_request() || first.message.is("notifications/progress") {
        return true;
    }
    let is_at_one_time = second.time() - first.time() < SAME_TIME_US;
    if !is_at_one_time || !(first.is_on_get_stream() || second.is_on_get_stream()) {
        return false;
    }
    let (one, other) = (first.open(), second.open());
    let both = one.start.max(other.start)..one.end.min(other.end);
    let number = |copy: &Sent<'_>| {
        let until = |limit| times[&copy.stream()].partition_point(|time| *time < limit);
        until(both.end).saturating_sub(until(both.start))
    };
    number(first) == number(second)
}

/// The streams of single requests, with the request.
fn request_streams<'t, 'a>(
    transcript: &'t Transcript<'a>,
) -> impl Iterator<Item = (&'t RequestResponse<'a>, &'t ConnectionFrames<'a>)> {
    let requests = transcript.requests().iter().filter(|one| method(one.request.frame) == Some("POST"));
    requests.filter_map(|one| Some((one, transcript.connection_of(one.request.frame)?)))
}

/// The progress tokens of requests without a task.
fn tokens_of_requests(transcript: &Transcript<'_>) -> Vec<serde_json::Value> {
    let plain = transcript.requests().iter().filter(|one| one.param("task").is_none());
    plain.filter_map(progress_token).collect()
}

fn progress_token(one: &RequestResponse<'_>) -> Option<serde_json::Value> {
    one.param("_meta").and_then(|meta| meta.get("progressToken")).cloned()
}

fn unrelated_messages(transcript: &Transcript<'_>) -> CheckOutcome {
    let tokens = tokens_of_requests(transcript);
    let mut findings = Findings::default();
    for stream in get_streams(transcript) {
        let Some(first) = stream.frames.iter().find(|frame| is_event(frame)) else { continue };
        findings.saw(first.seq);
        for message in messages(stream).filter(|message| message.is("notifications/progress")) {
            let given = message.param("progressToken");
            if given.is_some_and(|given| tokens.contains(given)) {
                findings.fail(format!("the stream has {}", brief(message.json)), [message.seq()]);
            }
        }
    }
    findings.or_not_applicable("streams", NO_GET_STREAM)
}

fn retry_form(transcript: &Transcript<'_>) -> CheckOutcome {
    let sent = transcript.evidence.frames.iter().filter(|frame| !frame.from_client());
    let sent = sent.filter_map(|frame| Some((frame.seq, frame.http.as_ref()?.retry.as_deref()?)));
    let is_number = |retry: &str| !retry.is_empty() && retry.bytes().all(|byte| byte.is_ascii_digit());
    let fault = |retry: &&str| (!is_number(retry)).then(|| format!("the value of `retry` is `{retry}`"));
    Findings::from_each(sent, fault).or_not_applicable("events", "no event has a `retry`")
}

fn retry_sent(transcript: &Transcript<'_>) -> CheckOutcome {
    let resumed: HashSet<&str> = transcript
        .connections()
        .iter()
        .filter(|connection| connection.frames.iter().any(|frame| is_event(frame)))
        .filter_map(ConnectionFrames::resumes_after)
        .collect();
    // The stream of a cancelled request ends without a response (2025-11-25, basic/utilities/cancellation).
    let cancelled: HashSet<_> = transcript.client_messages().filter_map(|one| one.cancels().map(IdKey::new)).collect();
    let is_open = |one: &RequestResponse<'_>| one.request.id_key().is_none_or(|id| !cancelled.contains(&id));
    let mut findings = Findings::default();
    for (request, stream) in request_streams(transcript).filter(|(request, _)| is_open(request)) {
        let is_answered = messages(stream).any(|message| message.is_response() && message.id() == request.request.id());
        let closed = stream.frames.iter().find(|frame| frame.body == Body::Event(ConnectionEvent::ClosedByServer));
        let last = stream.frames.iter().filter_map(|frame| event_id(frame)).next_back();
        // A stream that cannot be resumed was terminated.
        let (Some(closed), Some(true)) = (closed, last.map(|last| resumed.contains(last) && !is_answered)) else {
            continue;
        };
        let has_retry = stream.frames.iter().any(|frame| frame.http.as_ref().is_some_and(|http| http.retry.is_some()));
        let text = || "the connection is closed without a `retry`".to_owned();
        findings.check(closed.seq, if has_retry { Ok(()) } else { Err(text()) });
    }
    findings.or_not_applicable("connections", "the server closed no connection before the response")
}

fn related_messages(transcript: &Transcript<'_>) -> CheckOutcome {
    // A task may send its progress on any stream (2025-11-25, basic/utilities/tasks).
    let with_task = transcript.requests_of("tools/call").filter(|one| one.param("task").is_some());
    let of_tasks: Vec<_> = with_task.filter_map(progress_token).collect();
    let mut findings = Findings::default();
    for (request, stream) in request_streams(transcript) {
        let own = progress_token(request);
        for message in messages(stream).filter(|message| message.is("notifications/progress")) {
            let Some(given) = message.param("progressToken").filter(|given| !of_tasks.contains(given)) else {
                continue;
            };
            let name = request.request.method().unwrap_or_default();
            let text = || format!("the stream of `{name}` has progress for {}", brief(given));
            findings.check(message.seq(), if own.as_ref() == Some(given) { Ok(()) } else { Err(text()) });
        }
    }
    findings.or_not_applicable("notifications", "no stream of a request has progress")
}

fn priming_event(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    // Without the header, as in `initialize`, the server need not know that the client has a revision with the rule.
    let is_told = |one: &RequestResponse<'_>| header(one.request.frame, REVISION_HEADER).is_some();
    for (_, stream) in request_streams(transcript).filter(|(one, _)| is_told(one)) {
        let has_id = |frame: &&&Frame| event_id(frame).is_some();
        // Ids make a stream resumable. Without them there is nothing to begin with.
        let Some(first) = stream.frames.iter().filter(|frame| !frame.from_client()).find(has_id) else { continue };
        let message = || "the first event with an id has data".to_owned();
        findings.check(first.seq, if first.json().is_some() { Err(message()) } else { Ok(()) });
    }
    findings.or_not_applicable("streams", "no event of a stream has an id")
}

/// Only a server that delivers messages again, or that knows the ids of its events, shows whether it went on with a call.
fn outlives(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut resumed = transcript.connections().iter().filter(|one| one.resumes_after().is_some());
    let resumes = resumed.any(|one| one.status().is_some_and(is_client_error) || messages(one).next().is_some());
    let mut findings = Findings::default();
    for (call, stream) in request_streams(transcript).filter(|_| resumes) {
        let lost = stream.frames.iter().find(|frame| frame.body == Body::Event(ConnectionEvent::ClosedByPeer));
        let Some(lost) = lost else { continue };
        let is_equal = |one: &&RequestResponse<'_>| one.request.is_same_call(&call.request);
        let earlier = transcript.requests_of("tools/call").take_while(|one| one.request.seq() < call.request.seq());
        let earlier = earlier.filter(is_equal);
        let took = earlier.filter_map(|one| one.response?.at_us().checked_sub(one.request.at_us())).max();
        let Some(took) = took else { continue };
        let is_open = |one: &&ConnectionFrames<'_>| one.frames.iter().any(|frame| is_event(frame));
        let rest: Vec<_> = resumptions(transcript, stream).into_iter().filter(is_open).collect();
        let Some(last) = rest.last().and_then(|one| one.frames.first()) else { continue };
        let waited_us = transcript.evidence.elapsed_us.saturating_sub(lost.at_us);
        if call.response.is_some() {
            findings.saw(last.seq);
        } else if waited_us > 2 * took + STREAM_END_US {
            let text = format!("no response {} ms after the connection was lost", waited_us / 1000);
            findings.fail(text, [call.request.seq(), lost.seq, last.seq]);
        }
    }
    findings.or_not_applicable("calls", "no call lost its connection on a server that delivers messages again")
}

/// The events that other sessions had before a stream was resumed, none of which it has. Empty for other streams.
fn earlier_events_of_others<'a>(transcript: &Transcript<'a>, stream: &ConnectionFrames<'a>) -> Vec<Message<'a>> {
    let Some(request) = stream.request().filter(|_| stream.resumes_after().is_some()) else { return Vec::new() };
    // The response to `initialize` begins the session.
    let is_own = |other: &&ConnectionFrames<'_>| {
        session_of(other) == session_of(stream) || other.response_header(SESSION_HEADER) == session_of(stream)
    };
    let others = transcript.connections().iter().filter(|other| !is_own(other));
    others.flat_map(messages).filter(|message| message.seq() < request.seq).collect()
}

fn is_same_event(one: &Message<'_>, other: &Message<'_>) -> bool {
    event_id(one.frame).is_some() && event_id(one.frame) == event_id(other.frame) && one.json == other.json
}

fn separate_sessions(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    // One that resumes a stream of another session gets nothing either.
    for stream in all_get_streams(transcript).filter(|stream| is_of_other_session(stream)) {
        let Some(first) = stream.frames.iter().find(|frame| is_event(frame)) else { continue };
        findings.saw(first.seq);
        let of_session = |one: &&RequestResponse<'_>| {
            let request = one.request.frame;
            let begun = transcript.reply(request).filter(|_| one.request.is("initialize")).unwrap_or(request);
            header(begun, SESSION_HEADER) == session_of(stream)
        };
        let own = || transcript.requests().iter().filter(of_session);
        let ids: HashSet<_> = own().filter_map(|one| one.request.id_key()).collect();
        let tokens: HashSet<_> = own().filter_map(|one| Some(progress_token(one)?.to_string())).collect();
        let foreign = earlier_events_of_others(transcript, stream);
        for message in messages(stream) {
            let is_own_response = message.id_key().is_some_and(|id| ids.contains(&id));
            let token = message.param("progressToken").map(ToString::to_string);
            let is_own_progress = token.is_some_and(|token| tokens.contains(&token));
            let belongs_elsewhere = (message.is_response() && !is_own_response)
                || (message.is("notifications/progress") && !is_own_progress)
                || foreign.iter().any(|other| is_same_event(other, &message));
            if belongs_elsewhere {
                findings.fail(format!("the stream gets {}", brief(message.json)), [message.seq()]);
            }
        }
    }
    findings.or_not_applicable("sessions", "no second session was opened with a stream")
}
