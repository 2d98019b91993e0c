//! The shape of what a client sends, and the ids it gives to its requests.

use mock_servers::{Body, Frame};
use serde_json::Value;

use super::{
    findings::{Findings, shown},
    message::Message,
    session::{Session, header, sessions},
    was_cut,
};
use crate::{
    evidence::Evidence,
    judge::check::{Check, Ruling, Scope},
    model::{Revision, Subject, Transport},
};

pub(super) const ALL: &[Check] = &[
    Check {
        id: "messages-are-jsonrpc",
        requirement: "client/messages-are-jsonrpc",
        subject: Subject::Client,
        scope: Scope::Always,
        expected: "every message of the client is JSON-RPC 2.0 as the revision has it",
        rule: messages_are_jsonrpc,
    },
    Check {
        id: "stdin-holds-only-messages",
        requirement: "client/stdin-holds-only-messages",
        subject: Subject::Client,
        scope: Scope::Always,
        expected: "the client writes nothing but messages to the server's standard input",
        rule: stdin_holds_only_messages,
    },
    Check {
        id: "request-ids-unique",
        requirement: "client/request-ids-unique",
        subject: Subject::Client,
        scope: Scope::Always,
        expected: "no request carries an id that is taken",
        rule: request_ids_unique,
    },
];

fn messages_are_jsonrpc(evidence: &Evidence) -> Ruling {
    let mut findings = Findings::default();
    let ours = evidence.frames.iter().filter(|frame| frame.from_client());
    for frame in ours {
        match &frame.body {
            Body::Json(Value::Array(batch)) => findings.judge(frame.seq, batch_is_allowed(evidence, frame.seq, batch)),
            Body::Json(message) => {
                // Registration with an authorization server is JSON, too, but no JSON-RPC.
                let elsewhere = frame.http.is_some() && message.get("jsonrpc").or(message.get("method")).is_none();
                if !elsewhere {
                    findings.judge(frame.seq, sound(message));
                }
            }
            Body::Text(text) if is_called_json(frame) && !was_cut(text) => {
                findings.judge(frame.seq, Err(format!("{} is not JSON", shown(&Value::String(text.clone())))));
            }
            Body::Text(_) | Body::Mark(_) => {}
        }
    }
    findings.or_not_applicable("messages", "the client sent no message")
}

fn is_called_json(frame: &Frame) -> bool {
    header(frame, "content-type").is_some_and(|kind| kind.starts_with("application/json"))
}

/// Batches were written into 2025-03-26 and taken out by 2025-06-18. 2024-11-05 speaks neither for nor against them.
fn batch_is_allowed(evidence: &Evidence, seq: u64, batch: &[Value]) -> Result<(), String> {
    let negotiated = sessions(evidence)
        .iter()
        .filter(|session| session.frames.iter().any(|frame| frame.seq == seq))
        .find_map(|session| session.handshake()?.negotiated()?.parse::<Revision>().ok());
    if negotiated.unwrap_or(evidence.revision) >= Revision::V2025_06_18 {
        return Err("it is a batch, which the revision does not have".to_owned());
    }
    if batch.is_empty() {
        return Err("it is an empty batch".to_owned());
    }
    if batch.iter().any(|message| message.get("method").and_then(Value::as_str) == Some("initialize")) {
        return Err("`initialize` is part of a batch".to_owned());
    }
    batch.iter().try_for_each(sound)
}

/// What JSON-RPC and the base protocol ask of one message.
fn sound(message: &Value) -> Result<(), String> {
    let Some(members) = message.as_object() else { return Err(format!("{} is not an object", shown(message))) };
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(format!("{} does not say `\"jsonrpc\": \"2.0\"`", shown(message)));
    }
    let (result, error) = (members.get("result"), members.get("error"));
    let Some(method) = members.get("method") else { return sound_response(message, result, error) };
    if !method.is_string() {
        return Err(format!("the method {} is not a string", shown(method)));
    }
    if result.is_some() || error.is_some() {
        return Err(format!("the message {} is a request and a response", shown(message)));
    }
    match members.get("id") {
        Some(id) if !is_id(id) => return Err(format!("the id {} is neither a string nor an integer", shown(id))),
        _ => {}
    }
    match members.get("params") {
        Some(params) if !params.is_object() => Err(format!("the params {} are not an object", shown(params))),
        _ => Ok(()),
    }
}

