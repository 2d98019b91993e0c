//! JSON-RPC between request and response: that each request is answered, batches, malformed parameters, and the ids of the
//! server's own requests.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::{has_is_error, known, waiting::Waiting};
use crate::{
    judge::{
        capabilities::capability_of,
        check::{Check, CheckOutcome, Findings, Rule, Scope, brief, brief_or_missing},
        transcript::{
            Frame, IdKey, Message, RequestResponse, Transcript,
            http::{SESSION_HEADER, header, status},
        },
    },
    model::{Revision, Transport},
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "requests-are-answered",
        requirement: "messages/every-request-answered",
        scope: Scope::Always,
        expected: "every request is answered under its own id",
        rule: Rule::Case(answered),
    },
    Check {
        id: "server-request-ids",
        requirement: "messages/request-id",
        scope: Scope::Always,
        expected: "a request of the server has a string or an integer as its id, and no id is used again",
        rule: Rule::Case(request_ids),
    },
    Check {
        id: "notification-has-no-id",
        requirement: "messages/notification-without-id",
        scope: Scope::Always,
        expected: "a notification of the server has no id",
        rule: Rule::Case(notification_ids),
    },
    Check {
        id: "messages-are-single",
        requirement: "messages/no-batches",
        scope: Scope::Always,
        expected: "the server sends single messages and no array of messages",
        rule: Rule::Case(single),
    },
    Check {
        id: "batch-is-answered",
        requirement: "messages/batch",
        scope: Scope::Named,
        expected: "every request of a batch is answered; a batch of notifications gets 202 over HTTP, and no empty array",
        rule: Rule::Case(batch),
    },
    Check {
        id: "malformed-params-are-refused",
        requirement: "messages/malformed-params",
        scope: Scope::Always,
        expected: "a request whose required parameter is missing or has another type is answered with an error",
        rule: Rule::Case(malformed_params),
    },
    Check {
        id: "malformed-params-code",
        requirement: "messages/invalid-params",
        scope: Scope::Always,
        expected: "the error code of malformed parameters is -32602 (invalid params)",
        rule: Rule::Case(malformed_params_code),
    },
];

fn answered(transcript: &Transcript<'_>) -> CheckOutcome {
    let waiting = Waiting::new(transcript);
    let single = transcript.requests().iter().map(|one| (one.request, one.response.is_some()));
    let mut findings = Findings::default();
    for ping in rejected_by_id(transcript) {
        let error = ping.error().unwrap_or_default();
        let id = brief_or_missing(ping.request.json.get("id"));
        findings.fail(
            format!("a ping with the id {id} is rejected with {}, and others are not", brief(error)),
            ping.frames(),
        );
    }
    let mut last = last_received(transcript).filter(|last| waiting.judge(last).is_none());
    for (request, answered) in single {
        if answered {
            findings.saw(request.seq());
        } else if let Some(why) = waiting.judge(&request) {
            if let Some(last) = last.take_if(|last| last.seq() < request.seq()) {
                let bytes = last.json.to_string().len();
                findings.fail(
                    format!("the server sent nothing after {} ({bytes} bytes)", brief(last.json)),
                    vec![last.seq()],
                );
            }
            findings.check(request.seq(), Err(format!("{why} to {}", brief(request.json))));
        }
    }
    findings.or_not_applicable("requests", "no request was sent")
}

/// The request after which the server sent nothing more, although others followed.
fn last_received<'a>(transcript: &Transcript<'a>) -> Option<Message<'a>> {
    let mut frames = transcript.evidence.frames.iter().rev();
    let last = frames.find(|frame| !frame.from_client()).map(|frame| frame.seq);
    transcript.requests().iter().map(|one| one.request).find(|request| Some(request.seq()) > last)
}

/// The pings that are rejected although their ids are numbers, as those of pings that have a result. Over HTTP the session may
/// be the reason.
fn rejected_by_id<'t, 'a>(transcript: &'t Transcript<'a>) -> Vec<&'t RequestResponse<'a>> {
    let has_number = |ping: &&RequestResponse<'_>| ping.request.json.get("id").is_some_and(Value::is_number);
    let pings = || transcript.requests_of("ping").filter(has_number);
    let first = pings().find(|ping| ping.result().is_some()).filter(|_| !transcript.is_http());
    let since = first.map_or(u64::MAX, |ping| ping.request.seq());
    pings().filter(|ping| ping.request.seq() > since && ping.error().is_some()).collect()
}

/// Requests that a server may send to a client of the handshake revisions.
const SERVER_METHODS: [&str; 4] = ["ping", "roots/list", "sampling/createMessage", "elicitation/create"];

