//! Requests of 2026-07-28: metadata in the body, and over HTTP the headers that mirror it.

use std::collections::{HashMap, HashSet};

use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use evidence::Frame;
use serde_json::Value;

use crate::judge::{
    capabilities::{capability_of, has_value},
    check::{Check, CheckOutcome, Findings, Rule, Scope, brief_or_missing, quoted},
    transcript::{
        Message, Session, Transcript,
        http::{REVISION_HEADER, SESSION_HEADER, header, method},
    },
};

pub(super) const NOT_MODERN: &str = "the client sent no message of a stateless revision";

const META: &str = "/params/_meta/io.modelcontextprotocol~1";
/// `UnsupportedProtocolVersionError` (2026-07-28, schema).
const UNSUPPORTED_REVISION: i64 = -32022;
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "modern-request-metadata",
        requirement: "client/modern-request-metadata",
        scope: Scope::Always,
        expected: "each request has its revision and the client's capabilities in `_meta`",
        rule: Rule::Case(modern_request_metadata),
    },
    Check {
        id: "selects-supported-revision",
        requirement: "client/uses-a-supported-revision",
        scope: Scope::Named,
        expected: "after a request was rejected with the supported revisions, the client continues in one of them",
        rule: Rule::Case(selects_supported_revision),
    },
    Check {
        id: "modern-client-info",
        requirement: "client/modern-client-info",
        scope: Scope::Always,
        expected: "each request has the client's name and version in `_meta`",
        rule: Rule::Case(modern_client_info),
    },
    Check {
        id: "modern-http-headers",
        requirement: "client/modern-http-headers",
        scope: Scope::Always,
        expected: "MCP-Protocol-Version, Mcp-Method and Mcp-Name match the body",
        rule: Rule::Case(modern_http_headers),
    },
    Check {
        id: "modern-no-session",
        requirement: "client/modern-no-session",
        scope: Scope::Always,
        expected: "the client uses no session, no GET stream and no resumption",
        rule: Rule::Case(modern_no_session),
    },
    Check {
        id: "lost-streams-are-not-resumed",
        requirement: "client/lost-streams-are-not-resumed",
        scope: Scope::Named,
        expected: "after a response stream broke, no request has the header `Last-Event-ID`",
        rule: Rule::Case(lost_streams_are_not_resumed),
    },
    Check {
        id: "uses-declared-capabilities",
        requirement: "client/uses-declared-capabilities",
        scope: Scope::Always,
        expected: "after discovery, the client uses only features that the server declares",
        rule: Rule::Case(uses_declared_capabilities),
    },
];

/// The messages of 2026-07-28: all except handshakes and the sessions that follow them, since a server may support both
/// eras (basic/versioning).
pub(super) fn modern_messages<'t, 'a>(transcript: &'t Transcript<'a>) -> impl Iterator<Item = Message<'a>> + 't {
    let modern = transcript.sessions().iter().filter(|session| session.handshake().is_none());
    let messages = modern.flat_map(|session| session.client_messages());
    messages.filter(|message| !message.is("initialize") && !message.is("notifications/initialized"))
}

fn each_request(transcript: &Transcript<'_>, fault: impl Fn(&Message<'_>) -> Option<String>) -> Findings {
    let requests = modern_messages(transcript).filter(Message::is_request);
    Findings::from_each(requests.map(|request| (request.seq(), request)), fault)
}

fn modern_request_metadata(transcript: &Transcript<'_>) -> CheckOutcome {
    let findings = each_request(transcript, |request| {
        let invalid = if !meta(request, "protocolVersion").is_some_and(Value::is_string) {
            "protocolVersion"
        } else if !meta(request, "clientCapabilities").is_some_and(Value::is_object) {
            "clientCapabilities"
        } else {
            return undeclarable(request);
        };
        let method = request.method().unwrap_or_default();
        Some(format!("`{method}` has no valid io.modelcontextprotocol/{invalid}"))
    });
    findings.or_not_applicable("requests", NOT_MODERN)
}

