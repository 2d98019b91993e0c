//! The handshake, ping, and the features that a server offers compared with those it declares.

use std::collections::HashMap;

use serde_json::Value;

use super::{NO_RESPONSE, cancellation::cancelled_while_open, request_with};
use crate::{
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope, brief},
        transcript::{Message, RequestResponse, Transcript},
    },
    model::Revision,
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "negotiated-revision-exists",
        requirement: "lifecycle/server-answers-a-revision",
        scope: Scope::Named,
        expected: "the revision in the response exists",
        rule: Rule::Case(negotiated),
    },
    Check {
        id: "unknown-revision-is-negotiated",
        requirement: "lifecycle/server-answers-a-revision",
        scope: Scope::Named,
        expected: "the server answers an unknown revision with one that it supports, or rejects it",
        rule: Rule::Case(unknown_revision),
    },
    Check {
        id: "ping-is-answered-empty",
        requirement: "ping/empty-response",
        scope: Scope::Named,
        expected: "the result of a ping is empty",
        rule: Rule::Case(ping),
    },
    Check {
        id: "ping-does-not-wait-for-calls",
        requirement: "ping/prompt-during-calls",
        scope: Scope::Named,
        expected: "a ping that is sent during a call that takes over 500 ms has its response before the call",
        rule: Rule::Case(ping_during_calls),
    },
    Check {
        id: "offers-only-what-is-declared",
        requirement: "lifecycle/server-declares-what-it-offers",
        scope: Scope::Named,
        expected: "a server that lists tools, resources or prompts declares the capability",
        rule: Rule::Case(offers),
    },
];

/// A response that takes no longer, in microseconds, is prompt.
const PROMPT_US: u64 = 500_000;
const NO_HANDSHAKE: &str = "there was no handshake with a response";

/// The first request of a method with a response.
fn first<'t, 'a>(transcript: &'t Transcript<'a>, method: &str) -> Option<&'t RequestResponse<'a>> {
    transcript.requests_of(method).find(|request| request.response.is_some())
}

fn rejected(request: &RequestResponse<'_>) -> CheckOutcome {
    CheckOutcome::Blocked(format!(
        "the server rejected the request: {}",
        request.error().map_or_else(String::new, brief)
    ))
}

fn negotiated(transcript: &Transcript<'_>) -> CheckOutcome {
    let Some(request) = first(transcript, "initialize") else { return CheckOutcome::not_applicable(NO_HANDSHAKE) };
    let Some(result) = request.result() else { return rejected(request) };
    let version = result.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
    let observed = format!("the revision is `{version}`");
    match version.parse::<Revision>() {
        Ok(_) => CheckOutcome::passed(observed, request.frames()),
        Err(_) => CheckOutcome::failed(observed, request.frames()),
    }
}

fn unknown_revision(transcript: &Transcript<'_>) -> CheckOutcome {
    let unknown = transcript.unknown.revision.as_deref();
    let Some(request) = request_with(transcript, "initialize", "protocolVersion", unknown) else {
        return CheckOutcome::not_applicable("no handshake with an unknown revision was sent");
    };
    let Some(response) = request.response else { return CheckOutcome::failed(NO_RESPONSE, request.frames()) };
    let version = response.json.pointer("/result/protocolVersion").and_then(Value::as_str);
    match (version, request.error()) {
        (Some(version), _) if version.parse::<Revision>().is_ok() => {
            CheckOutcome::passed(format!("the server answers with {version}"), request.frames())
        }
        // The page's own example of a failed negotiation is an error (2025-11-25, basic/lifecycle, error handling).
        (None, Some(error)) => {
            CheckOutcome::passed(format!("the request is rejected with {}", brief(error)), request.frames())
        }
        _ => CheckOutcome::failed(format!("the response is {}", brief(response.json)), request.frames()),
    }
}

fn ping(transcript: &Transcript<'_>) -> CheckOutcome {
    let pings = transcript.requests_of("ping").map(|ping| (ping.last_frame(), ping));
    let fault = |ping: &&RequestResponse<'_>| {
        let members = ping.result().and_then(Value::as_object);
        if members.is_some_and(|members| members.keys().all(|key| key == "_meta")) {
            return None;
        }
        let answered = |response: Message<'_>| format!("the response is {}", brief(response.json));
        Some(ping.response.map_or_else(|| NO_RESPONSE.to_owned(), answered))
    };
    Findings::from_each(pings, fault).or_not_applicable("pings", "no ping was sent")
}

fn ping_during_calls(transcript: &Transcript<'_>) -> CheckOutcome {
    // A call that waits for its user has no response before the client gives it up.
    let cancelled = transcript.sessions().iter().flat_map(cancelled_while_open);
    let cancelled: HashMap<u64, Message<'_>> = cancelled.map(|(cancel, request, _)| (request.seq(), cancel)).collect();
    let calls = transcript.requests_of("tools/call").filter_map(|call| {
        let began = call.request.seq();
        Some((began, call, call.response.or_else(|| cancelled.get(&began).copied())?))
    });
    let calls: Vec<_> = calls.collect();
    // Several calls may keep a slow machine busy for that long, although none of them does: a call counts from the
    // response to the one before.
    let mut responses: Vec<_> = calls.iter().filter_map(|(_, call, _)| call.response).collect();
    responses.sort_by_key(Message::seq);
    let response_before = |end: &Message<'_>| {
        let before = responses.partition_point(|response| response.seq() < end.seq());
        before.checked_sub(1).map_or(0, |last| responses[last].at_us())
    };
    let mut findings = Findings::default();
    for ping in transcript.requests_of("ping") {
        let sent = ping.request;
        let lasts = |(began, _, end): &&(u64, &RequestResponse<'_>, Message<'_>)| {
            let is_open = *began < sent.seq() && end.seq() > sent.seq();
            is_open && end.at_us() > sent.at_us().max(response_before(end)) + PROMPT_US
        };
        let Some((_, call, end)) = calls.iter().find(lasts) else { continue };
        let waited = ping.response.is_none_or(|answered| end.seq() < answered.seq());
        let when = match ping.response {
            Some(answered) => {
                let late_ms = answered.at_us().saturating_sub(sent.at_us()) / 1000;
                format!("the response to a ping comes after {late_ms} ms, when the call")
            }
            None => "a ping has no response before the call".to_owned(),
        };
        let tool = call.param("name").map_or_else(String::new, brief);
        let message = || format!("{when} of {tool} has ended");
        findings.check(ping.last_frame(), if waited { Err(message()) } else { Ok(()) });
    }
    findings.or_not_applicable("pings", "no ping was sent during a call that takes over 500 ms")
}

fn offers(transcript: &Transcript<'_>) -> CheckOutcome {
    let identity = transcript.server_identity();
    let capabilities = identity.and_then(|identity| identity.get("capabilities")).and_then(Value::as_object);
    let Some(capabilities) = capabilities else {
        return CheckOutcome::Blocked("the capabilities of the server are unknown".to_owned());
    };
    let mut findings = Findings::default();
    for (name, method) in [("tools", "tools/list"), ("resources", "resources/list"), ("prompts", "prompts/list")] {
        for request in transcript.requests_of(method) {
            let listed = request.result().and_then(|result| result.get(name)).and_then(Value::as_array);
            let count = listed.map_or(0, Vec::len);
            let undeclared = count > 0 && !capabilities.contains_key(name);
            let message = || format!("the server lists {count} {name}, and does not declare `{name}`");
            findings.check(request.last_frame(), if undeclared { Err(message()) } else { Ok(()) });
        }
    }
    findings.or_not_applicable("lists", "no list was requested")
}
