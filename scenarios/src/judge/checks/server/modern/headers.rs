//! The headers that every request has over Streamable HTTP, compared with the body.

use serde_json::Value;

use super::{
    META_VERSION, all_pass, is_modern, may_be_older, modern_requests, names_modern, rejected_over, removed::is_removed,
};
use crate::{
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope, brief},
        transcript::{
            Frame, RequestResponse, Transcript,
            http::{REVISION_HEADER, header},
        },
    },
    model::Revision,
    parameter_headers::decoded,
};

pub(in super::super) const CHECKS: &[Check] = &[
    Check {
        id: "http-header-mismatch-is-refused",
        requirement: "transports/header-mismatch",
        scope: Scope::Named,
        expected: "missing headers, and headers that contradict the body, are rejected with -32020 and 400",
        rule: Rule::Case(mismatch),
    },
    Check {
        id: "http-matching-headers-are-accepted",
        requirement: "transports/matching-headers",
        scope: Scope::Always,
        expected: "no request is rejected with -32020 if its headers match the body",
        rule: Rule::Case(matching),
    },
    Check {
        id: "http-error-has-the-id-of-its-request",
        requirement: "messages/error-id",
        scope: Scope::Always,
        expected: "the error for a request that was readable has its id",
        rule: Rule::Case(error_ids),
    },
];

/// The parameter that `Mcp-Name` repeats.
fn name_parameter(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("/params/name"),
        "resources/read" => Some("/params/uri"),
        _ => None,
    }
}

/// Whether the headers that every request must have match the body.
pub(super) fn headers_match(frame: &Frame) -> bool {
    let body = |pointer: &str| frame.json().and_then(|json| json.pointer(pointer)).and_then(Value::as_str);
    let version = frame.json().and_then(|json| json.pointer("/params/_meta")?.get(META_VERSION)?.as_str());
    let named = || match body("/method").and_then(name_parameter).and_then(body) {
        Some(name) => header(frame, "mcp-name").and_then(decoded).as_deref() == Some(name),
        None => true,
    };
    header(frame, "mcp-method") == body("/method") && header(frame, REVISION_HEADER) == version && named()
}

/// Whether the server lists older revisions, and all of them have the header. Only one that supports still older ones may take a
/// request without it for one of them (2026-07-28, basic/transports/streamable-http#protocol-version-header).
fn lists_no_revision_without_header(transcript: &Transcript<'_>) -> bool {
    let results = transcript.requests().iter().filter_map(RequestResponse::result);
    let listed = results.filter_map(|result| result.get("supportedVersions")?.as_array()).flatten();
    let listed = listed.filter_map(|version| version.as_str()?.parse::<Revision>().ok());
    let older: Vec<Revision> = listed.filter(|revision| !revision.is_modern()).collect();
    !older.is_empty() && older.iter().all(|revision| *revision >= Revision::V2025_06_18)
}

fn mismatch(transcript: &Transcript<'_>) -> CheckOutcome {
    let outcome = |request: &RequestResponse<'_>| {
        // A header that is missing, or names an older revision, lets a server of both eras take the request for one of
        // the older era and reject it by the rules there (protocol version header). Only a result is surely wrong.
        let named = header(request.request.frame, REVISION_HEADER);
        let older = !named.is_some_and(names_modern);
        let is_tolerated = named.is_none() && !lists_no_revision_without_header(transcript);
        if older && transcript.may_be_dual_era() && (is_tolerated || request.result().is_none()) {
            return CheckOutcome::not_applicable("the request may belong to the older era");
        }
        // Nothing says which of two faults is reported, if the tool is unknown too.
        let unknown = transcript.unknown.tool.as_deref();
        if unknown.is_some() && request.request.tool() == unknown && request.code() == Some(-32602) {
            return CheckOutcome::not_applicable("the tool is unknown too");
        }
        // Nor if the server has no such method.
        let feature = request.request.method().and_then(|method| method.split('/').next());
        if request.code() == Some(-32601) && feature.and_then(|feature| transcript.declares(feature)) == Some(false) {
            return CheckOutcome::not_applicable("the server has no such method");
        }
        if request.response.is_none()
            && let Some(served) = transcript.reply(request.request.frame).filter(|reply| reply.json().is_some())
        {
            return CheckOutcome::failed("the request is served", vec![request.request.seq(), served.seq]);
        }
        rejected_over(transcript, request, &[-32020], 400)
    };
    let wrong = transcript.requests().iter().filter(|one| is_modern(one) && !headers_match(one.request.frame));
    all_pass(wrong.map(|one| (one, outcome(one))), "no such request was sent")
}

fn matching(transcript: &Transcript<'_>) -> CheckOutcome {
    // Arguments may need headers of their own, which another check compares.
    let plain = |one: &&RequestResponse<'_>| {
        one.param("arguments").and_then(Value::as_object).is_none_or(serde_json::Map::is_empty)
    };
    // No header can mirror a name that is not a string.
    let unnamed = |one: &&RequestResponse<'_>| match one.request.method() {
        Some("tools/call" | "prompts/get") => !one.param("name").is_some_and(Value::is_string),
        Some("resources/read") => !one.param("uri").is_some_and(Value::is_string),
        _ => false,
    };
    let right = modern_requests(transcript).filter(plain).filter(|one| !unnamed(one));
    let right = right.filter(|one| headers_match(one.request.frame));
    // A server may look at the headers of an unknown method as it likes.
    let right = right.filter(|one| !one.request.method().is_some_and(is_removed));
    let fault = |one: &&RequestResponse<'_>| {
        let error = one.error().filter(|_| one.code() == Some(-32020))?;
        Some(format!("`{}` is rejected with {}", one.request.method().unwrap_or_default(), brief(error)))
    };
    let right = right.filter(|one| one.response.is_some()).map(|one| (one.last_frame(), one));
    Findings::from_each(right, fault).or_not_applicable("requests", "no request has headers that match")
}

fn error_ids(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let requests = modern_requests(transcript).filter(|one| one.request.frame.http.is_some());
    for request in requests.filter(|one| !may_be_older(transcript, one)) {
        let readable = request.request.id().is_some_and(|id| id.is_string() || id.is_i64());
        let Some(reply) = transcript.reply(request.request.frame).filter(|_| readable) else { continue };
        // The revision defines errors of requests for these; others are about the HTTP message.
        let status = reply.http.as_ref().and_then(|http| http.status);
        let Some(json) = reply.json().filter(|_| matches!(status, Some(200 | 400 | 404))) else { continue };
        if json.get("jsonrpc").is_none() || json.get("error").is_none() {
            continue;
        }
        let missing = json.get("id").is_none_or(Value::is_null);
        findings
            .check(reply.seq, if missing { Err(format!("the error has no id in {}", brief(json))) } else { Ok(()) });
    }
    findings.or_not_applicable("errors", "the server sent no error")
}
