//! The form of a client's messages, and the ids of its requests.

use std::collections::HashMap;

use ::evidence::{ConnectionEvent, Direction};
use serde_json::Value;

use crate::{
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope, quoted},
        transcript::{
            Body, Frame, IdKey, Message, Session, Transcript,
            http::{media_type, status},
            is_truncated,
        },
    },
    model::{Revision, Transport},
    shapes::Shapes,
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "messages-are-jsonrpc",
        requirement: "client/messages-are-jsonrpc",
        scope: Scope::Always,
        expected: "every message of the client is JSON-RPC 2.0 as the revision defines it",
        rule: Rule::Case(messages_are_jsonrpc),
    },
    Check {
        id: "stdin-holds-only-messages",
        requirement: "client/stdin-holds-only-messages",
        scope: Scope::Always,
        expected: "the client writes only messages to the server's standard input",
        rule: Rule::Case(stdin_holds_only_messages),
    },
    Check {
        id: "request-ids-unique",
        requirement: "client/request-ids-unique",
        scope: Scope::Always,
        expected: "no request has an id that is in use",
        rule: Rule::Case(request_ids_unique),
    },
];

/// Members of which every message has one.
const MEMBERS: [&str; 4] = ["jsonrpc", "method", "result", "error"];

fn messages_are_jsonrpc(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let negotiated = negotiated_revisions(transcript);
    for frame in transcript.client_frames() {
        match &frame.body {
            Body::Json(message) if let Value::Array(batch) = &**message => {
                let revision = negotiated.get(&(frame.server.as_str(), frame.connection));
                let revision = revision.copied().unwrap_or(transcript.evidence.revision);
                findings.check(frame.seq, check_batch(revision, batch));
            }
            // Client registration with an authorization server is JSON too, but not JSON-RPC.
            Body::Json(message) if frame.http.is_some() && MEMBERS.iter().all(|name| message.get(name).is_none()) => {}
            Body::Json(message) => findings.check(frame.seq, check_message(message)),
            Body::Text(text) if is_declared_json(frame) && !is_truncated(text) => {
                findings.check(frame.seq, Err(format!("{} is not JSON", quoted(&Value::String(text.clone())))));
            }
            Body::Text(_) | Body::Event(_) => {}
        }
    }
    findings.or_not_applicable("messages", "the client sent no message")
}

fn is_declared_json(frame: &Frame) -> bool {
    media_type(frame).is_some_and(|media_type| media_type.starts_with("application/json"))
}

/// The negotiated revision by connection.
fn negotiated_revisions<'a>(transcript: &Transcript<'a>) -> HashMap<(&'a str, u64), Revision> {
    let sessions = transcript.sessions().iter();
    let negotiated = sessions.filter_map(|session| Some((session, session.handshake()?.revision()?)));
    negotiated
        .flat_map(|(session, revision)| {
            session.frames.iter().map(move |frame| ((session.server, frame.connection), revision))
        })
        .collect()
}

/// Batches were added in 2025-03-26 and removed in 2025-06-18. 2024-11-05 neither allows nor forbids them.
fn check_batch(revision: Revision, batch: &[Value]) -> Result<(), String> {
    if revision >= Revision::V2025_06_18 {
        return Err("it is a batch, which the revision does not have".to_owned());
    }
    if batch.is_empty() {
        return Err("it is an empty batch".to_owned());
    }
    if batch.iter().any(|message| message.get("method").and_then(Value::as_str) == Some("initialize")) {
        return Err("`initialize` is part of a batch".to_owned());
    }
    batch.iter().try_for_each(check_message)
}

/// Checks the form of one message.
pub(super) fn check_message(message: &Value) -> Result<(), String> {
    let Some(members) = message.as_object() else { return Err(format!("{} is not an object", quoted(message))) };
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(format!("{} has no `\"jsonrpc\": \"2.0\"`", quoted(message)));
    }
    let (result, error) = (members.get("result"), members.get("error"));
    let Some(method) = members.get("method") else { return check_response(message, result, error) };
    let Some(name) = method.as_str() else { return Err(format!("the method {} is not a string", quoted(method))) };
    if result.is_some() || error.is_some() {
        return Err(format!("the message {} is a request and a response", quoted(message)));
    }
    match members.get("id") {
        Some(id) if !is_id(id) => return Err(format!("the id {} is neither a string nor an integer", quoted(id))),
        Some(_) if name.starts_with("notifications/") => return Err(format!("the notification `{name}` has an id")),
        None if is_request(name) => return Err(format!("the request `{name}` has no id")),
        _ => {}
    }
    match members.get("params") {
        Some(params) if !params.is_object() => Err(format!("the params {} are not an object", quoted(params))),
        _ => Ok(()),
    }
}

/// Whether a method is that of a request in some revision.
fn is_request(method: &str) -> bool {
    let has = |revision| Shapes::in_revision(revision).has_method(method, Direction::ClientToServer);
    !method.starts_with("notifications/") && Revision::ALL.into_iter().any(has)
}

fn check_response(message: &Value, result: Option<&Value>, error: Option<&Value>) -> Result<(), String> {
    let id = message.get("id");
    match (result, error) {
        (Some(_), Some(_)) => Err("a response has a result and an error".to_owned()),
        (None, None) => Err(format!("{} has neither a method nor a result nor an error", quoted(message))),
        (Some(result), None) if !result.is_object() => Err(format!("the result {} is not an object", quoted(result))),
        (Some(_), None) if !id.is_some_and(is_id) => {
            Err("a result has no id that is a string or an integer".to_owned())
        }
        (Some(_), None) => Ok(()),
        (None, Some(error)) => {
            // The id of a message that could not be read is null (JSON-RPC 2.0) or absent (2025-11-25, basic/index).
            if id.is_some_and(|id| !id.is_null() && !is_id(id)) {
                return Err("the id of an error is neither a string nor an integer".to_owned());
            }
            let code = error.get("code").is_some_and(is_integer);
            let text = error.get("message").is_some_and(Value::is_string);
            if code && text { Ok(()) } else { Err(format!("the error {} has no code and message", quoted(error))) }
        }
    }
}