/// Says which capability is not an object (2026-07-28, schema, `ClientCapabilities`).
fn undeclarable(request: &Message<'_>) -> Option<String> {
    let capabilities = meta(request, "clientCapabilities")?;
    let known = ["elicitation", "experimental", "extensions", "roots", "sampling"];
    let wrong = known.iter().find(|name| capabilities.get(**name).is_some_and(|value| !value.is_object()))?;
    Some(format!("`{}` has the capability `{wrong}`, which is not an object", request.method().unwrap_or_default()))
}

fn selects_supported_revision(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for rejected in transcript.requests().iter().filter(|one| one.code() == Some(UNSUPPORTED_REVISION)) {
        let supported = rejected.error().and_then(|error| error.pointer("/data/supported")?.as_array());
        let (Some(response), Some(supported)) = (rejected.response, supported) else { continue };
        // Whether the client has one of the revisions is known only of that of the case.
        if !supported.contains(&Value::from(transcript.evidence.revision.as_str())) {
            continue;
        }
        let server = &response.frame.server;
        let later = transcript.client_messages().filter(|message| message.seq() > response.seq());
        let mut later = later.filter(|message| message.is_request() && message.frame.server == *server);
        let chosen = |request: Message<'_>| match request.method() {
            Some("initialize") => request.param("protocolVersion").cloned(),
            _ => request.revision().cloned(),
        };
        let next = later.next().map(chosen);
        let fault = match &next {
            Some(Some(revision)) if supported.contains(revision) => None,
            Some(revision) => {
                Some(format!("the next request has the revision {}", brief_or_missing(revision.as_ref())))
            }
            None => Some("no request followed".to_owned()),
        };
        findings.check(response.seq(), fault.map_or(Ok(()), Err));
    }
    findings.or_not_applicable("rejections", "no request was rejected with a revision that the client supports")
}

fn modern_client_info(transcript: &Transcript<'_>) -> CheckOutcome {
    let findings = each_request(transcript, |request| {
        let mut keys = ["clientInfo/name", "clientInfo/version"].iter();
        let named = keys.all(|key| meta(request, key).is_some_and(Value::is_string));
        (!named).then(|| format!("`{}` has no name and version of the client", request.method().unwrap_or_default()))
    });
    findings.or_not_applicable("requests", NOT_MODERN)
}

fn meta<'a>(request: &Message<'a>, key: &str) -> Option<&'a Value> {
    request.json.pointer(&format!("{META}{key}"))
}

fn modern_http_headers(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = each_request(transcript, header_mismatch);
    if !transcript.sessions().iter().any(Session::has_initialize) {
        let notifications = modern_messages(transcript).filter(|message| message.method().is_some());
        for message in notifications.filter(|message| message.id().is_none()) {
            let missing = header(message.frame, REVISION_HEADER).is_none();
            let fault = || format!("`{}` has no MCP-Protocol-Version", message.method().unwrap_or_default());
            findings.check(message.seq(), if missing { Err(fault()) } else { Ok(()) });
        }
    }
    findings.or_not_applicable("requests", NOT_MODERN)
}

/// Says where the headers of a request do not mirror its body (basic/transports/streamable-http#request-metadata).
fn header_mismatch(request: &Message<'_>) -> Option<String> {
    let method = request.method().unwrap_or_default();
    let given = |name: &str| header(request.frame, name);
    let shown = |name: &str| given(name).map_or_else(|| "absent".to_owned(), |value| format!("`{value}`"));
    let revision = request.revision().and_then(Value::as_str);
    if given(REVISION_HEADER).is_none() || revision.is_some() && given(REVISION_HEADER) != revision {
        let (header, body) = (shown(REVISION_HEADER), revision.unwrap_or("no revision"));
        return Some(format!("MCP-Protocol-Version of `{method}` is {header}, the body has {body}"));
    }
    if given("mcp-method") != Some(method) {
        return Some(format!("Mcp-Method of `{method}` is {}", shown("mcp-method")));
    }
    let source = match method {
        "tools/call" | "prompts/get" => "/params/name",
        "resources/read" => "/params/uri",
        // The extension for tasks (SEP-2663, routing headers).
        "tasks/get" | "tasks/update" | "tasks/cancel" => "/params/taskId",
        _ => return None,
    };
    let name = request.json.pointer(source)?.as_str()?;
    if given("mcp-name").is_some_and(|value| carries(value, name)) {
        return None;
    }
    Some(format!("Mcp-Name is {}, the body has {}", shown("mcp-name"), quoted(&Value::String(name.to_owned()))))
}

