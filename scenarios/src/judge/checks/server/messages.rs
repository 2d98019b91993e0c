//! The JSON-RPC messages of every case: version, form, ids, errors, and requests of the server.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use regex::Regex;
use serde_json::Value;

use super::{
    http::exchanges,
    jsonrpc::is_resumed,
    known,
    streams::{connection_number, is_of_other_session},
};
use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope, brief},
    transcript::{
        Body, Frame, IdKey, Message, Transcript,
        http::{is_stream, method, status},
    },
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "jsonrpc-version",
        requirement: "messages/jsonrpc-2.0",
        scope: Scope::Always,
        expected: "every message has the version 2.0",
        rule: Rule::Case(version),
    },
    Check {
        id: "response-is-result-or-error",
        requirement: "messages/result-or-error",
        scope: Scope::Always,
        expected: "a response has a result or an error, and not both",
        rule: Rule::Case(either),
    },
    Check {
        id: "response-has-the-id-of-a-request",
        requirement: "messages/same-id",
        scope: Scope::Always,
        expected: "a response has the id of a request, with the same type",
        rule: Rule::Case(known_id),
    },
    Check {
        id: "request-answered-once",
        requirement: "messages/one-response",
        scope: Scope::Always,
        expected: "no request is answered twice",
        rule: Rule::Case(once),
    },
    Check {
        id: "no-response-to-notification",
        requirement: "messages/no-response-to-notification",
        scope: Scope::Always,
        expected: "a notification is not answered",
        rule: Rule::Case(notification),
    },
    Check {
        id: "server-asks-only-what-was-declared",
        requirement: "lifecycle/only-negotiated-capabilities",
        scope: Scope::Always,
        expected: "the server sends no request that needs a capability which the client did not declare",
        rule: Rule::Case(undeclared),
    },
    Check {
        id: "server-respects-undeclared-capabilities",
        requirement: "lifecycle/negotiated-capabilities-respected",
        scope: Scope::Always,
        expected: "the server sends no request that needs a capability which the client did not declare",
        rule: Rule::Case(undeclared),
    },
    Check {
        id: "no-request-before-initialized",
        requirement: "lifecycle/no-early-requests",
        scope: Scope::Always,
        expected: "the server sends only pings before it receives `notifications/initialized`",
        rule: Rule::Case(early),
    },
];

const NO_RESPONSES: &str = "the server sent no response with an id";

/// The responses to judge. Over HTTP an error status may have any JSON body, of which only those count that declare
/// JSON-RPC.
fn responses<'t, 'a>(transcript: &'t Transcript<'a>) -> impl Iterator<Item = Message<'a>> + use<'t, 'a> {
    let is_http = transcript.is_http();
    let all = transcript.server_messages().filter(Message::may_be_response);
    all.filter(move |one| !is_http || !has_error_status(one.frame) || one.json.get("jsonrpc").is_some())
}

fn responses_with_id<'t, 'a>(transcript: &'t Transcript<'a>) -> impl Iterator<Item = Message<'a>> + use<'t, 'a> {
    responses(transcript)
        .filter(|response| !response.id().is_none_or(Value::is_null) && !known::has_placeholder_id(response))
}

fn has_error_status(frame: &Frame) -> bool {
    status(frame).is_some_and(|status| status >= 400)
}

/// The requests of the server.
fn server_requests<'a>(transcript: &Transcript<'a>) -> impl Iterator<Item = Message<'a>> {
    transcript.server_messages().filter(Message::is_request)
}

fn each<'a>(messages: impl Iterator<Item = Message<'a>>, fault: impl Fn(&Message<'a>) -> Option<String>) -> Findings {
    Findings::from_each(messages.map(|message| (message.seq(), message)), fault)
}