fn sound_response(message: &Value, result: Option<&Value>, error: Option<&Value>) -> Result<(), String> {
    let id = message.get("id");
    match (result, error) {
        (Some(_), Some(_)) => Err("a response has a result and an error".to_owned()),
        (None, None) => Err(format!("{} has neither a method nor a result nor an error", shown(message))),
        (Some(result), None) if !result.is_object() => Err(format!("the result {} is not an object", shown(result))),
        (Some(_), None) if !id.is_some_and(is_id) => {
            Err("a result has no id that is a string or an integer".to_owned())
        }
        (Some(_), None) => Ok(()),
        (None, Some(error)) => {
            // The id of a message that could not be read is null (JSON-RPC 2.0) or absent (2025-11-25, basic/index).
            if id.is_some_and(|id| !id.is_null() && !is_id(id)) {
                return Err("an error's id is neither a string nor an integer".to_owned());
            }
            let code = error.get("code").is_some_and(is_integer);
            let text = error.get("message").is_some_and(Value::is_string);
            if code && text { Ok(()) } else { Err(format!("the error {} has no code and message", shown(error))) }
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

fn stdin_holds_only_messages(evidence: &Evidence) -> Ruling {
    if evidence.transport != Transport::Stdio {
        return Ruling::NotApplicable("the server has no standard input here".to_owned());
    }
    let mut findings = Findings::default();
    for session in sessions(evidence) {
        let lines: Vec<_> =
            session.frames.iter().filter(|frame| frame.from_client() && !matches!(frame.body, Body::Mark(_))).collect();
        for (index, frame) in lines.iter().enumerate() {
            let Body::Text(text) = &frame.body else {
                findings.saw(frame.seq);
                continue;
            };
            // A client that was killed may have stopped in the middle of its last line.
            let cut_off = index + 1 == lines.len() && was_killed(evidence);
            if !cut_off && !was_cut(text) && !text.trim().is_empty() {
                findings.breach(format!("it wrote {}", shown(&Value::String(text.clone()))), [frame.seq]);
            }
        }
    }
    findings.or_not_applicable("lines", "the client wrote nothing")
}

fn was_killed(evidence: &Evidence) -> bool {
    let process = evidence.process.as_ref();
    evidence.timed_out || process.is_some_and(|process| process.killed_on_purpose || process.signal.is_some())
}

fn request_ids_unique(evidence: &Evidence) -> Ruling {
    let mut findings = Findings::default();
    for session in sessions(evidence) {
        if !evidence.revision.is_modern() || session.has_initialize() {
            unique_in_session(&session, &mut findings);
        } else if evidence.transport == Transport::Stdio {
            // Over HTTP nothing tells the requests of two senders apart, so only a process's own input is looked at.
            unique_in_flight(&session, &mut findings);
        }
    }
    findings.or_not_applicable("requests", "the client sent no request whose sender can be told")
}

/// Up to 2025-11-25 an id may be used once in a session, which begins with `initialize`.
fn unique_in_session<'a>(session: &Session<'a>, findings: &mut Findings) {
    let mut used: Vec<Message<'a>> = Vec::new();
    for request in session.said().filter(|message| message.is_request() && !message.is_modern()) {
        findings.saw(request.seq());
        if request.is("initialize") {
            used.clear();
        }
        if let Some(first) = used.iter().find(|first| first.id() == request.id()) {
            // The same message may be sent again where HTTP lost it: after a 401, say, or a broken connection.
            let lost = request.frame.http.is_some()
                && first.json == request.json
                && session.answer(first).is_none_or(|answer| answer.seq() > request.seq());
            if !lost {
                breach(findings, first, &request);
            }
        }
        used.push(request);
    }
}

/// Since 2026-07-28 an id may be used again once its request is answered.
fn unique_in_flight<'a>(session: &Session<'a>, findings: &mut Findings) {
    let mut open: Vec<Message<'a>> = Vec::new();
    for message in session.messages() {
        if !message.by_client() {
            open.retain(|request| !message.is_response() || request.id() != message.id());
        } else if let Some(id) = message.cancels() {
            open.retain(|request| request.id() != Some(id));
        } else if message.is_request() {
            findings.saw(message.seq());
            if let Some(first) = open.iter().find(|first| first.id() == message.id()) {
                breach(findings, first, &message);
            }
            open.push(message);
        }
    }
}

fn breach(findings: &mut Findings, first: &Message<'_>, second: &Message<'_>) {
    let id = second.id().map(shown).unwrap_or_default();
    let methods = (first.method().unwrap_or_default(), second.method().unwrap_or_default());
    findings
        .breach(format!("`{}` has the id {id} of an earlier `{}`", methods.1, methods.0), [first.seq(), second.seq()]);
}

#[cfg(test)]
mod tests;
