//! What the revision removed: methods, sessions, GET and DELETE, resumption, and error codes.

use serde_json::Value;

use super::{META_CAPABILITIES, all_pass, may_be_older, meta, modern_requests, version_of};
use crate::{
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope, brief, brief_or_missing},
        checks::server::{NO_RESPONSE, errors::unknown_request, messages::has_mode},
        transcript::{
            Message, RequestResponse, Transcript,
            http::{SESSION_HEADER, header, method, status},
        },
    },
    model::Revision,
};

pub(in super::super) const CHECKS: &[Check] = &[
    Check {
        id: "removed-methods-are-unknown",
        requirement: "versioning/removed-methods",
        scope: Scope::Named,
        expected: "a method of an older revision is rejected, over HTTP with -32601 and 404",
        rule: Rule::Case(removed),
    },
    Check {
        id: "http-unknown-method-is-404",
        requirement: "transports/unknown-method-404",
        scope: Scope::Named,
        expected: "the response to an unknown method is 404",
        rule: Rule::Case(not_found),
    },
    Check {
        id: "http-get-and-delete-are-405",
        requirement: "transports/no-get-no-delete",
        scope: Scope::Named,
        expected: "the response to GET and DELETE is 405",
        rule: Rule::Case(no_get),
    },
    Check {
        id: "http-session-and-resumption-are-ignored",
        requirement: "transports/older-headers-ignored",
        scope: Scope::Named,
        expected: "a request with a session id or the id of an event is served like any other",
        rule: Rule::Case(older_headers),
    },
    Check {
        id: "http-no-session-is-assigned",
        requirement: "transports/no-session-id",
        scope: Scope::Always,
        expected: "no response has a session id",
        rule: Rule::Case(no_session),
    },
    Check {
        id: "initialize-names-the-supported-revisions",
        requirement: "versioning/initialize-refused",
        scope: Scope::Named,
        expected: "the error of a rejected `initialize` names the supported revisions",
        rule: Rule::Case(names_versions),
    },
    Check {
        id: "reserved-error-codes",
        requirement: "messages/reserved-codes",
        scope: Scope::Always,
        expected: "no error has a code that is retired, or reserved without a meaning",
        rule: Rule::Case(codes),
    },
    Check {
        id: "defined-error-codes-keep-their-meaning",
        requirement: "messages/defined-codes",
        scope: Scope::Always,
        expected: "-32020, -32021 and -32022 have their data and status, and are used for their purpose only",
        rule: Rule::Case(meanings),
    },
    Check {
        id: "legacy-error-codes-are-not-used",
        requirement: "messages/legacy-codes",
        scope: Scope::Always,
        expected: "no error has a code from -32768 to -32000 that neither JSON-RPC nor MCP defines",
        rule: Rule::Case(legacy_codes),
    },
];

/// The methods that this revision no longer has, and those that only a client implemented.
const REMOVED: [&str; 9] = [
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
    "tasks/list",
    "roots/list",
    "sampling/createMessage",
    "elicitation/create",
];

/// Whether this revision no longer has a method.
pub(super) fn is_removed(method: &str) -> bool {
    REMOVED.contains(&method)
}

fn removed(transcript: &Transcript<'_>) -> CheckOutcome {
    let is_removed = |one: &&RequestResponse<'_>| one.request.method().is_some_and(|method| REMOVED.contains(&method));
    let outcome = |one: &RequestResponse<'_>| {
        let handshake = one.request.is("initialize");
        if handshake && transcript.may_be_dual_era() {
            return CheckOutcome::not_applicable("an `initialize` selects the older era");
        }
        let Some(response) = one.response else { return CheckOutcome::failed(NO_RESPONSE, one.frames()) };
        let observed =
            format!("`{}` is answered with {}", one.request.method().unwrap_or_default(), brief(response.json));
        let right = match (one.code(), one.status()) {
            (None, _) => false,
            (Some(-32601), status) => !transcript.is_http() || status == Some(404),
            // The version error is the better answer to a handshake (basic/versioning).
            (Some(-32022), _) if handshake => true,
            // A server may expect headers of the method.
            (Some(-32020), _) => true,
            (Some(_), _) => !transcript.is_http(),
        };
        let status = one.status().filter(|_| transcript.is_http()).map_or_else(String::new, |it| format!(" and {it}"));
        if right {
            CheckOutcome::passed(observed, one.frames())
        } else {
            CheckOutcome::failed(observed + &status, one.frames())
        }
    };
    let requests = modern_requests(transcript).filter(is_removed);
    all_pass(requests.map(|one| (one, outcome(one))), "no removed method was requested")
}

