//! Sessions, headers and bodies of Streamable HTTP in the handshake revisions.

use serde_json::Value;

use super::http::{check_status, exchanges};
use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope},
    transcript::{
        Body, ConnectionEvent, Frame, Transcript,
        http::{REVISION_HEADER, SESSION_HEADER, header, media_type, method, status},
    },
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "http-session-ids-are-random",
        requirement: "transports/random-session-ids",
        scope: Scope::Named,
        expected: "session ids are unique and cannot be guessed",
        rule: Rule::Case(random_ids),
    },
    Check {
        id: "http-unknown-session-is-rejected",
        requirement: "transports/unknown-session",
        scope: Scope::Named,
        expected: "a request with an unknown session id is rejected, if the server assigns session ids",
        rule: Rule::Case(unknown_session),
    },
    Check {
        id: "http-unknown-session-is-404",
        requirement: "transports/unknown-session-404",
        scope: Scope::Named,
        expected: "the response to a request with an unknown session id is 404",
        rule: Rule::Case(unknown_session_status),
    },
    Check {
        id: "http-ended-session-is-rejected",
        requirement: "transports/ended-session-rejected",
        scope: Scope::Named,
        expected: "a request in a closed session is rejected",
        rule: Rule::Case(ended_session),
    },
    Check {
        id: "http-missing-revision-is-tolerated",
        requirement: "transports/missing-version-header",
        scope: Scope::Named,
        expected: "a request without the revision header is answered",
        rule: Rule::Case(missing_revision),
    },
    Check {
        id: "http-response-is-accepted",
        requirement: "transports/response-202",
        scope: Scope::Always,
        expected: "the response to a posted JSON-RPC response is 202 without a body, or an error status",
        rule: Rule::Case(posted_response),
    },
    Check {
        id: "http-broken-json-is-4xx",
        requirement: "transports/broken-json",
        scope: Scope::Named,
        expected: "the response to a body that is not JSON is a 4xx status",
        rule: Rule::Case(broken_json),
    },
    Check {
        id: "http-input-has-a-response",
        requirement: "transports/input-has-a-response",
        scope: Scope::Named,
        expected: "a body that is not a valid message has an HTTP response",
        rule: Rule::Case(input_has_response),
    },
    Check {
        id: "http-valid-header-forms",
        requirement: "transports/header-forms",
        scope: Scope::Named,
        expected: "media types with parameters and in another order are accepted",
        rule: Rule::Case(header_forms),
    },
    Check {
        id: "http-json-body-is-one-object",
        requirement: "transports/one-json-object",
        scope: Scope::Always,
        expected: "the JSON response to a single request is one object",
        rule: Rule::Case(one_object),
    },
];

/// The estimated variety that an id must have. Random ids of 64 bits are just below what RFC 4122 provides.
const MIN_BITS: u64 = 60;
/// The levels of JSON that the recorder reads.
const MAX_LEVELS: usize = 127;
const NO_SESSION: &str = "the server assigns no session ids";
/// The session id that the scenario sends and that no server assigned.
const UNKNOWN_SESSION: &str = "workbench-no-such-session";

/// Whether the server assigned an id to the session of the case.
fn has_session(transcript: &Transcript<'_>) -> bool {
    transcript.server_identity().and_then(|identity| identity.get("session")).is_some()
        || transcript.client_frames().any(|frame| header(frame, SESSION_HEADER).is_some_and(|id| id != UNKNOWN_SESSION))
}

fn random_ids(transcript: &Transcript<'_>) -> CheckOutcome {
    match transcript.step_numbers(["assigned", "distinct", "bits"]) {
        None | Some([0 | 1, ..]) => CheckOutcome::not_applicable(NO_SESSION),
        Some([assigned, distinct, _]) if distinct < assigned => {
            CheckOutcome::failed(format!("{assigned} sessions have {distinct} different ids"), vec![])
        }
        Some([assigned, _, bits]) if bits < MIN_BITS => {
            CheckOutcome::failed(format!("the ids of {assigned} sessions differ in about {bits} bits"), vec![])
        }
        Some([assigned, _, bits]) => {
            CheckOutcome::passed(format!("the ids of {assigned} sessions differ in about {bits} bits"), vec![])
        }
    }
}

fn in_unknown_session(frame: &Frame) -> bool {
    header(frame, SESSION_HEADER) == Some(UNKNOWN_SESSION)
}

fn unknown_session(transcript: &Transcript<'_>) -> CheckOutcome {
    if !has_session(transcript) {
        return CheckOutcome::not_applicable(NO_SESSION);
    }
    check_status(exchanges(transcript, in_unknown_session), |status| status >= 400)
}

fn unknown_session_status(transcript: &Transcript<'_>) -> CheckOutcome {
    if !has_session(transcript) {
        return CheckOutcome::not_applicable(NO_SESSION);
    }
    let rejected = exchanges(transcript, in_unknown_session).filter(|(.., status)| *status >= 400);
    check_status(rejected, |status| status == 404)
}

