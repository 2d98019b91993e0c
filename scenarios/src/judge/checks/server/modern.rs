//! Features of 2026-07-28: discovery, result types, caching hints, metadata and headers of requests, subscriptions, and
//! retired error codes.

use std::collections::HashMap;

use serde_json::Value;

use super::{NO_RESPONSE, errors::unknown_request, rejected_with};
use crate::{
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope, brief, brief_or_missing},
        transcript::{
            Frame, IdKey, Message, RequestResponse, Transcript,
            http::{REVISION_HEADER, header, method, status},
        },
    },
    model::Revision,
};

/// The key in the metadata of a request with its revision.
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The key in the metadata of a notification with its subscription.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "result-type",
        requirement: "messages/result-type",
        scope: Scope::Always,
        expected: "every result has a resultType",
        rule: Rule::Case(result_type),
    },
    Check {
        id: "caching-hints",
        requirement: "caching/hints",
        scope: Scope::Always,
        expected: "complete results of lists, reads and discovery have ttlMs of 0 or more and a cacheScope",
        rule: Rule::Case(caching),
    },
    Check {
        id: "cache-scope-same-on-every-page",
        requirement: "caching/same-scope",
        scope: Scope::Always,
        expected: "all pages of a list have the same cacheScope",
        rule: Rule::Case(cache_scope),
    },
    Check {
        id: "server-info-in-results",
        requirement: "messages/server-info",
        scope: Scope::Always,
        expected: "every result names the server in its _meta",
        rule: Rule::Case(server_info),
    },
    Check {
        id: "server-sends-no-requests",
        requirement: "transports/no-server-requests",
        scope: Scope::Always,
        expected: "the server sends no requests",
        rule: Rule::Case(no_requests),
    },
    Check {
        id: "reserved-error-codes",
        requirement: "messages/reserved-codes",
        scope: Scope::Always,
        expected: "no error has a code that is retired, or reserved without a meaning",
        rule: Rule::Case(codes),
    },
    Check {
        id: "discover-result",
        requirement: "discover/result",
        scope: Scope::Named,
        expected: "the result of discovery has capabilities, and supportedVersions with the revision",
        rule: Rule::Case(discover),
    },
    Check {
        id: "missing-metadata-is-refused",
        requirement: "messages/required-metadata",
        scope: Scope::Named,
        expected: "a request without its metadata is rejected with -32602, over HTTP with 400",
        rule: Rule::Case(missing_metadata),
    },
    Check {
        id: "unsupported-revision-is-refused",
        requirement: "versioning/unsupported",
        scope: Scope::Named,
        expected: "an unknown revision is rejected with -32022 and the supported ones, over HTTP with 400",
        rule: Rule::Case(unsupported),
    },
    Check {
        id: "http-header-mismatch-is-refused",
        requirement: "transports/header-mismatch",
        scope: Scope::Named,
        expected: "missing headers, and headers that contradict the body, are rejected with -32020 and 400",
        rule: Rule::Case(mismatch),
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
        id: "initialize-names-the-supported-revisions",
        requirement: "versioning/initialize-refused",
        scope: Scope::Named,
        expected: "the error of a rejected `initialize` names the supported revisions",
        rule: Rule::Case(names_versions),
    },
    Check {
        id: "subscription-is-acknowledged",
        requirement: "subscriptions/acknowledged",
        scope: Scope::Named,
        expected: "the first message of a subscription is its acknowledgement, with its id",
        rule: Rule::Case(acknowledged),
    },
];

fn version_of<'a>(request: &RequestResponse<'a>) -> Option<&'a Value> {
    request.param("_meta")?.get(META_VERSION)
}

fn is_modern(request: &RequestResponse<'_>) -> bool {
    version_of(request).and_then(Value::as_str).is_some_and(names_modern)
}

fn names_modern(version: &str) -> bool {
    version.parse().is_ok_and(Revision::is_modern)
}

/// Checks the results of requests with the metadata of this revision. On a server of both eras the others belong to the
/// older era.
fn each(transcript: &Transcript<'_>, fault: impl Fn(&str, &Value) -> Option<String>) -> CheckOutcome {
    let results = transcript.requests().iter().filter(|request| is_modern(request));
    let results = results.filter_map(|one| Some((one.response?.seq(), (one.request.method()?, one.result()?))));
    let fault = |(method, result): &(&str, &Value)| Some(format!("`{method}`: {}", fault(method, result)?));
    Findings::from_each(results, fault).or_not_applicable("results", "the server sent no result")
}