fn request_ids(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut seen: HashMap<IdKey<'_>, u64> = HashMap::new();
    let one_session = is_one_session(transcript);
    let mut findings = Findings::default();
    for message in transcript.server_messages() {
        let Some(method) = message.method() else { continue };
        if !message.is_request() && !SERVER_METHODS.contains(&method) {
            continue;
        }
        let id = message.id();
        if !id.is_some_and(|id| id.is_string() || id.is_i64() || id.is_u64()) {
            findings.check(message.seq(), Err(format!("the id of `{method}` is {}", brief_or_missing(id))));
            continue;
        }
        findings.saw(message.seq());
        let Some(earlier) = message.id_key().and_then(|id| seen.insert(id, message.seq())) else { continue };
        // A resumed stream repeats messages (2025-11-25, basic/transports, resumability).
        if one_session && !is_resumed(transcript, message.frame) {
            let text = format!("the id {} of `{method}` was used before", brief_or_missing(message.id()));
            findings.fail(text, [earlier, message.seq()]);
        }
    }
    findings.or_not_applicable("requests", "the server sent no request")
}

/// Whether all messages belong to one session. Over HTTP each request is its own session if the server assigns none.
fn is_one_session(transcript: &Transcript<'_>) -> bool {
    let handshakes = transcript.client_messages().filter(|message| message.is("initialize")).count();
    let has_session = || transcript.client_frames().any(|frame| header(frame, SESSION_HEADER).is_some());
    handshakes <= 1 && (transcript.evidence.transport != Transport::StreamableHttp || has_session())
}

pub(super) fn is_resumed(transcript: &Transcript<'_>, frame: &Frame) -> bool {
    transcript.is_http()
        && transcript.connection_of(frame).is_some_and(|connection| connection.resumes_after().is_some())
}

fn notification_ids(transcript: &Transcript<'_>) -> CheckOutcome {
    let sent = transcript.server_messages();
    let sent = sent.filter(|message| message.method().is_some_and(|method| method.starts_with("notifications/")));
    let fault = |message: &Message<'_>| message.id().map(|id| format!("the id of a notification is {}", brief(id)));
    Findings::from_each(sent.map(|message| (message.seq(), message)), fault)
        .or_not_applicable("notifications", "the server sent no notification")
}

fn single(transcript: &Transcript<'_>) -> CheckOutcome {
    let frames = transcript.evidence.frames.iter().filter(|frame| !frame.from_client());
    let frames = frames.filter_map(|frame| Some((frame.seq, frame.json()?)));
    let fault = |value: &&Value| value.is_array().then(|| format!("the server sent {}", brief(value)));
    Findings::from_each(frames, fault).or_not_applicable("messages", "the server sent no message")
}

/// Whether the server supports a revision without batches, or may do so. Its SDK then no longer has them in any revision.
fn batch(transcript: &Transcript<'_>) -> CheckOutcome {
    let newer = transcript.may_support(|revision| revision > Revision::V2025_03_26);
    if newer && !answers_in_batches(transcript) { unsupported_batches(transcript) } else { judge_batches(transcript) }
}

/// SDKs removed batches from all revisions when 2025-06-18 removed them.
fn unsupported_batches(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for batch in batches(transcript) {
        // Over HTTP each exchange is a connection.
        let answers = |message: &Message<'_>| message.seq() > batch.seq && message.frame.connection == batch.connection;
        let errors =
            transcript.server_messages().filter(|message| message.error().is_some() && known::id_of_none(message));
        let mut refusals = errors.filter(answers);
        match refusals.next().filter(|refusal| !known::rejects_batch(refusal)) {
            Some(refusal) => {
                findings.fail(format!("the batch is rejected: {}", brief(refusal.json)), [batch.seq, refusal.seq()]);
            }
            None if accepts_requests(transcript, batch) => {
                findings.fail("the status of a batch with requests is 202, and they have no response", [batch.seq]);
            }
            None => findings.known(batch.seq, "the batch is not read, as in SDKs that removed batches".to_owned()),
        }
    }
    findings.or_not_applicable("batches", "no batch was sent")
}

/// Whether requests of a batch get the HTTP response of notifications.
fn accepts_requests(transcript: &Transcript<'_>, batch: &Frame) -> bool {
    let has_request = Message::all_of(batch).any(|message| message.is_request());
    let is_stream = transcript.evidence.transport == Transport::StreamableHttp;
    has_request && is_stream && transcript.reply(batch).and_then(status) == Some(202)
}

fn batches<'t, 'a>(transcript: &'t Transcript<'a>) -> impl Iterator<Item = &'a Frame> + use<'t, 'a> {
    transcript.client_frames().filter(|frame| frame.json().is_some_and(Value::is_array))
}

/// Whether a request of a batch has a response.
fn answers_in_batches(transcript: &Transcript<'_>) -> bool {
    let ids: HashSet<_> =
        batches(transcript).flat_map(Message::all_of).filter_map(|request| request.id_key()).collect();
    let mut responses = transcript.server_messages().filter(Message::may_be_response);
    responses.any(|response| response.id_key().is_some_and(|id| ids.contains(&id)))
}