/// Whether a header has this value: unchanged if that is safe, else in the Base64 form
/// (basic/transports/streamable-http#value-encoding).
pub(super) fn carries(header: &str, value: &str) -> bool {
    if let Some(coded) = header.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        return BASE64.decode(coded).is_ok_and(|bytes| bytes == value.as_bytes());
    }
    let printable = value.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'));
    header == value && printable && value.trim() == value
}

fn modern_no_session(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = each_request(transcript, |request| {
        let name = [SESSION_HEADER, "last-event-id"].into_iter().find(|name| header(request.frame, name).is_some())?;
        Some(format!("`{}` has the header {name}", request.method().unwrap_or_default()))
    });
    judge_verbs(transcript, &mut findings);
    findings.or_not_applicable("HTTP requests", NOT_MODERN)
}

/// GET and DELETE assume a server of an earlier revision. That is correct during era detection and after a handshake,
/// but not once the server has sent a result of 2026-07-28. Where others have a token, a GET without one asks how to authorize.
fn judge_verbs(transcript: &Transcript<'_>, findings: &mut Findings) {
    let (mut handshakes, mut first_result) = (HashSet::new(), HashMap::new());
    for session in transcript.sessions() {
        if session.has_initialize() {
            handshakes.insert(session.server);
        }
        if let Some(result) = session.messages().find(|message| !message.by_client() && message.result().is_some()) {
            let first = first_result.entry(session.server).or_insert(u64::MAX);
            *first = result.seq().min(*first);
        }
    }
    let has_token = |frame: &Frame| header(frame, "authorization").is_some();
    let needs_token = transcript.connections().iter().filter_map(|connection| connection.request()).any(has_token);
    for connection in transcript.connections() {
        let Some(request) = connection.request().filter(|request| transcript.is_to_endpoint(request)) else { continue };
        let Some(verb) = method(request).filter(|verb| matches!(*verb, "GET" | "DELETE")) else { continue };
        let detected = first_result.get(connection.server).is_some_and(|first| *first < request.seq);
        let asks_how_to_authorize = verb == "GET" && needs_token && !has_token(request);
        if detected && !handshakes.contains(connection.server) && !asks_how_to_authorize {
            findings.fail(format!("it sent a {verb} to a server of a stateless revision"), [request.seq]);
        }
    }
}

fn lost_streams_are_not_resumed(transcript: &Transcript<'_>) -> CheckOutcome {
    let requests = transcript.connections().iter().filter_map(|connection| connection.request());
    let fault = |request: &&Frame| {
        let id = header(request, "last-event-id")?;
        Some(format!("a {} resumes a stream from the event `{id}`", method(request)?))
    };
    Findings::from_each(requests.map(|request| (request.seq, request)), fault).or_blocked("requests", NOT_MODERN)
}

fn uses_declared_capabilities(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    // What each server declared first, and the frame that shows it. A client may probe with a process of its own.
    let mut declared: HashMap<&str, (u64, &Value)> = HashMap::new();
    for one in transcript.requests_of("server/discover") {
        let Some(capabilities) = one.result().and_then(|result| result.get("capabilities")) else { continue };
        declared.entry(one.request.frame.server.as_str()).or_insert((one.last_frame(), capabilities));
    }
    for request in modern_messages(transcript).filter(Message::is_request) {
        let Some((seen, capabilities)) = declared.get(request.frame.server.as_str()) else { continue };
        let method = request.method().unwrap_or_default();
        let subscribes = request.param("notifications").and_then(|filter| filter.get("resourceSubscriptions"));
        let pointer = match subscribes.and_then(Value::as_array) {
            Some(uris) if method == "subscriptions/listen" && !uris.is_empty() => Some("/resources/subscribe"),
            _ => capability_of(method),
        };
        let Some(pointer) = pointer.filter(|_| *seen < request.seq()) else { continue };
        let message = || format!("`{method}` was sent, but the server did not declare `{}`", &pointer[1..]);
        findings.check(request.seq(), if has_value(capabilities, pointer) { Ok(()) } else { Err(message()) });
    }
    findings.or_not_applicable("requests", "no request followed a discovery and needed a capability")
}

#[cfg(test)]
mod tests;