fn not_found(transcript: &Transcript<'_>) -> CheckOutcome {
    let Some(request) = unknown_request(transcript) else {
        return CheckOutcome::not_applicable("no unknown method was requested");
    };
    match request.status() {
        Some(404) => CheckOutcome::passed("the status is 404", request.frames()),
        Some(other) => CheckOutcome::failed(format!("the status is {other}"), request.frames()),
        None => CheckOutcome::Blocked(NO_RESPONSE.to_owned()),
    }
}

fn no_get(transcript: &Transcript<'_>) -> CheckOutcome {
    if transcript.may_be_dual_era() {
        return CheckOutcome::not_applicable("the server also supports a revision with GET and DELETE");
    }
    let sent = transcript.client_frames().filter(|frame| matches!(method(frame), Some("GET" | "DELETE")));
    let replies = sent.filter_map(|frame| transcript.reply(frame)).map(|reply| (reply.seq, status(reply)));
    let fault = |status: &Option<u16>| status.filter(|status| *status != 405).map(|it| format!("the status is {it}"));
    Findings::from_each(replies, fault).or_not_applicable("responses", "neither was sent")
}

fn older_headers(transcript: &Transcript<'_>) -> CheckOutcome {
    if transcript.may_be_dual_era() {
        return CheckOutcome::not_applicable("the server also supports a revision with sessions");
    }
    let has = |one: &&RequestResponse<'_>| {
        [SESSION_HEADER, "last-event-id"].into_iter().any(|name| header(one.request.frame, name).is_some())
    };
    let outcome = |one: &RequestResponse<'_>| match (one.result(), transcript.reply(one.request.frame)) {
        (Some(_), _) => CheckOutcome::passed("the request is served", one.frames()),
        (None, Some(reply)) => {
            let status = status(reply).map_or_else(|| "missing".to_owned(), |status| status.to_string());
            CheckOutcome::failed(format!("the response has no result; the status is {status}"), one.frames())
        }
        (None, None) => CheckOutcome::failed(NO_RESPONSE, one.frames()),
    };
    let requests = modern_requests(transcript).filter(has);
    all_pass(requests.map(|one| (one, outcome(one))), "no such header was sent")
}

/// The HTTP responses to requests of this revision.
fn replies<'a>(transcript: &Transcript<'a>) -> impl Iterator<Item = (u64, &'a crate::judge::transcript::Frame)> {
    let requests = modern_requests(transcript).filter(|one| one.request.frame.http.is_some());
    let requests = requests.filter(|one| !may_be_older(transcript, one));
    requests.filter_map(|one| transcript.reply(one.request.frame)).map(|reply| (reply.seq, reply))
}

fn no_session(transcript: &Transcript<'_>) -> CheckOutcome {
    let fault = |reply: &&crate::judge::transcript::Frame| {
        header(reply, SESSION_HEADER).map(|_| "the response has Mcp-Session-Id".to_owned())
    };
    Findings::from_each(replies(transcript), fault).or_not_applicable("responses", "there was no HTTP response")
}

fn names_versions(transcript: &Transcript<'_>) -> CheckOutcome {
    if transcript.may_be_dual_era() && transcript.server_identity().is_some() {
        return CheckOutcome::not_applicable("the server also supports a revision with a handshake");
    }
    let Some(request) = transcript.requests_of("initialize").next() else {
        return CheckOutcome::not_applicable("no `initialize` was sent");
    };
    match (request.error(), request.result()) {
        (Some(error), _) => {
            let (text, mut modern) = (error.to_string(), Revision::ALL.into_iter().filter(|one| one.is_modern()));
            if modern.any(|revision| text.contains(revision.as_str())) {
                CheckOutcome::passed(brief(error), request.frames())
            } else {
                CheckOutcome::failed(brief(error), request.frames())
            }
        }
        (None, Some(_)) => CheckOutcome::not_applicable("the server did not reject it"),
        (None, None) => CheckOutcome::failed(NO_RESPONSE, request.frames()),
    }
}

