//! What a client answers to the requests of a server. Up to 2025-11-25 servers ask; since 2026-07-28 they do not, and
//! clients do not send responses.

use mock_servers::{Body, Mark};
use serde_json::Value;

use super::{
    RACE_US,
    findings::{Findings, shown},
    message::Message,
    modern::modern_messages,
    session::{Session, method, sessions},
};
use crate::{
    evidence::Evidence,
    judge::check::{Check, Ruling, Scope},
    model::{Subject, Transport},
};

/// How long a client may take for a ping, in microseconds.
const PING_US: u64 = 1_000_000;
/// How long it may take for what a user or a model has to think about, before its silence can be held against it.
const THOUGHT_US: u64 = 3_000_000;

pub(super) const ALL: &[Check] = &[
    Check {
        id: "answers-server-requests",
        requirement: "client/answers-server-requests",
        subject: Subject::Client,
        scope: Scope::Always,
        expected: "each request of the server gets one response with its id; a ping gets an empty result",
        rule: answers_server_requests,
    },
    Check {
        id: "modern-sends-no-responses",
        requirement: "client/modern-sends-no-responses",
        subject: Subject::Client,
        scope: Scope::Always,
        expected: "the client sends requests and notifications, and no responses",
        rule: modern_sends_no_responses,
    },
];

fn answers_server_requests(evidence: &Evidence) -> Ruling {
    let mut findings = Findings::default();
    let sessions = sessions(evidence);
    for (index, session) in sessions.iter().enumerate().filter(|(_, session)| session.has_initialize()) {
        let next = sessions[index + 1..].iter().find(|next| next.server == session.server && next.has_initialize());
        let end_us = end_of(evidence, session, next);
        for request in session.messages().filter(|message| !message.by_client() && is_sound_request(message)) {
            judge_request(session, &request, end_us, &mut findings);
        }
    }
    findings.or_not_applicable("requests of a server", "no server asked anything that had to be answered in time")
}

fn is_sound_request(message: &Message<'_>) -> bool {
    let id = message.id().is_some_and(|id| id.is_string() || id.is_i64() || id.is_u64());
    let params = message.params().is_none_or(Value::is_object);
    message.is_request() && id && params && message.json.get("jsonrpc").and_then(Value::as_str) == Some("2.0")
}

fn judge_request(session: &Session<'_>, request: &Message<'_>, end_us: u64, findings: &mut Findings) {
    let same_id = |message: &Message<'_>| message.id() == request.id();
    let asked = session.messages().filter(|message| !message.by_client() && is_sound_request(message)).filter(same_id);
    let asked = asked.count();
    let answers: Vec<_> = session.said().filter(|message| message.is_response() && same_id(message)).collect();
    let (method, id) = (request.method().unwrap_or_default(), request.id().map(shown).unwrap_or_default());
    if answers.len() > asked {
        findings.saw(request.seq());
        let frames = answers.iter().map(|answer| answer.seq());
        return findings.breach(format!("`{method}` with the id {id} was answered {} times", answers.len()), frames);
    }
    if let Some(answer) = answers.first() {
        let words = format!("`ping` was answered with {}", shown(answer.json));
        let well = method != "ping" || is_empty_result(answer);
        return findings.judge(answer.seq(), if well { Ok(()) } else { Err(words) });
    }
    if must_be_answered(session, request, end_us) {
        findings.saw(request.seq());
        findings.breach(format!("`{method}` with the id {id} was not answered"), [request.seq()]);
    }
}

/// A result without a member, or with metadata alone (`_meta` is free in every result).
fn is_empty_result(answer: &Message<'_>) -> bool {
    answer.result().and_then(Value::as_object).is_some_and(|members| members.keys().all(|name| name == "_meta"))
}

/// Whether there was time for an answer, and a reason to give one.
fn must_be_answered(session: &Session<'_>, request: &Message<'_>, end_us: u64) -> bool {
    let withdrawn = session.messages().any(|message| !message.by_client() && message.cancels() == request.id());
    // A server should ask nothing but pings before it has seen `initialized` (basic/lifecycle#initialization).
    let early = !request.is("ping")
        && !session.said().any(|message| message.is("notifications/initialized") && message.seq() < request.seq());
    let unseen = request.frame.http.is_some()
        && session
            .marks(Mark::ClosedByPeer)
            .chain(session.marks(Mark::ClosedByServer))
            .any(|mark| mark.connection == request.frame.connection && mark.at_us <= request.at_us() + RACE_US);
    let allowed = if request.is("ping") { PING_US } else { THOUGHT_US };
    !withdrawn && !early && !unseen && end_us.saturating_sub(request.at_us()) > allowed
}

/// When a session had ended at the latest.
fn end_of(evidence: &Evidence, session: &Session<'_>, next: Option<&Session<'_>>) -> u64 {
    let over_http = session.frames.iter().any(|frame| frame.http.is_some());
    let stream_is_session = evidence.transport == Transport::Sse;
    let ends = session.frames.iter().copied().filter(|frame| match &frame.body {
        // Over HTTP a connection is one exchange of many, but for the stream of HTTP+SSE, which is the session.
        Body::Mark(Mark::ClosedByPeer | Mark::ClosedByServer) => {
            !over_http || stream_is_session && frame.connection == session.frames[0].connection
        }
        Body::Mark(Mark::Sigterm | Mark::Exit) => true,
        _ => method(frame) == Some("DELETE"),
    });
    let gone = evidence
        .frames
        .iter()
        .filter(|frame| over_http && frame.server == session.server && frame.body == Body::Mark(Mark::Exit));
    let begun = session.frames.first().map_or(0, |frame| frame.at_us);
    let process = evidence.process.as_ref().and_then(|process| process.ended_us);
    let next = next.and_then(|next| next.frames.first()).map(|frame| frame.at_us);
    let marks = ends.chain(gone).map(|frame| frame.at_us).filter(|at_us| *at_us > begun);
    marks.chain(process).chain(next).chain([evidence.elapsed_us]).min().unwrap_or_default()
}

fn modern_sends_no_responses(evidence: &Evidence) -> Ruling {
    let mut findings = Findings::default();
    for message in modern_messages(evidence) {
        let words = format!("it sent the response {}", shown(message.json));
        findings.judge(message.seq(), if message.is_response() { Err(words) } else { Ok(()) });
    }
    findings.or_not_applicable("messages", super::modern::NOT_MODERN)
}

#[cfg(test)]
mod tests;
