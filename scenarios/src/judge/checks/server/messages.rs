//! The JSON-RPC messages of every case: version, form, ids, errors, and requests of the server.

use std::collections::HashMap;

use serde_json::Value;

use super::{jsonrpc::is_resumed, known};
use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope, brief},
    transcript::{Frame, IdKey, Message, Transcript, http::status},
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
fn server_requests<'a>(transcript: &Transcript<'a>) -> impl Iterator<Item = Message<'a>> + use<'a> {
    transcript.server_messages().filter(Message::is_request)
}

fn each<'a>(messages: impl Iterator<Item = Message<'a>>, fault: impl Fn(&Message<'a>) -> Option<String>) -> Findings {
    Findings::from_each(messages.map(|message| (message.seq(), message)), fault)
}

fn version(transcript: &Transcript<'_>) -> CheckOutcome {
    let is_message =
        |one: &Message<'_>| one.json.get("method").is_some() || one.id().is_some() && one.result().is_some();
    let findings = each(transcript.server_messages(), |message| {
        let right = message.json.get("jsonrpc").and_then(Value::as_str) == Some("2.0");
        // Over HTTP an error status may have a body that is not a message.
        let judged = !has_error_status(message.frame) || is_message(message);
        (!right && judged).then(|| format!("`jsonrpc` is not \"2.0\" in {}", brief(message.json)))
    });
    findings.or_not_applicable("messages", "the server sent no message")
}

fn either(transcript: &Transcript<'_>) -> CheckOutcome {
    let wrong = |one: &Message<'_>| (one.result().is_some() == one.error().is_some()).then(|| brief(one.json));
    each(responses(transcript), wrong).or_not_applicable("responses", "the server sent no response")
}

fn known_id(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut first: HashMap<IdKey<'_>, u64> = HashMap::new();
    for request in transcript.client_messages().filter(Message::is_request) {
        if let Some(id) = request.id_key() {
            first.entry(id).or_insert(request.seq());
        }
    }
    // A malformed message of the client may have an id that the server was able to read.
    let malformed = transcript.malformed_from();
    let mut findings = each(responses_with_id(transcript).filter(|response| response.seq() < malformed), |response| {
        let known = response.id_key().and_then(|id| first.get(&id)).is_some_and(|sent| *sent < response.seq());
        (!known).then(|| format!("no request had the id {}", response.json["id"]))
    });
    if let Some(error) = responses(transcript).find(known::has_placeholder_id) {
        let text = "errors with an HTTP error status have the id `server-error`, as the Python SDK 1.x does";
        findings.known(error.seq(), text.to_owned());
    }
    findings.or_not_applicable("responses", NO_RESPONSES)
}

fn once(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut open: HashMap<IdKey<'_>, usize> = HashMap::new();
    for id in transcript.client_messages().filter(Message::is_request).filter_map(|request| request.id_key()) {
        *open.entry(id).or_default() += 1;
    }
    let malformed = transcript.malformed_from();
    let mut findings = Findings::default();
    for response in responses_with_id(transcript) {
        // A resumed stream repeats responses (2025-11-25, basic/transports, resumability).
        let Some(id) =
            response.id_key().filter(|_| response.seq() < malformed && !is_resumed(transcript, response.frame))
        else {
            continue;
        };
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
    let findings = each(transcript.server_messages(), |message| {
        let method = message.method().filter(|_| message.is_request())?;
        let (_, capability) = needs.iter().find(|(name, _)| *name == method)?;
        let undeclared = declared.is_none_or(|declared| declared.get(capability).is_none());
        undeclared.then(|| format!("the server sent `{method}`, although the client did not declare `{capability}`"))
    });
    findings.or_not_applicable("messages", "the server sent no message")
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