fn codes(transcript: &Transcript<'_>) -> CheckOutcome {
    let errors = transcript.server_messages().filter(Message::may_be_response);
    let codes = errors.filter_map(|error| Some((error.seq(), error.json.pointer("/error/code")?.as_i64()?)));
    let fault = |code: &i64| {
        let retired = matches!(code, -32002 | -32042);
        let reserved = (-32099..=-32020).contains(code) && !matches!(code, -32022..=-32020);
        (retired || reserved).then(|| format!("an error has the code {code}"))
    };
    Findings::from_each(codes, fault).or_not_applicable("errors", "the server sent no error")
}

fn legacy_codes(transcript: &Transcript<'_>) -> CheckOutcome {
    let errors = modern_requests(transcript).filter_map(|one| Some((one.last_frame(), one.code()?)));
    let fault = |code: &i64| {
        let defined = matches!(code, -32700 | -32603..=-32600);
        // Retired codes, and those for the specification alone, violate a MUST.
        let judged_elsewhere = matches!(code, -32002 | -32042 | -32099..=-32020);
        let is_reserved = (-32768..=-32000).contains(code) && !defined && !judged_elsewhere;
        is_reserved.then(|| format!("an error has the code {code}"))
    };
    Findings::from_each(errors, fault).or_not_applicable("errors", "the server sent no error")
}

fn meanings(transcript: &Transcript<'_>) -> CheckOutcome {
    let errors = modern_requests(transcript).filter(|one| one.error().is_some());
    let others = transcript.requests().iter().filter(|one| version_of(one).is_some_and(|it| !is_known_modern(it)));
    let errors = errors.chain(others).map(|one| (one.last_frame(), one));
    Findings::from_each(errors, |one| meaning_fault(transcript, one)).or_not_applicable("errors", "there was no error")
}

fn is_known_modern(version: &Value) -> bool {
    version.as_str().is_some_and(super::names_modern)
}

fn meaning_fault(transcript: &Transcript<'_>, request: &RequestResponse<'_>) -> Option<String> {
    let data = |key: &str| request.error().and_then(|error| error.get("data")?.get(key));
    let fault = match request.code()? {
        -32020 if !transcript.is_http() => Some("-32020 is about headers, which this transport lacks".to_owned()),
        -32021 => {
            let required = data("requiredCapabilities");
            let declared = meta(request, META_CAPABILITIES);
            match required.and_then(Value::as_object) {
                Some(required) if !required.is_empty() => {
                    let all = required.iter().all(|(name, wanted)| declares(declared, name, wanted));
                    all.then(|| "the client declared all of requiredCapabilities".to_owned())
                }
                _ => Some(format!("requiredCapabilities is {}", brief_or_missing(required))),
            }
        }
        -32022 => match data("supported").and_then(Value::as_array) {
            Some(supported) => {
                // A server of both eras lists the older revisions too, which a request with metadata cannot have.
                let older = |version: &&Value| {
                    version.as_str().is_some_and(|it| it.parse().is_ok_and(|it: Revision| !it.is_modern()))
                };
                let listed = version_of(request).filter(|version| !older(version));
                let listed = listed.is_some_and(|version| supported.contains(version));
                listed.then(|| "the requested revision is in data.supported".to_owned())
            }
            None => Some(format!("data.supported is {}", brief_or_missing(data("supported")))),
        },
        -32020 => None,
        _ => return None,
    };
    fault.or_else(|| status_fault(transcript, request))
}

/// Whether the client declared a capability with all members of an object. An empty `elicitation` asks for forms.
fn declares(declared: Option<&Value>, name: &str, wanted: &Value) -> bool {
    let Some(found) = declared.and_then(|declared| declared.get(name)) else { return false };
    let members = wanted.as_object().filter(|members| !members.is_empty());
    match members {
        None if name == "elicitation" => has_mode(found, "form"),
        None => true,
        Some(members) => members.keys().all(|member| found.get(member).is_some()),
    }
}

/// The three errors have the status 400. It cannot change anymore after the first message of a stream.
fn status_fault(transcript: &Transcript<'_>, request: &RequestResponse<'_>) -> Option<String> {
    let response = request.response?;
    let first = transcript.reply(request.request.frame).is_none_or(|reply| reply.seq == response.seq());
    let status = request.status().filter(|status| transcript.is_http() && first && *status != 400)?;
    Some(format!("the status of {} is {status}", request.code()?))
}
