//! Reactions of a server to input that it cannot understand: unknown methods, broken JSON, unknown notifications.

use std::borrow::Cow;

use serde_json::Value;

use super::{NO_RESPONSE, known};
use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope, brief},
    transcript::{Body, ConnectionEvent, Frame, RequestResponse, Transcript},
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "unknown-method-is-refused",
        requirement: "messages/unknown-method",
        scope: Scope::Named,
        expected: "an unknown method is answered with an error",
        rule: Rule::Case(unknown_method),
    },
    Check {
        id: "unknown-method-code",
        requirement: "messages/method-not-found",
        scope: Scope::Named,
        expected: "the error code of an unknown method is -32601 (method not found)",
        rule: Rule::Case(unknown_method_code),
    },
    Check {
        id: "survives-broken-json",
        requirement: "messages/survives-broken-json",
        scope: Scope::Named,
        expected: "the server still responds after a message that is not JSON",
        rule: Rule::Case(survives_broken_json),
    },
    Check {
        id: "broken-json-code",
        requirement: "messages/parse-error",
        scope: Scope::Named,
        expected: "a response to broken JSON has the code -32700 (parse error)",
        rule: Rule::Case(broken_json_code),
    },
    Check {
        id: "survives-unknown-notification",
        requirement: "messages/unknown-notification",
        scope: Scope::Named,
        expected: "the server still responds after an unknown notification",
        rule: Rule::Case(survives_unknown_notification),
    },
];

const NO_UNKNOWN_METHOD: &str = "no unknown method was requested";
const NO_BROKEN_JSON: &str = "no broken JSON was sent";

/// The first request of the method that no server has.
pub(super) fn unknown_request<'t, 'a>(transcript: &'t Transcript<'a>) -> Option<&'t RequestResponse<'a>> {
    transcript.requests_of(transcript.unknown.method.as_deref()?).next()
}

fn unknown_method(transcript: &Transcript<'_>) -> CheckOutcome {
    if unknown_request(transcript).is_none() {
        return CheckOutcome::not_applicable(NO_UNKNOWN_METHOD);
    }
    let fault = |one: &&RequestResponse<'_>| {
        let response = one.response.map_or_else(|| NO_RESPONSE.to_owned(), |response| brief(response.json));
        let method = one.request.method().unwrap_or_default();
        one.error().is_none().then(|| format!("the response to `{method}` is {response}"))
    };
    let requests = unknown_requests(transcript).map(|one| (one.last_frame(), one));
    Findings::from_each(requests, fault).or_not_applicable("methods", NO_UNKNOWN_METHOD)
}

/// The end of a method that no server has, behind a prefix that servers have or that JSON-RPC reserves.
const UNKNOWN_SUFFIX: &str = "workbench-no-such-method";

/// The requests of methods that no server has.
fn unknown_requests<'t, 'a>(transcript: &'t Transcript<'a>) -> impl Iterator<Item = &'t RequestResponse<'a>> {
    let unknown = transcript.unknown.method.as_deref();
    transcript.requests().iter().filter(move |one| {
        one.request.method().is_some_and(|method| Some(method) == unknown || method.ends_with(UNKNOWN_SUFFIX))
    })
}

fn unknown_method_code(transcript: &Transcript<'_>) -> CheckOutcome {
    let Some(first) = unknown_request(transcript) else { return CheckOutcome::not_applicable(NO_UNKNOWN_METHOD) };
    if first.code().is_none() {
        return CheckOutcome::Blocked("the method was not rejected with a code".to_owned());
    }
    let mut findings = Findings::default();
    for one in unknown_requests(transcript) {
        match (one.code(), known::sdk_of(one)) {
            (None, _) => {}
            (Some(-32601), _) => findings.saw(one.last_frame()),
            (Some(code), Some(sdk)) => findings.known(one.last_frame(), known::rejection(code, sdk)),
            (Some(code), None) => {
                let method = one.request.method().unwrap_or_default();
                findings.check(one.last_frame(), Err(format!("the code of the error to `{method}` is {code}")));
            }
        }
    }
    findings.or_not_applicable("methods", NO_UNKNOWN_METHOD)
}

