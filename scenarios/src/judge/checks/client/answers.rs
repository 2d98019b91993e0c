//! Responses of a client to the requests of a server. Servers send requests up to 2025-11-25; since 2026-07-28 they do not,
//! and clients do not send responses.

use std::collections::{HashMap, HashSet};

use ::evidence::Direction;
use serde_json::Value;

use super::{
    RACE_US, is_before,
    modern::{NOT_MODERN, modern_messages},
};
use crate::{
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope, quoted},
        transcript::{Body, ConnectionEvent, Frame, IdKey, Message, Session, Transcript, http::method},
    },
    model::{Revision, Transport},
    shapes::Shapes,
};

/// How long a client may take to answer a ping, in microseconds.
const PING_US: u64 = 1_000_000;
/// After which time an answer to a ping is not prompt, in microseconds.
const LATE_PING_US: u64 = 2 * PING_US;
/// How long it may take where a user or a model has to answer, in microseconds.
const USER_US: u64 = 3_000_000;

/// The code of an unknown method (JSON-RPC 2.0, "Error object").
pub(super) const METHOD_NOT_FOUND: i64 = -32601;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "answers-server-requests",
        requirement: "client/answers-server-requests",
        scope: Scope::Always,
        expected: "each request of the server gets one response with its id; a ping gets an empty result",
        rule: Rule::Case(answers_server_requests),
    },
    Check {
        id: "pings-answered-promptly",
        requirement: "client/answers-server-requests",
        scope: Scope::Always,
        expected: "a ping gets its response within 2 s",
        rule: Rule::Case(pings_answered_promptly),
    },
    Check {
        id: "answers-only-requests",
        requirement: "client/answers-only-requests",
        scope: Scope::Always,
        expected: "each response of the client has the id of a request of the server; one without an id answers a message that cannot be read",
        rule: Rule::Case(answers_only_requests),
    },
    Check {
        id: "unknown-requests-rejected",
        requirement: "client/unknown-requests-rejected",
        scope: Scope::Always,
        expected: "a request of an unknown method gets an error",
        rule: Rule::Case(unknown_requests_rejected),
    },
    Check {
        id: "unknown-requests-code",
        requirement: "client/unknown-requests-code",
        scope: Scope::Always,
        expected: "the error for a request of an unknown method is -32601",
        rule: Rule::Case(unknown_requests_code),
    },
    Check {
        id: "modern-sends-no-responses",
        requirement: "client/modern-sends-no-responses",
        scope: Scope::Always,
        expected: "the client sends requests and notifications, and no responses",
        rule: Rule::Case(modern_sends_no_responses),
    },
];

fn answers_server_requests(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let mut next_us: HashMap<&str, u64> = HashMap::new();
    let mut ends = Vec::new();
    for session in transcript.sessions().iter().rev().filter(|session| session.has_initialize()) {
        ends.push((session, end_of(transcript, session, next_us.get(session.server).copied())));
        next_us.insert(session.server, session.frames.first().map_or(0, |frame| frame.at_us));
    }
    for (session, end_us) in ends.into_iter().rev() {
        Dialog::new(session, end_us).judge(&mut findings);
    }
    findings.or_not_applicable("server requests", "no server sent a request that had to be answered in time")
}

/// The server's requests in a session and the client's responses, by id.
struct Dialog<'t, 'a> {
    session: &'t Session<'a>,
    end_us: u64,
    requests: Vec<Message<'a>>,
    request_count: HashMap<IdKey<'a>, usize>,
    responses: HashMap<IdKey<'a>, Vec<Message<'a>>>,
    withdrawn: HashMap<IdKey<'a>, u64>,
    initialized: Option<Message<'a>>,
}

impl<'t, 'a> Dialog<'t, 'a> {
    fn new(session: &'t Session<'a>, end_us: u64) -> Self {
        let requests: Vec<_> =
            session.messages().filter(|message| !message.by_client() && is_sound_request(message)).collect();
        let mut request_count = HashMap::new();
        for id in requests.iter().filter_map(Message::id_key) {
            *request_count.entry(id).or_default() += 1;
        }
        let mut responses = HashMap::<_, Vec<_>>::new();
        for message in session.client_messages().filter(Message::is_response) {
            if let Some(id) = message.id_key() {
                responses.entry(id).or_default().push(message);
            }
        }
        let withdrawn = session.messages().filter(|message| !message.by_client());
        let withdrawn =
            withdrawn.filter_map(|message| Some((IdKey::new(message.cancels()?), message.at_us()))).collect();
        let initialized = session.client_messages().find(|message| message.is("notifications/initialized"));
        Self { session, end_us, requests, request_count, responses, withdrawn, initialized }
    }

