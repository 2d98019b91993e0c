//! Reactions to many messages and to unusual but valid ones.

use std::collections::HashSet;

use serde_json::Value;

use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope, brief},
    transcript::{ConnectionFrames, IdKey, Message, RequestResponse, Transcript, http::method},
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "latency-does-not-grow",
        requirement: "workbench/constant-latency",
        scope: Scope::Named,
        expected: "the responses at the end of a long session take about as long as at its beginning",
        rule: Rule::Case(latency),
    },
    Check {
        id: "memory-does-not-grow",
        requirement: "workbench/constant-memory",
        scope: Scope::Named,
        expected: "the memory of the server grows by less than 128 KiB per request",
        rule: Rule::Case(memory),
    },
    Check {
        id: "unknown-methods-are-refused",
        requirement: "messages/method-names",
        scope: Scope::Named,
        expected: "a method name in another case, with other characters or of any length is unknown",
        rule: Rule::Case(method_names),
    },
    Check {
        id: "invalid-request-code",
        requirement: "messages/parse-error",
        scope: Scope::Named,
        expected: "the error to JSON that is not a valid message has the code -32600, -32602 or -32700, or -32601 if it has an \
                   id and no method",
        rule: Rule::Case(invalid_request_code),
    },
    Check {
        id: "survives-odd-messages",
        requirement: "messages/survives-odd-messages",
        scope: Scope::Named,
        expected: "the server still responds after messages that are valid JSON but not valid requests",
        rule: Rule::Case(odd_messages),
    },
];

/// A latency below this is never a violation, in microseconds.
const TOLERATED_US: u64 = 100_000;
/// How much longer the last responses may take.
const MAX_GROWTH: u64 = 10;

/// Growth of memory in KiB that is never a violation: that of garbage collection and caches.
const TOLERATED_KB: u64 = 32 << 10;
/// How much memory may grow per request, in KiB.
const MAX_GROWTH_KB: u64 = 128;

fn memory(transcript: &Transcript<'_>) -> CheckOutcome {
    let Some([count, first, last]) = transcript.step_numbers(["count", "first_kb", "last_kb"]) else {
        return CheckOutcome::not_applicable("no request was repeated to a process of the workbench");
    };
    let growth = last.saturating_sub(first);
    let observed =
        format!("the server uses {first} KiB after the first tenth of {count} requests, and {last} KiB after the last");
    if growth > TOLERATED_KB && growth > count * MAX_GROWTH_KB {
        CheckOutcome::failed(observed, vec![])
    } else {
        CheckOutcome::passed(observed, vec![])
    }
}

fn latency(transcript: &Transcript<'_>) -> CheckOutcome {
    let Some([first, last]) = transcript.step_numbers(["first_us", "last_us"]) else {
        return CheckOutcome::not_applicable("no request was repeated");
    };
    let observed = format!("the first requests take about {} ms, the last {} ms", first / 1000, last / 1000);
    if last > TOLERATED_US && last > first.max(1) * MAX_GROWTH {
        CheckOutcome::failed(observed, vec![])
    } else {
        CheckOutcome::passed(observed, vec![])
    }
}

fn method_names(transcript: &Transcript<'_>) -> CheckOutcome {
    // Names of the specification begin with a lower-case letter, and are short.
    let unusual = transcript.requests().iter().filter(|one| {
        one.request
            .method()
            .is_some_and(|name| name.len() > 100 || name.chars().any(|c| c.is_ascii_uppercase() || c == ' '))
            && !one.request.is("sampling/createMessage")
            && !one.request.is("logging/setLevel")
    });
    let fault = |one: &&RequestResponse<'_>| {
        let result = one.result()?;
        Some(format!("the response to {} is {}", brief(one.request.json), brief(result)))
    };
    let answered = unusual.filter(|one| one.response.is_some());
    Findings::from_each(answered.map(|one| (one.last_frame(), one)), fault)
        .or_not_applicable("requests", "no unusual method was requested")
}

fn odd_messages(transcript: &Transcript<'_>) -> CheckOutcome {
    let Some(first) = transcript.first_malformed() else {
        return CheckOutcome::not_applicable("no malformed message was sent");
    };
    let mut findings = Findings::default();
    // Odd messages may be pings too, and need no response.
    let pings = transcript.requests_of("ping").filter(|ping| ping.request.seq() > first.seq && is_valid(ping.request));
    for ping in pings {
        findings.saw(ping.last_frame());
        if ping.response.is_none() {
            let frames = transcript.client_frames().take_while(|frame| frame.seq < ping.request.seq());
            let before = frames.filter_map(|frame| Some((frame.seq, frame.json()?))).last();
            let text = before.map_or_else(String::new, |(_, json)| brief(json));
            let seqs = before.map(|(seq, _)| seq).into_iter().chain([ping.request.seq()]);
            findings.fail(format!("the ping after {text} has no response"), seqs);
            break;
        }
    }
    findings.or_not_applicable("pings", "no ping was sent afterwards")
}

/// Whether a request has the version 2.0 and an id that JSON-RPC allows in requests of MCP.
fn is_valid(request: Message<'_>) -> bool {
    let version = request.json.get("jsonrpc").is_some_and(|version| version == "2.0");
    version && request.id().is_some_and(|id| id.is_string() || id.is_i64() || id.is_u64())
}

/// The ids of messages that have no method, or one that is not a string, and are no responses.
fn without_method<'a>(transcript: &Transcript<'a>) -> HashSet<IdKey<'a>> {
    let messages = transcript.client_messages().filter(|message| {
        let has = |key| message.json.get(key).is_some();
        message.json.is_object() && message.method().is_none() && !has("result") && !has("error")
    });
    messages.filter_map(|message| message.id_key()).collect()
}

fn invalid_request_code(transcript: &Transcript<'_>) -> CheckOutcome {
    let Some(first) = transcript.first_malformed() else {
        return CheckOutcome::not_applicable("no malformed message was sent");
    };
    // Without an id, an error can only refer to a malformed message.
    let errors = transcript.server_messages().filter(|message| message.seq() > first.seq);
    let errors = errors.filter(|message| message.id().is_none_or(Value::is_null));
    // A response that belongs to no request of the server is a valid message, and GET and DELETE have none.
    let errors = errors.filter(|message| {
        let connection = transcript.connection_of(message.frame).filter(|_| transcript.is_http());
        let request = connection.and_then(ConnectionFrames::request);
        request.is_none_or(|request| !request.is_response() && method(request).is_none_or(|method| method == "POST"))
    });
    let errors = errors.filter_map(|message| Some((message.seq(), message.error()?, false)));
    let with_id = without_method(transcript);
    let with_id = transcript.server_messages().filter_map(|message| {
        let error = message.error().filter(|_| message.id_key().is_some_and(|id| with_id.contains(&id)))?;
        Some((message.seq(), error, true))
    });
    let fault = |(_, error, has_id): &(u64, &Value, bool)| {
        // What has an id may count as a request, of an unknown method.
        let valid = match error["code"].as_i64() {
            Some(-32600 | -32602 | -32700) => true,
            Some(-32601) => *has_id,
            _ => false,
        };
        (!valid).then(|| format!("the error is {}", brief(error)))
    };
    Findings::from_each(errors.chain(with_id).map(|one| (one.0, one)), fault)
        .or_not_applicable("errors", "the server does not answer malformed messages, and need not")
}