fn judge_batches(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut responses: HashMap<IdKey<'_>, u64> = HashMap::new();
    for response in transcript.server_messages().filter(Message::may_be_response) {
        if let Some(id) = response.id_key() {
            responses.insert(id, response.seq());
        }
    }
    let mut findings = Findings::default();
    for frame in batches(transcript) {
        findings.saw(frame.seq);
        let requests: Vec<_> = Message::all_of(frame).filter(Message::is_request).collect();
        let open = requests.iter().filter(|request| {
            let answer = request.id_key().and_then(|id| responses.get(&id));
            answer.is_none_or(|answer| *answer < frame.seq)
        });
        let open: Vec<String> = open.map(|request| brief_or_missing(request.id())).collect();
        if !open.is_empty() {
            findings.fail(format!("the ids {} of the batch have no response", open.join(", ")), [frame.seq]);
        }
        let status = transcript.reply(frame).and_then(status).filter(|_| transcript.is_http() && requests.is_empty());
        if let Some(status) = status.filter(|status| *status != 202) {
            findings.fail(format!("the status of a batch of notifications is {status}"), [frame.seq]);
        }
    }
    // JSON-RPC 2.0, section 6: nothing is returned if no response is.
    let is_empty = |frame: &&Frame| frame.json().and_then(Value::as_array).is_some_and(Vec::is_empty);
    let empty = transcript.evidence.frames.iter().filter(|frame| !frame.from_client()).find(is_empty);
    if let Some(empty) = empty {
        findings.fail("the server sent an empty array", [empty.seq]);
    }
    findings.or_not_applicable("batches", "no batch was sent")
}

/// The requests whose required parameter is missing or has another type in every revision, of features that the server declares
/// as far as is known.
fn malformed<'t, 'a>(transcript: &'t Transcript<'a>) -> impl Iterator<Item = &'t RequestResponse<'a>> {
    transcript.requests().iter().filter(|one| {
        let param = |name: &str| one.param(name);
        // Many languages do not tell `null` from an absent member.
        let has_arguments = || param("arguments").is_none_or(|given| given.is_object() || given.is_null());
        let well_formed = match one.request.method() {
            Some("tools/call") => param("name").is_some_and(Value::is_string) && has_arguments(),
            Some("prompts/get") => {
                let values = param("arguments").and_then(Value::as_object).into_iter().flat_map(Map::values);
                let has_texts = values.into_iter().all(|value| value.is_string() || value.is_null());
                param("name").is_some_and(Value::is_string) && has_arguments() && has_texts
            }
            Some("resources/read" | "resources/subscribe" | "resources/unsubscribe") => {
                param("uri").is_some_and(Value::is_string)
            }
            Some("logging/setLevel") => param("level").is_some_and(Value::is_string),
            Some("completion/complete") => {
                let value = param("argument").and_then(|argument| argument.get("value"));
                let kind = param("ref").and_then(|reference| reference.get("type")?.as_str());
                matches!(kind, Some("ref/prompt" | "ref/resource")) && value.is_some_and(Value::is_string)
            }
            _ => true,
        };
        // Parameters that are no object are malformed for JSON-RPC, not for the method.
        !well_formed && one.request.params().is_none_or(Value::is_object) && !is_undeclared(transcript, one)
    })
}

const NO_MALFORMED_PARAMS: &str = "no request with malformed parameters was sent";

fn malformed_params(transcript: &Transcript<'_>) -> CheckOutcome {
    // Rejecting a log level is a SHOULD (server/utilities/logging#error-handling).
    let requests = malformed(transcript).filter(|one| one.response.is_some() && !one.request.is("logging/setLevel"));
    Findings::from_each(requests.map(|one| (one.last_frame(), one)), |one| accepted(one))
        .or_not_applicable("requests", NO_MALFORMED_PARAMS)
}

/// What is wrong if malformed parameters have a result. An error of a tool is one.
fn accepted(one: &RequestResponse<'_>) -> Option<String> {
    let result = one.result()?;
    let is_error = one.request.is("tools/call") && has_is_error(result);
    (!is_error).then(|| format!("{} is answered with {}", brief(one.request.json), brief(result)))
}

/// Whether the server does not declare the capability of a method. It may answer as it likes.
fn is_undeclared(transcript: &Transcript<'_>, one: &RequestResponse<'_>) -> bool {
    let capability = one.request.method().and_then(capability_of).and_then(|pointer| pointer.split('/').nth(1));
    capability.and_then(|name| transcript.declares(name)) == Some(false)
}

fn malformed_params_code(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for one in malformed(transcript) {
        if let Some(accepted) = accepted(one).filter(|_| one.request.is("logging/setLevel")) {
            findings.fail(accepted, [one.last_frame()]);
        }
        let Some(code) = one.code() else { continue };
        // A server without the feature rejects the method, and one of 2026-07-28 may require headers first.
        let valid = matches!(code, -32602 | -32601) || transcript.evidence.revision.is_modern();
        match known::sdk_of(one).filter(|_| !valid) {
            Some(sdk) => findings.known(one.last_frame(), known::rejection(code, sdk)),
            None => {
                let fault = || format!("the code of the error to {} is {code}", brief(one.request.json));
                findings.check(one.last_frame(), if valid { Ok(()) } else { Err(fault()) });
            }
        }
    }
    findings.or_not_applicable("errors", NO_MALFORMED_PARAMS)
}