fn result_type(transcript: &Transcript<'_>) -> CheckOutcome {
    each(transcript, |_, result| {
        let kind = result.get("resultType");
        (!kind.is_some_and(Value::is_string)).then(|| format!("resultType is {}", brief_or_missing(kind)))
    })
}

fn is_cacheable(method: &str, result: &Value) -> bool {
    let cacheable = [
        "server/discover",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
    ];
    cacheable.contains(&method) && result.get("resultType").is_none_or(|kind| kind == "complete")
}

fn caching(transcript: &Transcript<'_>) -> CheckOutcome {
    each(transcript, |method, result| {
        if !is_cacheable(method, result) {
            return None;
        }
        let (ttl, scope) = (result.get("ttlMs"), result.get("cacheScope"));
        if !ttl.is_some_and(Value::is_u64) {
            return Some(format!("ttlMs is {}", brief_or_missing(ttl)));
        }
        let known = scope.and_then(Value::as_str).is_some_and(|scope| matches!(scope, "public" | "private"));
        (!known).then(|| format!("cacheScope is {}", brief_or_missing(scope)))
    })
}

fn cache_scope(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let mut first: HashMap<&str, &Value> = HashMap::new();
    for request in transcript.requests() {
        let (Some(method), Some(result)) = (request.request.method(), request.result()) else { continue };
        let Some(scope) = result.get("cacheScope").filter(|_| method.ends_with("/list")) else { continue };
        if request.param("cursor").is_none() {
            first.insert(method, scope);
            continue;
        }
        let differs = first.get(method).is_some_and(|first| *first != scope);
        let message = || format!("`{method}`: the cacheScope of a later page is {scope}");
        findings.check(request.last_frame(), if differs { Err(message()) } else { Ok(()) });
    }
    findings.or_not_applicable("pages", "no list has more than one page")
}

fn server_info(transcript: &Transcript<'_>) -> CheckOutcome {
    each(transcript, |_, result| {
        let info = result.pointer("/_meta/io.modelcontextprotocol~1serverInfo");
        let is_string = |key: &&str| info.and_then(|info| info.get(key)).is_some_and(Value::is_string);
        let good = ["name", "version"].iter().all(is_string);
        (!good).then(|| format!("serverInfo is {}", brief_or_missing(info)))
    })
}

fn no_requests(transcript: &Transcript<'_>) -> CheckOutcome {
    let messages = transcript.server_messages().map(|message| (message.seq(), message));
    let fault = |message: &Message<'_>| {
        let request = message.json.get("method").is_some() && message.id().is_some();
        request.then(|| format!("it sent {}", brief(message.json)))
    };
    Findings::from_each(messages, fault).or_not_applicable("messages", "the server sent no message")
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

fn discover(transcript: &Transcript<'_>) -> CheckOutcome {
    let Some(request) = transcript.requests_of("server/discover").find(|request| is_modern(request)) else {
        return CheckOutcome::not_applicable("no discovery was requested");
    };
    let Some(result) = request.result() else {
        return CheckOutcome::failed("the response has no result", request.frames());
    };
    let versions = result.get("supportedVersions").and_then(Value::as_array);
    let has = |wanted: fn(&Value) -> bool| versions.is_none_or(|versions| versions.iter().all(wanted));
    let members = [
        (versions.is_some(), "supportedVersions is not an array"),
        (has(Value::is_string), "a version is not a string"),
        (
            versions.is_none_or(|versions| versions.iter().any(|version| Some(version) == version_of(request)))
                || !has(Value::is_string),
            "supportedVersions lacks the revision of the response",
        ),
        (result.get("capabilities").is_some_and(Value::is_object), "capabilities is not an object"),
        (result.get("instructions").is_none_or(Value::is_string), "instructions is not a string"),
    ];
    let fault = |(valid, fault): &(bool, &str)| (!valid).then(|| (*fault).to_owned());
    let members = members.map(|member| (request.last_frame(), member));
    Findings::from_each(members, fault).or_not_applicable("members", "no discovery was requested")
}

/// Passes if the request was rejected with one of these codes and, over HTTP, this status.
fn rejected_over(transcript: &Transcript<'_>, request: &RequestResponse<'_>, codes: &[i64], http: u16) -> CheckOutcome {
    let outcome = rejected_with(Some(request), codes, "it");
    match (request.status(), &outcome) {
        (Some(status), CheckOutcome::Passed { .. }) if transcript.is_http() && status != http => {
            CheckOutcome::failed(format!("the code is correct, but the status is {status}"), request.frames())
        }
        _ => outcome,
    }
}