fn version(transcript: &Transcript<'_>) -> CheckOutcome {
    let is_message =
        |one: &Message<'_>| one.json.get("method").is_some() || one.id().is_some() && one.result().is_some();
    // Only a POST has a message as its response. What else a GET gets, such as a status page, is the matter of another check.
    let others: HashSet<u64> = exchanges(transcript, |frame| method(frame) != Some("POST"))
        .map(|(_, reply, _)| reply)
        .filter(|reply| !is_stream(reply))
        .map(|reply| reply.seq)
        .collect();
    let findings = each(transcript.server_messages().filter(|one| !others.contains(&one.seq())), |message| {
        let right = message.json.get("jsonrpc").and_then(Value::as_str) == Some("2.0");
        // Over HTTP the body of an error status may not be a message, and another check reports a body of 202.
        let judged = status(message.frame).is_none_or(|status| status == 200) || is_message(message);
        (!right && judged).then(|| format!("`jsonrpc` is not \"2.0\" in {}", brief(message.json)))
    });
    findings.or_not_applicable("messages", "the server sent no message")
}

fn either(transcript: &Transcript<'_>) -> CheckOutcome {
    let wrong = |one: &Message<'_>| (one.result().is_some() == one.error().is_some()).then(|| brief(one.json));
    each(responses(transcript), wrong).or_not_applicable("responses", "the server sent no response")
}

/// The ids in messages of the client that are not JSON, with the numbers of their frames. A server may be able to read them.
fn ids_of_unreadable(transcript: &Transcript<'_>) -> Vec<(u64, Value)> {
    static ID: LazyLock<Regex> = LazyLock::new(|| {
        let id = r#""id"\s*:\s*("(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"#;
        Regex::new(id).expect("a valid expression")
    });
    let texts = transcript.client_frames().filter_map(|frame| match &frame.body {
        Body::Text(text) => Some((frame.seq, text)),
        Body::Json(_) | Body::Event(_) => None,
    });
    let ids = texts.flat_map(|(seq, text)| ID.captures_iter(text).map(move |found| (seq, found)));
    ids.filter_map(|(seq, found)| Some((seq, serde_json::from_str(&found[1]).ok()?))).collect()
}

/// The ids that responses may have: those of all messages of the client but responses, well-formed or not.
fn answerable_ids<'u, 'a: 'u>(
    transcript: &'u Transcript<'a>,
    unreadable: &'u [(u64, Value)],
) -> impl Iterator<Item = (u64, IdKey<'u>)> {
    let messages = transcript.client_frames().filter_map(|frame| Some((frame.seq, frame.json()?)));
    let single = messages.flat_map(|(seq, json)| {
        let parts = json.as_array().map_or_else(|| std::slice::from_ref(json), Vec::as_slice);
        parts.iter().map(move |part| (seq, part))
    });
    let answered = single.filter(|(_, message)| {
        message.get("method").is_some() || (message.get("result").is_none() && message.get("error").is_none())
    });
    let ids = answered.filter_map(|(seq, message)| Some((seq, IdKey::new(message.get("id")?))));
    ids.chain(unreadable.iter().map(|(seq, id)| (*seq, IdKey::new(id))))
}

fn known_id(transcript: &Transcript<'_>) -> CheckOutcome {
    let unreadable = ids_of_unreadable(transcript);
    let mut first: HashMap<IdKey<'_>, u64> = HashMap::new();
    for (seq, id) in answerable_ids(transcript, &unreadable) {
        first.entry(id).or_insert(seq);
    }
    let mut findings = each(responses_with_id(transcript), |response| {
        let known = response.id_key().and_then(|id| first.get(&id)).is_some_and(|sent| *sent < response.seq());
        (!known).then(|| format!("no request had the id {}", response.json["id"]))
    });
    // Only an error can refer to a request whose id could not be read. A request never has the id `null` (schema, RequestId).
    for response in responses(transcript).filter(|one| one.result().is_some() && one.id().is_some_and(Value::is_null)) {
        findings.fail(format!("a result has the id null: {}", brief(response.json)), [response.seq()]);
    }
    if let Some(error) = responses(transcript).find(known::has_placeholder_id) {
        let text = "errors with an HTTP error status have the id `server-error`, as the Python SDK 1.x does";
        findings.known(error.seq(), text.to_owned());
    }
    findings.or_not_applicable("responses", NO_RESPONSES)
}

