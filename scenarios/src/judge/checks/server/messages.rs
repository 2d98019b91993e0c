//! Checks on the JSON-RPC messages of every case: version, shape, ids, errors, and who may ask whom.

use serde_json::Value;

use super::talk::{Fault, always, brief, exchanges, is_http, named, responses, ruling, said, sent_garbage, status};
use crate::{
    evidence::Evidence,
    judge::check::{Check, Ruling},
    model::Revision,
    peer::same_id,
};

/// The checks of this theme.
pub(super) const ALL: &[Check] = &[
    always("jsonrpc-version", "messages/jsonrpc-2.0", "every message says jsonrpc 2.0", version),
    always(
        "response-is-result-or-error",
        "messages/result-or-error",
        "a response holds a result or an error, and not both",
        either,
    ),
    always("result-is-an-object", "messages/result-object", "a result is an object", object),
    always(
        "error-has-code-and-message",
        "messages/error-shape",
        "an error has an integer code and a message",
        error_shape,
    ),
    always(
        "response-has-the-id-of-a-request",
        "messages/same-id",
        "a response carries the id of a request, of the same type",
        asked_for,
    ),
    always("request-answered-once", "messages/one-response", "no request is answered twice", once),
    always(
        "no-response-to-notification",
        "messages/no-response-to-notification",
        "a notification is not answered",
        notification,
    ),
    always(
        "server-asks-only-what-was-declared",
        "lifecycle/only-negotiated-capabilities",
        "the server asks for nothing that the client did not declare",
        undeclared,
    ),
    always(
        "no-request-before-initialized",
        "lifecycle/no-early-requests",
        "the server asks for nothing but a ping before it is told `notifications/initialized`",
        early,
    ),
    named(
        "requests-are-answered",
        "messages/every-request-answered",
        "every request is answered under its own id",
        answered,
    ),
];

fn version(evidence: &Evidence) -> Ruling {
    let all: Vec<_> = said(evidence).collect();
    let wrong = all.iter().filter(|(_, message)| message.get("jsonrpc").and_then(Value::as_str) != Some("2.0"));
    // Over HTTP an error status may come with a body that is no message at all; it is not judged as one.
    let wrong = wrong.filter(|(frame, message)| status(frame).is_none_or(|status| status < 400) || is_message(message));
    let faults = wrong.map(|(frame, message)| (frame.seq, format!("{} says otherwise", brief(message)))).collect();
    ruling(faults, &frames(&all), format!("all {} messages do", all.len()), "the server sent no message")
}

fn is_message(message: &Value) -> bool {
    message.get("method").is_some() || (message.get("id").is_some() && message.get("result").is_some())
}

fn either(evidence: &Evidence) -> Ruling {
    let all: Vec<_> = answers(evidence);
    let wrong = all.iter().filter(|(_, answer)| answer.get("result").is_some() == answer.get("error").is_some());
    let faults = wrong.map(|(frame, answer)| (frame.seq, brief(answer))).collect();
    ruling(faults, &frames(&all), format!("all {} responses do", all.len()), "the server sent no response")
}

fn object(evidence: &Evidence) -> Ruling {
    let all: Vec<_> = answers(evidence).into_iter().filter(|(_, answer)| answer.get("result").is_some()).collect();
    let wrong = all.iter().filter(|(_, answer)| !answer["result"].is_object());
    let faults =
        wrong.map(|(frame, answer)| (frame.seq, format!("the result is {}", brief(&answer["result"])))).collect();
    ruling(faults, &frames(&all), format!("all {} results are", all.len()), "the server sent no result")
}

fn error_shape(evidence: &Evidence) -> Ruling {
    let all: Vec<_> = answers(evidence).into_iter().filter(|(_, answer)| answer.get("error").is_some()).collect();
    let faults: Vec<Fault> =
        all.iter().filter_map(|(frame, answer)| Some((frame.seq, bad_error(&answer["error"])?))).collect();
    ruling(faults, &frames(&all), format!("all {} errors have", all.len()), "the server sent no error")
}

fn bad_error(error: &Value) -> Option<String> {
    let code = error.get("code");
    if !code.is_some_and(|code| code.is_i64() || code.is_u64()) {
        return Some(format!("the code is {}", code.map_or_else(|| "missing".to_owned(), brief)));
    }
    let message = error.get("message");
    (!message.is_some_and(Value::is_string))
        .then(|| format!("the message is {}", message.map_or_else(|| "missing".to_owned(), brief)))
}

fn asked_for(evidence: &Evidence) -> Ruling {
    let all: Vec<_> = answers(evidence).into_iter().filter(|(_, answer)| has_id(answer)).collect();
    let asked: Vec<(u64, &Value)> = evidence
        .frames
        .iter()
        .filter(|frame| frame.from_client() && frame.is_request())
        .filter_map(|frame| Some((frame.seq, frame.id()?)))
        .collect();
    let known = |seq: u64, id: &Value| asked.iter().any(|(sent, other)| *sent < seq && same_id(id, other));
    let wrong = all.iter().filter(|(frame, answer)| !known(frame.seq, &answer["id"]));
    // What the client wrote without being JSON may hold an id that the server was able to read.
    let wrong = wrong.filter(|_| !sent_garbage(evidence));
    let faults = wrong.map(|(frame, answer)| (frame.seq, format!("nothing was asked as {}", answer["id"]))).collect();
    ruling(faults, &frames(&all), format!("all {} responses do", all.len()), "the server sent no response with an id")
}