    fn judge(&self, findings: &mut Findings) {
        for request in &self.requests {
            self.judge_request(request, findings);
        }
    }

    fn judge_request(&self, request: &Message<'a>, findings: &mut Findings) {
        let Some(id) = request.id_key() else { return };
        let answers = self.responses.get(&id).map_or(&[][..], Vec::as_slice);
        let (method, shown) = (request.method().unwrap_or_default(), request.id().map(quoted).unwrap_or_default());
        if answers.len() > self.request_count[&id] {
            findings.saw(request.seq());
            let frames = answers.iter().map(|answer| answer.seq());
            return findings
                .fail(format!("`{method}` with the id {shown} was answered {} times", answers.len()), frames);
        }
        if let Some(answer) = answers.first() {
            let wrong = method == "ping" && !is_empty_result(answer);
            let message = || format!("`ping` was answered with {}", quoted(answer.json));
            return findings.check(answer.seq(), if wrong { Err(message()) } else { Ok(()) });
        }
        if self.must_be_answered(request, id) {
            findings.saw(request.seq());
            findings.fail(format!("`{method}` with the id {shown} was not answered"), [request.seq()]);
        }
    }

    /// Whether there was a reason to answer, and time for it.
    fn must_be_answered(&self, request: &Message<'a>, id: IdKey<'a>) -> bool {
        let ping = request.is("ping");
        // A server should send nothing but pings before it has received `initialized` (basic/lifecycle#initialization).
        let early = !ping && !self.initialized.is_some_and(|initialized| is_before(&initialized, request));
        let closed = self.session.closes_of(request.frame.connection).first();
        let unseen = request.frame.http.is_some() && closed.is_some_and(|mark| mark.at_us <= request.at_us() + RACE_US);
        let allowed = if ping { PING_US } else { USER_US };
        // A request that was cancelled in time needs no response.
        let end_us = self.withdrawn.get(&id).map_or(self.end_us, |at_us| self.end_us.min(*at_us));
        !early && !unseen && end_us.saturating_sub(request.at_us()) > allowed
    }
}

fn is_sound_request(message: &Message<'_>) -> bool {
    let id = message.id().is_some_and(|id| id.is_string() || id.is_i64() || id.is_u64());
    let params = message.params().is_none_or(Value::is_object);
    message.is_request() && id && params && message.json.get("jsonrpc").and_then(Value::as_str) == Some("2.0")
}

/// A result without members, or with metadata only (`_meta` is allowed in every result).
fn is_empty_result(answer: &Message<'_>) -> bool {
    answer.result().and_then(Value::as_object).is_some_and(|members| members.keys().all(|name| name == "_meta"))
}

/// The latest time at which a session had ended. `next_us` is the beginning of the next session with the server.
fn end_of(transcript: &Transcript<'_>, session: &Session<'_>, next_us: Option<u64>) -> u64 {
    let evidence = transcript.evidence;
    let over_http = session.frames.iter().any(|frame| frame.http.is_some());
    let stream_is_session = evidence.transport == Transport::HttpSse;
    let began = session.frames.first().map_or(0, |frame| frame.at_us);
    let ends = session.frames.iter().filter(|frame| match &frame.body {
        // Over HTTP a connection is one exchange, except for the stream of HTTP+SSE, which is the session.
        Body::Event(ConnectionEvent::ClosedByPeer | ConnectionEvent::ClosedByServer) => {
            !over_http || stream_is_session && frame.connection == session.frames[0].connection
        }
        Body::Event(ConnectionEvent::Sigterm | ConnectionEvent::Exit) => true,
        _ => method(frame) == Some("DELETE"),
    });
    let ends = ends.map(|frame| frame.at_us).filter(|at_us| *at_us > began);
    let exits = transcript.exits(session.server);
    let exit = exits.get(exits.partition_point(|frame| frame.at_us <= began)).filter(|_| over_http);
    let process = evidence.process.as_ref().and_then(|process| process.ended_us);
    let others = exit.map(|frame| frame.at_us).into_iter().chain(process).chain(next_us).chain([evidence.elapsed_us]);
    ends.chain(others).min().unwrap_or_default()
}