fn is_id(id: &Value) -> bool {
    id.is_string() || is_integer(id)
}

/// `1.0` is an integer to JSON Schema, and so it is here.
fn is_integer(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn stdin_holds_only_messages(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for session in transcript.sessions() {
        let mut lines = session.frames.iter().filter(|one| one.from_client() && !matches!(one.body, Body::Event(_)));
        let mut next = lines.next();
        while let Some(frame) = next {
            next = lines.next();
            let Body::Text(text) = &frame.body else {
                findings.saw(frame.seq);
                continue;
            };
            // A client that was killed may have stopped in the middle of its last line.
            let cut_off = next.is_none() && was_killed(transcript) && !text.trim_end().ends_with('}');
            if text.trim().is_empty() {
                findings.fail("it wrote an empty line", [frame.seq]);
            } else if !cut_off && !is_truncated(text) {
                findings.fail(format!("it wrote {}", quoted(&Value::String(text.clone()))), [frame.seq]);
            }
        }
    }
    findings.or_not_applicable("lines", "the client wrote nothing")
}

fn was_killed(transcript: &Transcript<'_>) -> bool {
    let process = transcript.evidence.process.as_ref();
    transcript.evidence.timed_out
        || process.is_some_and(|process| process.killed_on_purpose || process.signal.is_some())
}

fn request_ids_unique(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for session in transcript.sessions() {
        if !transcript.evidence.revision.is_modern() || session.has_initialize() {
            unique_in_session(transcript, session, &mut findings);
        } else if transcript.evidence.transport == Transport::Stdio {
            unique_in_flight(session, &mut findings);
        } else {
            unique_after_break(transcript, session, &mut findings);
        }
    }
    findings.or_not_applicable("requests", "the client sent no request of a known sender")
}

/// Up to 2025-11-25 an id may be used once in a session, which begins with `initialize`.
fn unique_in_session<'a>(transcript: &Transcript<'a>, session: &Session<'a>, findings: &mut Findings) {
    let mut used: HashMap<IdKey<'a>, Message<'a>> = HashMap::new();
    for request in session.client_messages().filter(|message| message.is_request() && !message.is_modern()) {
        findings.saw(request.seq());
        let Some(id) = request.id_key() else { continue };
        if request.is("initialize") {
            used.clear();
        }
        let first = used.entry(id).or_insert(request);
        if std::ptr::eq(first.json, request.json) {
            continue;
        }
        // The same message may be sent again if HTTP lost it: after a 401, or on a connection that broke before the response.
        let has_begun = || transcript.reply(first.frame).and_then(status).is_some_and(|status| status < 300);
        let lost = request.frame.http.is_some()
            && first.json == request.json
            && !has_begun()
            && session.answer(first).is_none_or(|answer| answer.seq() > request.seq());
        if !lost {
            fail_reused(findings, first, &request);
        }
    }
}

/// Since 2026-07-28 an id may be used again once its request is answered.
fn unique_in_flight<'a>(session: &Session<'a>, findings: &mut Findings) {
    let mut open: HashMap<IdKey<'a>, Message<'a>> = HashMap::new();
    for message in session.messages() {
        if !message.by_client() {
            if let Some(id) = message.id_key().filter(|_| message.is_response()) {
                open.remove(&id);
            }
        } else if let Some(id) = message.cancels() {
            open.remove(&IdKey::new(id));
        } else if message.is_request()
            && let Some(id) = message.id_key()
        {
            findings.saw(message.seq());
            match open.get(&id) {
                Some(first) => fail_reused(findings, first, &message),
                None => {
                    open.insert(id, message);
                }
            }
        }
    }
}

/// Over HTTP the requests of two senders cannot be told apart, so only a request counts that is sent again after the server
/// closed its stream without a response (2026-07-28, changelog: "clients MUST re-issue it as a new request with a new
/// request ID").
fn unique_after_break<'a>(transcript: &Transcript<'a>, session: &Session<'a>, findings: &mut Findings) {
    let mut sent: HashMap<(&str, IdKey<'a>), Message<'a>> = HashMap::new();
    let by_server = |frame: &&&Frame| frame.body == Body::Event(ConnectionEvent::ClosedByServer);
    for request in session.client_messages().filter(Message::is_request) {
        let (Some(id), Some(method)) = (request.id_key(), request.method()) else { continue };
        findings.saw(request.seq());
        if let Some(first) = sent.insert((method, id), request) {
            let end = session.closes_of(first.frame.connection).iter().find(by_server);
            let has_response =
                || session.answer(&first).is_some() || transcript.reply(first.frame).and_then(status) != Some(200);
            let is_lost = end.is_some_and(|end| end.seq < request.seq()) && !has_response();
            if is_lost && first.is_same_call(&request) {
                fail_reused(findings, &first, &request);
            }
        }
    }
}

fn fail_reused(findings: &mut Findings, first: &Message<'_>, second: &Message<'_>) {
    let id = second.id().map(quoted).unwrap_or_default();
    let methods = (first.method().unwrap_or_default(), second.method().unwrap_or_default());
    findings
        .fail(format!("`{}` has the id {id} of an earlier `{}`", methods.1, methods.0), [first.seq(), second.seq()]);
}

#[cfg(test)]
mod tests;