/// The text of a frame that is not JSON, or not UTF-8: records have the replacement character for other bytes.
fn broken_text(frame: &Frame) -> Option<Cow<'_, str>> {
    match &frame.body {
        Body::Text(text) => Some(Cow::Borrowed(text)),
        Body::Json(json) => has_replacement(json).then(|| Cow::Owned(json.to_string())),
        Body::Event(_) => None,
    }
}

fn has_replacement(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\u{fffd}'),
        Value::Array(items) => items.iter().any(has_replacement),
        Value::Object(members) => members.values().any(has_replacement),
        _ => false,
    }
}

fn survives_broken_json(transcript: &Transcript<'_>) -> CheckOutcome {
    let broken = |frame: &&Frame| frame.from_client() && broken_text(frame).is_some();
    let mut findings = Findings::default();
    let mut requests = transcript.requests().iter().filter(|one| broken_text(one.request.frame).is_none()).peekable();
    for frame in transcript.evidence.frames.iter().filter(broken) {
        while requests.next_if(|request| request.request.seq() < frame.seq).is_some() {}
        let Some(next) = requests.peek() else { continue };
        findings.saw(frame.seq);
        if next.response.is_none() {
            let text: String = broken_text(frame).unwrap_or_default().chars().take(60).collect();
            let is_end = |one: &Frame| one.seq > frame.seq && one.body == Body::Event(ConnectionEvent::ClosedByServer);
            let code = transcript.evidence.process.as_ref().and_then(|process| process.code);
            let code = code.filter(|_| transcript.evidence.frames.iter().any(is_end));
            let end = code.map_or_else(String::new, |code| format!("; the server exited with {code}"));
            findings.fail(format!("the request after `{text}` has no response{end}"), [frame.seq, next.request.seq()]);
            break;
        }
    }
    findings.or_not_applicable("texts", NO_BROKEN_JSON)
}

fn survives_unknown_notification(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut notifications = transcript
        .client_frames()
        .filter(|frame| frame.is_notification() && frame.method() != Some("notifications/initialized"));
    match notifications.next() {
        Some(frame) => responds_after(transcript, frame.seq),
        None => CheckOutcome::not_applicable("no unknown notification was sent"),
    }
}

/// Passes if the last request after this frame got any response.
fn responds_after(transcript: &Transcript<'_>, seq: u64) -> CheckOutcome {
    let Some(last) = transcript.requests().last().filter(|last| last.request.seq() > seq) else {
        return CheckOutcome::Blocked("no request was sent afterwards".to_owned());
    };
    if last.response.is_some() {
        CheckOutcome::passed("a later request is answered", [vec![seq], last.frames()].concat())
    } else {
        CheckOutcome::failed("no later request is answered", vec![seq, last.request.seq()])
    }
}

/// A longer text may be valid JSON that no parser accepts because of its depth.
const BROKEN_LENGTH: usize = 500;

fn broken_json_code(transcript: &Transcript<'_>) -> CheckOutcome {
    let broken = |frame: &Frame| {
        let is_text = |text: &str| text.len() < BROKEN_LENGTH && !text.contains(char::REPLACEMENT_CHARACTER);
        frame.from_client() && matches!(&frame.body, Body::Text(text) if is_text(text))
    };
    let mut is_broken = false;
    let mut findings = Findings::default();
    let mut messages = transcript.server_messages().peekable();
    for frame in transcript.evidence.frames.iter().filter(|frame| !matches!(frame.body, Body::Event(_))) {
        if frame.from_client() {
            is_broken = broken(frame);
            continue;
        }
        while messages.next_if(|message| message.seq() < frame.seq).is_some() {}
        let message = messages.next_if(|message| message.seq() == frame.seq);
        let Some(message) = message.filter(|message| is_broken && known::id_of_none(message)) else { continue };
        if let Some(error) = message.error() {
            let is_right = error["code"] == -32700;
            findings.check(frame.seq, if is_right { Ok(()) } else { Err(format!("the error is {}", brief(error))) });
        }
    }
    findings.or_not_applicable("errors", "the server does not answer broken JSON, and need not")
}