/// Over HTTP the client may read a ping late, after its stream was resumed.
fn pings_answered_promptly(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for session in transcript.sessions().iter().filter(|session| session.has_initialize()) {
        let mut pings: HashMap<IdKey<'_>, Message<'_>> = HashMap::new();
        for message in session.messages().filter(|message| message.frame.http.is_none()) {
            let Some(id) = message.id_key() else { continue };
            if !message.by_client() && message.is("ping") {
                pings.insert(id, message);
            } else if message.by_client()
                && message.is_response()
                && let Some(ping) = pings.remove(&id)
            {
                let waited_us = message.at_us().saturating_sub(ping.at_us());
                let fault = || format!("`ping` was answered after {} ms", waited_us / 1000);
                findings.check(message.seq(), if waited_us > LATE_PING_US { Err(fault()) } else { Ok(()) });
            }
        }
    }
    findings.or_not_applicable("pings", "the client answered no ping over stdio")
}

fn answers_only_requests(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    // Over HTTP a response may be sent in a session that is lost by now, so all sessions of a server count.
    let mut requests: HashSet<(&str, IdKey<'_>)> = HashSet::new();
    // Without the id of a request, an error answers a message that cannot be read.
    for message in transcript.messages().filter(|message| message.id().is_some_and(|id| !id.is_null())) {
        let Some(id) = message.id_key() else { continue };
        let server = message.frame.server.as_str();
        if !message.by_client() {
            requests.extend(message.method().map(|_| (server, id)));
        } else if message.is_response() {
            let known = requests.contains(&(server, id));
            let fault = || format!("no request has the id {}", message.id().map(quoted).unwrap_or_default());
            findings.check(message.seq(), if known { Ok(()) } else { Err(fault()) });
        }
    }
    let unreadable = transcript.evidence.frames.iter().find(|frame| !frame.from_client() && !is_readable(frame));
    let readable_until = unreadable.map_or(u64::MAX, |frame| frame.seq);
    let without_id = |message: &Message<'_>| message.is_response() && message.id().is_none_or(Value::is_null);
    for message in transcript.client_messages().filter(without_id) {
        let in_vain = message.seq() < readable_until;
        let fault = || format!("no message was unreadable, and the client sent {}", quoted(message.json));
        findings.check(message.seq(), if in_vain { Err(fault()) } else { Ok(()) });
    }
    findings.or_not_applicable("responses", "the client sent no response")
}

/// Whether a frame is a message of JSON-RPC, or none at all.
fn is_readable(frame: &Frame) -> bool {
    match &frame.body {
        Body::Json(json) => json.get("jsonrpc").is_some_and(|version| version == "2.0"),
        Body::Text(_) => false,
        Body::Event(_) => true,
    }
}

fn unknown_requests_rejected(transcript: &Transcript<'_>) -> CheckOutcome {
    judge_unknown_requests(transcript, |error| error.is_some())
}

fn unknown_requests_code(transcript: &Transcript<'_>) -> CheckOutcome {
    let is_method_not_found = |error: &Value| error.get("code").and_then(Value::as_i64) == Some(METHOD_NOT_FOUND);
    // Another check judges a result.
    judge_unknown_requests(transcript, |error| error.is_none_or(is_method_not_found))
}

/// Judges the error in each response to a request of an unknown method.
fn judge_unknown_requests(transcript: &Transcript<'_>, is_right: impl Fn(Option<&Value>) -> bool) -> CheckOutcome {
    let mut findings = Findings::default();
    for session in transcript.sessions() {
        let mut unknown: HashMap<IdKey<'_>, &str> = HashMap::new();
        for message in session.messages() {
            let Some(id) = message.id_key() else { continue };
            if !message.by_client() {
                unknown.remove(&id);
                unknown.extend(message.method().filter(|method| !is_ever_sent(method)).map(|method| (id, method)));
            } else if let Some(method) = unknown.get(&id).filter(|_| message.is_response()) {
                let fault = || format!("`{method}` was answered with {}", quoted(message.json));
                findings.check(message.seq(), if is_right(message.error()) { Ok(()) } else { Err(fault()) });
            }
        }
    }
    findings.or_not_applicable("responses", "the client answered no request of an unknown method")
}

/// Whether servers of some revision send requests of this method.
fn is_ever_sent(method: &str) -> bool {
    let has = |revision| Shapes::in_revision(revision).has_method(method, Direction::ServerToClient);
    Revision::ALL.into_iter().any(has)
}

fn modern_sends_no_responses(transcript: &Transcript<'_>) -> CheckOutcome {
    let messages = modern_messages(transcript).map(|message| (message.seq(), message));
    let fault =
        |message: &Message<'_>| message.is_response().then(|| format!("it sent the response {}", quoted(message.json)));
    Findings::from_each(messages, fault).or_not_applicable("messages", NOT_MODERN)
}

#[cfg(test)]
mod tests;