fn once(transcript: &Transcript<'_>) -> CheckOutcome {
    let unreadable = ids_of_unreadable(transcript);
    let mut open: HashMap<IdKey<'_>, usize> = HashMap::new();
    for (_, id) in answerable_ids(transcript, &unreadable) {
        *open.entry(id).or_default() += 1;
    }
    let mut findings = Findings::default();
    for response in responses_with_id(transcript) {
        // A resumed stream repeats responses (2025-11-25, basic/transports, resumability).
        let Some(id) = response.id_key().filter(|_| !is_resumed(transcript, response.frame)) else { continue };
        // A response without a request is the subject of another check, so the first one counts as expected.
        let open = open.entry(id).or_insert(1);
        let message = || format!("the request {} is answered again", response.json["id"]);
        findings.check(response.seq(), if *open == 0 { Err(message()) } else { Ok(()) });
        *open = open.saturating_sub(1);
    }
    findings.or_not_applicable("responses", NO_RESPONSES)
}

fn notification(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let mut first = u64::MAX;
    for frame in transcript.client_frames().filter(|frame| frame.is_notification()) {
        first = first.min(frame.seq);
        findings.saw(frame.seq);
    }
    let after = first..transcript.malformed_from();
    for response in
        responses(transcript).filter(|one| one.id().is_none_or(Value::is_null) && after.contains(&one.seq()))
    {
        // Over HTTP the response to a rejected notification may be an error without an id (2025-11-25, transports).
        if !has_error_status(response.frame) {
            findings.fail(brief(response.json), [response.seq()]);
        }
    }
    findings.or_not_applicable("notifications", "no notification was sent")
}

fn undeclared(transcript: &Transcript<'_>) -> CheckOutcome {
    let needs =
        [("roots/list", "roots"), ("sampling/createMessage", "sampling"), ("elicitation/create", "elicitation")];
    let declared = transcript.client_capabilities();
    // The clients of other sessions declared more.
    let others = transcript.connections().iter().filter(|connection| is_of_other_session(connection));
    let others: HashSet<u64> = others.map(connection_number).collect();
    let messages = transcript.server_messages().filter(|message| !others.contains(&message.frame.connection));
    let findings = each(messages, |message| {
        let method = message.method().filter(|_| message.is_request())?;
        let (_, capability) = needs.iter().find(|(name, _)| *name == method)?;
        let Some(feature) = declared.and_then(|declared| declared.get(capability)) else {
            return Some(format!("the server sent `{method}`, although the client did not declare `{capability}`"));
        };
        let mode = message.param("mode").and_then(Value::as_str).unwrap_or("form");
        let undeclared = *capability == "elicitation" && !has_mode(feature, mode);
        undeclared
            .then(|| format!("the server sent a request with the mode `{mode}`, which the client did not declare"))
    });
    findings.or_not_applicable("messages", "the server sent no message")
}

/// Whether the capability `elicitation` of a client has a mode. Without modes a client has forms (2025-11-25,
/// client/elicitation#capabilities).
pub(super) fn has_mode(elicitation: &Value, mode: &str) -> bool {
    let is_empty = || elicitation.as_object().is_some_and(serde_json::Map::is_empty);
    elicitation.get(mode).is_some() || mode == "form" && is_empty()
}

fn early(transcript: &Transcript<'_>) -> CheckOutcome {
    let initialized = transcript.evidence.frames.iter().find(|one| one.method() == Some("notifications/initialized"));
    let Some(initialized) = initialized else {
        return CheckOutcome::not_applicable("the handshake was not completed");
    };
    let mut findings = Findings::default();
    findings.saw(initialized.seq);
    for request in server_requests(transcript).take_while(|request| request.seq() < initialized.seq) {
        let method = request.method().unwrap_or_default();
        if method != "ping" {
            findings.fail(format!("the server sent `{method}` before"), [request.seq()]);
        }
    }
    findings.or_not_applicable("handshake", "the handshake was not completed")
}