fn ended_session(transcript: &Transcript<'_>) -> CheckOutcome {
    let closed =
        exchanges(transcript, |frame| method(frame) == Some("DELETE") && header(frame, SESSION_HEADER).is_some())
            .find(|(.., status)| (200..300).contains(status))
            .map(|(_, reply, _)| reply.seq);
    let Some(closed) = closed else { return CheckOutcome::not_applicable("no session was closed") };
    let later = exchanges(transcript, move |frame| {
        let is_message = frame.is_request() || frame.is_notification();
        frame.seq > closed && is_message && header(frame, SESSION_HEADER).is_some()
    });
    check_status(later, |status| status >= 400)
}

fn missing_revision(transcript: &Transcript<'_>) -> CheckOutcome {
    let without = exchanges(transcript, |frame| {
        let is_later = frame.is_request() && frame.method() != Some("initialize");
        is_later && method(frame) == Some("POST") && header(frame, REVISION_HEADER).is_none()
    });
    check_status(without, |status| (200..300).contains(&status))
}

fn posted_response(transcript: &Transcript<'_>) -> CheckOutcome {
    let posts = exchanges(transcript, |frame| method(frame) == Some("POST") && frame.is_response());
    let fault = |(_, reply, status): &(&Frame, &Frame, u16)| match status {
        202 if matches!(reply.body, Body::Event(ConnectionEvent::Bodiless)) => None,
        202 => Some("202 has a body".to_owned()),
        status if *status >= 400 => None,
        status => Some(format!("the status is {status}")),
    };
    Findings::from_each(posts.map(|exchange| (exchange.1.seq, exchange)), fault)
        .or_not_applicable("responses", "no response was posted")
}

fn broken_json(transcript: &Transcript<'_>) -> CheckOutcome {
    let is_broken = |frame: &Frame| matches!(&frame.body, Body::Text(text) if !is_deep(text));
    let posts = exchanges(transcript, |frame| method(frame) == Some("POST") && is_broken(frame));
    check_status(posts, |status| (400..500).contains(&status))
}

/// How long a body without a response must have waited, in microseconds. A step of the scenario waits longer.
const UNANSWERED_US: u64 = 4_000_000;

fn input_has_response(transcript: &Transcript<'_>) -> CheckOutcome {
    let last_us = transcript.evidence.frames.last().map_or(0, |frame| frame.at_us);
    let posts = transcript.client_frames().filter(|frame| method(frame) == Some("POST") && is_invalid(frame));
    // One that was sent shortly before the end says nothing.
    let judged = posts.filter_map(|post| match transcript.reply(post) {
        Some(reply) => Some((reply.seq, status(reply).is_none().then_some("the connection ended"))),
        None if last_us >= post.at_us + UNANSWERED_US => Some((post.seq, Some("the connection stays open"))),
        None => None,
    });
    Findings::from_each(judged, |ended| ended.map(|how| format!("{how} without a response")))
        .or_not_applicable("responses", "no invalid message was posted")
}

/// Whether a body is neither a request nor a notification.
fn is_invalid(frame: &Frame) -> bool {
    match &frame.body {
        Body::Json(message) => {
            let has_valid_id = message.get("id").is_none_or(|id| id.is_string() || id.is_number());
            let has_valid_params = message.get("params").is_none_or(Value::is_object);
            !(message["method"].is_string() && has_valid_id && has_valid_params)
        }
        Body::Text(text) => !is_deep(text),
        Body::Event(_) => false,
    }
}

/// Whether text opens more levels than the recorder reads, so that it may be JSON.
fn is_deep(text: &str) -> bool {
    text.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count() > MAX_LEVELS
}

fn header_forms(transcript: &Transcript<'_>) -> CheckOutcome {
    let unusual = |frame: &Frame| {
        let differs = |name: &str, usual: &str| header(frame, name).is_some_and(|value| value != usual);
        let accept = differs("accept", "application/json, text/event-stream");
        frame.is_request() && (accept || differs("content-type", "application/json"))
    };
    check_status(exchanges(transcript, unusual), |status| (200..300).contains(&status))
}

fn one_object(transcript: &Transcript<'_>) -> CheckOutcome {
    let replies = transcript.client_frames().filter(|frame| method(frame) == Some("POST") && frame.is_request());
    let replies = replies.filter_map(|frame| transcript.reply(frame));
    let replies = replies.filter(|reply| {
        // 202 has no body: the server took a malformed request for a notification.
        status(reply).is_some_and(|status| status < 300 && status != 202)
            && media_type(reply).as_deref() == Some("application/json")
    });
    let fault = |reply: &&Frame| match &reply.body {
        Body::Json(value) if value.is_object() => None,
        Body::Json(_) => Some("it is another value".to_owned()),
        Body::Text(_) => Some("it is not JSON".to_owned()),
        Body::Event(_) => Some("it has no body".to_owned()),
    };
    Findings::from_each(replies.map(|reply| (reply.seq, reply)), fault)
        .or_not_applicable("responses", "no request was answered with JSON")
}