fn once(evidence: &Evidence) -> Ruling {
    let all: Vec<_> = answers(evidence).into_iter().filter(|(_, answer)| has_id(answer)).collect();
    let asked: Vec<&Value> = exchanges(evidence).iter().filter_map(|exchange| exchange.request.get("id")).collect();
    let mut faults = Vec::new();
    for (index, (frame, answer)) in all.iter().enumerate() {
        let id = &answer["id"];
        let before = all[..index].iter().filter(|(_, other)| same_id(&other["id"], id)).count();
        let times = asked.iter().filter(|other| same_id(other, id)).count();
        if before >= times.max(1) {
            faults.push((frame.seq, format!("the request {id} is answered again")));
        }
    }
    ruling(faults, &frames(&all), "each is answered once".to_owned(), "the server sent no response with an id")
}

fn notification(evidence: &Evidence) -> Ruling {
    let sent = evidence.frames.iter().filter(|frame| frame.from_client() && frame.is_notification());
    let sent: Vec<u64> = sent.map(|frame| frame.seq).collect();
    let first = sent.first().copied().unwrap_or(u64::MAX);
    // A notification that is not accepted over HTTP may be met by an error without an id (2025-11-25, transports).
    let without_id = answers(evidence).into_iter().filter(|(frame, answer)| {
        !has_id(answer) && frame.seq > first && status(frame).is_none_or(|status| status < 400)
    });
    let faults =
        without_id.filter(|_| !sent_garbage(evidence)).map(|(frame, answer)| (frame.seq, brief(answer))).collect();
    ruling(faults, &sent, "none is".to_owned(), "no notification was sent")
}

fn undeclared(evidence: &Evidence) -> Ruling {
    if evidence.revision < Revision::V2025_06_18 || evidence.revision.is_modern() {
        return Ruling::NotApplicable(format!("it is no MUST of {}", evidence.revision));
    }
    let requests: Vec<_> = requests(evidence);
    let needs_capability =
        |method: &str| matches!(method, "roots/list" | "sampling/createMessage" | "elicitation/create");
    let wrong = requests.iter().filter(|(_, method)| needs_capability(method));
    let faults =
        wrong.map(|(seq, method)| (*seq, format!("it asks for `{method}`, and no capability was declared"))).collect();
    let seen: Vec<u64> = said(evidence).map(|(frame, _)| frame.seq).take(1).collect();
    ruling(faults, &seen, format!("it made {} requests, none of them such", requests.len()), "the server sent nothing")
}

fn early(evidence: &Evidence) -> Ruling {
    if evidence.revision.is_modern() {
        return Ruling::NotApplicable("there is no handshake".to_owned());
    }
    let told = evidence.frames.iter().find(|frame| frame.method() == Some("notifications/initialized"));
    let Some(told) = told else { return Ruling::NotApplicable("the handshake was not completed".to_owned()) };
    let early = requests(evidence).into_iter().filter(|(seq, method)| *seq < told.seq && *method != "ping");
    let faults = early.map(|(seq, method)| (seq, format!("it asks for `{method}` first"))).collect();
    ruling(faults, &[told.seq], "it does not".to_owned(), "")
}

fn answered(evidence: &Evidence) -> Ruling {
    let all = exchanges(evidence);
    let open = all.iter().filter(|exchange| exchange.answer.is_none());
    let faults =
        open.map(|exchange| (exchange.asked.seq, format!("no answer to {}", brief(exchange.request)))).collect();
    let frames: Vec<u64> = all.iter().map(|exchange| exchange.asked.seq).collect();
    ruling(faults, &frames, format!("all {} requests are", all.len()), "nothing was asked")
}

/// The responses that are judged as such. Over HTTP an error status may come with any JSON; only what has the shape of a
/// response counts there.
fn answers(evidence: &Evidence) -> Vec<(&mock_servers::Frame, &Value)> {
    let all = responses(evidence).filter(|(frame, answer)| {
        !is_http(evidence) || status(frame).is_none_or(|status| status < 400) || answer.get("jsonrpc").is_some()
    });
    all.collect()
}

/// The requests of the server's own.
fn requests(evidence: &Evidence) -> Vec<(u64, &str)> {
    let asked = said(evidence).filter(|(_, message)| message.get("id").is_some());
    asked.filter_map(|(frame, message)| Some((frame.seq, message.get("method")?.as_str()?))).collect()
}

fn has_id(answer: &Value) -> bool {
    answer.get("id").is_some_and(|id| !id.is_null())
}

fn frames(all: &[(&mock_servers::Frame, &Value)]) -> Vec<u64> {
    all.iter().map(|(frame, _)| frame.seq).collect()
}