fn missing_metadata(transcript: &Transcript<'_>) -> CheckOutcome {
    let Some(request) = transcript.requests_of("server/discover").find(|one| one.param("_meta").is_none()) else {
        return CheckOutcome::not_applicable("no request without metadata was sent");
    };
    if request.error().is_some() && transcript.may_be_dual_era() {
        // Without metadata it may be taken for a request of the older era, which has no rule for the rejection.
        return CheckOutcome::passed("the request is rejected", request.frames());
    }
    // Over HTTP the header then contradicts the body too, so either rejection is correct.
    let codes: &[i64] = if transcript.is_http() { &[-32602, -32020] } else { &[-32602] };
    rejected_over(transcript, request, codes, 400)
}

fn unsupported(transcript: &Transcript<'_>) -> CheckOutcome {
    let unknown = transcript.unknown.revision.as_deref().unwrap_or_default();
    let mut requests = transcript.requests().iter();
    let Some(request) = requests.find(|request| version_of(request).is_some_and(|version| version == unknown)) else {
        return CheckOutcome::not_applicable("no request with an unknown revision was sent");
    };
    let outcome = rejected_over(transcript, request, &[-32022], 400);
    let CheckOutcome::Passed { .. } = outcome else { return outcome };
    let data = request.error().and_then(|error| error.get("data"));
    let supported = data.and_then(|data| data.get("supported")).and_then(Value::as_array);
    let revision = transcript.evidence.revision.as_str();
    if !supported.is_some_and(|all| all.iter().any(|version| version == revision)) {
        return CheckOutcome::failed(format!("data.supported lacks {revision}"), request.frames());
    }
    if data.and_then(|data| data.get("requested")).is_none_or(|requested| requested != unknown) {
        return CheckOutcome::failed("data.requested is not the requested revision", request.frames());
    }
    outcome
}

/// Whether the headers that every request must have match the body.
fn headers_match(frame: &Frame) -> bool {
    let body = |pointer: &str| frame.json().and_then(|json| json.pointer(pointer)).and_then(Value::as_str);
    let version = frame.json().and_then(|json| json.pointer("/params/_meta")?.get(META_VERSION)?.as_str());
    header(frame, "mcp-method") == body("/method") && header(frame, REVISION_HEADER) == version
}

fn mismatch(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let wrong = transcript.requests().iter().filter(|one| is_modern(one) && !headers_match(one.request.frame));
    for request in wrong {
        // A header that is missing, or names an older revision, lets a server of both eras take the request for one of
        // the older era and reject it by the rules there (protocol version header). Only a result is surely wrong.
        let named = header(request.request.frame, REVISION_HEADER);
        let older = !named.is_some_and(names_modern);
        if older && transcript.may_be_dual_era() && (named.is_none() || request.result().is_none()) {
            continue;
        }
        match rejected_over(transcript, request, &[-32020], 400) {
            CheckOutcome::Passed { .. } => findings.saw(request.last_frame()),
            other => return other,
        }
    }
    findings.or_not_applicable("requests", "no such request was sent")
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

fn acknowledged(transcript: &Transcript<'_>) -> CheckOutcome {
    let Some(listen) = transcript.requests_of("subscriptions/listen").next() else {
        return CheckOutcome::not_applicable("no subscription was requested");
    };
    let Some(id) = listen.request.id_key() else { return CheckOutcome::not_applicable("it has no id") };
    let first = transcript.server_messages().find(|message| {
        let subscription = message.param("_meta").and_then(|meta| meta.get(SUBSCRIPTION));
        message.seq() > listen.request.seq() && subscription.is_some_and(|other| IdKey::new(other) == id)
    });
    match first {
        Some(first) if first.is("notifications/subscriptions/acknowledged") => {
            CheckOutcome::passed("the acknowledgement is first", vec![listen.request.seq(), first.seq()])
        }
        Some(first) => CheckOutcome::failed(
            format!("the first message is {}", brief(first.json)),
            vec![listen.request.seq(), first.seq()],
        ),
        None => {
            let response = listen.response.map_or_else(String::new, |response| format!(": {}", brief(response.json)));
            CheckOutcome::failed(format!("no message has its id{response}"), listen.frames())
        }
    }
}
