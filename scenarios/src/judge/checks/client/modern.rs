//! What 2026-07-28 asks of every request: metadata in the body, and over HTTP the headers that mirror it.

use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use serde_json::Value;

use super::{
    findings::{Findings, shown},
    http::REVISION_HEADER,
    message::Message,
    session::{SESSION_HEADER, endpoints, exchanges, header, method, path, sessions},
};
use crate::{
    evidence::Evidence,
    judge::check::{Check, Ruling, Scope},
    model::{Subject, Transport},
};

pub(super) const NOT_MODERN: &str = "the client sent nothing in the way of 2026-07-28";

const META: &str = "/params/_meta/io.modelcontextprotocol~1";
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

pub(super) const ALL: &[Check] = &[
    Check {
        id: "modern-request-metadata",
        requirement: "client/modern-request-metadata",
        subject: Subject::Client,
        scope: Scope::Always,
        expected: "each request carries its revision and the client's capabilities in `_meta`",
        rule: modern_request_metadata,
    },
    Check {
        id: "modern-client-info",
        requirement: "client/modern-client-info",
        subject: Subject::Client,
        scope: Scope::Always,
        expected: "each request carries the client's name and version in `_meta`",
        rule: modern_client_info,
    },
    Check {
        id: "modern-http-headers",
        requirement: "client/modern-http-headers",
        subject: Subject::Client,
        scope: Scope::Always,
        expected: "MCP-Protocol-Version, Mcp-Method and Mcp-Name say what the body says",
        rule: modern_http_headers,
    },
    Check {
        id: "modern-no-session",
        requirement: "client/modern-no-session",
        subject: Subject::Client,
        scope: Scope::Always,
        expected: "the client uses no session, no GET stream and no resumption",
        rule: modern_no_session,
    },
];

/// What the client sent in the way of 2026-07-28, in a case of that revision: everything but handshakes and the
/// sessions that grew out of them, since a server may speak both ways (basic/versioning).
pub(super) fn modern_messages(evidence: &Evidence) -> Vec<Message<'_>> {
    if !evidence.revision.is_modern() {
        return vec![];
    }
    let modern = sessions(evidence).into_iter().filter(|session| session.handshake().is_none());
    let messages = modern.flat_map(|session| session.said().collect::<Vec<_>>());
    messages.filter(|message| !message.is("initialize") && !message.is("notifications/initialized")).collect()
}

fn modern_request_metadata(evidence: &Evidence) -> Ruling {
    let mut findings = Findings::default();
    for request in modern_messages(evidence).into_iter().filter(Message::is_request) {
        let method = request.method().unwrap_or_default();
        let missing = if !meta(&request, "protocolVersion").is_some_and(Value::is_string) {
            Some("protocolVersion")
        } else if !meta(&request, "clientCapabilities").is_some_and(Value::is_object) {
            Some("clientCapabilities")
        } else {
            None
        };
        let words = |key| format!("`{method}` has no sound io.modelcontextprotocol/{key}");
        findings.judge(request.seq(), missing.map_or(Ok(()), |key| Err(words(key))));
    }
    findings.or_not_applicable("requests", NOT_MODERN)
}

fn modern_client_info(evidence: &Evidence) -> Ruling {
    let mut findings = Findings::default();
    for request in modern_messages(evidence).into_iter().filter(Message::is_request) {
        let named = ["clientInfo/name", "clientInfo/version"]
            .iter()
            .all(|key| meta(&request, key).is_some_and(Value::is_string));
        let words = || format!("`{}` does not say who the client is", request.method().unwrap_or_default());
        findings.judge(request.seq(), if named { Ok(()) } else { Err(words()) });
    }
    findings.or_not_applicable("requests", NOT_MODERN)
}

fn meta<'a>(request: &Message<'a>, key: &str) -> Option<&'a Value> {
    request.json.pointer(&format!("{META}{key}"))
}

fn modern_http_headers(evidence: &Evidence) -> Ruling {
    let mut findings = Findings::default();
    let over_http = evidence.transport == Transport::StreamableHttp;
    let requests = modern_messages(evidence).into_iter().filter(|message| over_http && message.is_request());
    for request in requests {
        findings.judge(request.seq(), mirrored(&request));
    }
    findings.or_not_applicable("requests", NOT_MODERN)
}

/// Whether the headers of a request mirror its body (basic/transports/streamable-http#request-metadata).
fn mirrored(request: &Message<'_>) -> Result<(), String> {
    let method = request.method().unwrap_or_default();
    let given = |name: &str| header(request.frame, name);
    let told = |name: &str| given(name).map_or_else(|| "absent".to_owned(), |value| format!("`{value}`"));
    let revision = request.revision().and_then(Value::as_str);
    if given(REVISION_HEADER).is_none() || revision.is_some() && given(REVISION_HEADER) != revision {
        let body = revision.unwrap_or("nothing");
        return Err(format!("MCP-Protocol-Version of `{method}` is {}, the body says {body}", told(REVISION_HEADER)));
    }
    if given("mcp-method") != Some(method) {
        return Err(format!("Mcp-Method of `{method}` is {}", told("mcp-method")));
    }
    let source = match method {
        "tools/call" | "prompts/get" => "/params/name",
        "resources/read" => "/params/uri",
        _ => return Ok(()),
    };
    let Some(name) = request.json.pointer(source).and_then(Value::as_str) else { return Ok(()) };
    if given("mcp-name").is_some_and(|value| carries(value, name)) {
        return Ok(());
    }
    Err(format!("Mcp-Name is {}, the body says {}", told("mcp-name"), shown(&Value::String(name.to_owned()))))
}

/// Whether a header carries this value: as it is where that is safe, else between the marks of the Base64 form
/// (basic/transports/streamable-http#value-encoding).
fn carries(header: &str, value: &str) -> bool {
    if let Some(coded) = header.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        return BASE64.decode(coded).is_ok_and(|bytes| bytes == value.as_bytes());
    }
    let printable = value.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'));
    header == value && printable && value.trim() == value
}

fn modern_no_session(evidence: &Evidence) -> Ruling {
    let mut findings = Findings::default();
    if evidence.transport == Transport::StreamableHttp {
        for request in modern_messages(evidence).into_iter().filter(Message::is_request) {
            let carried =
                [SESSION_HEADER, "last-event-id"].into_iter().find(|name| header(request.frame, name).is_some());
            let words = |name| format!("`{}` carries the header {name}", request.method().unwrap_or_default());
            findings.judge(request.seq(), carried.map_or(Ok(()), |name| Err(words(name))));
        }
        judge_verbs(evidence, &mut findings);
    }
    findings.or_not_applicable("HTTP requests", NOT_MODERN)
}

/// A GET or DELETE says that the client takes the server for one of an earlier revision. That is in order while it
/// finds out, and after a handshake; but not once the server has shown itself by a result.
fn judge_verbs(evidence: &Evidence, findings: &mut Findings) {
    let endpoints = endpoints(evidence);
    let sessions = sessions(evidence);
    for exchange in exchanges(evidence) {
        let Some(request) = exchange.request() else { continue };
        let Some(verb) = method(request).filter(|verb| matches!(*verb, "GET" | "DELETE")) else { continue };
        if !evidence.revision.is_modern()
            || !path(request).is_some_and(|path| endpoints.contains(&(exchange.server, path)))
        {
            continue;
        }
        let mut here = sessions.iter().filter(|session| session.server == exchange.server);
        let handshake = here.clone().any(|session| session.has_initialize());
        let shown = here.any(|session| {
            session
                .messages()
                .any(|message| !message.by_client() && message.seq() < request.seq && message.result().is_some())
        });
        if shown && !handshake {
            findings.breach(format!("it sent a {verb} to a server of 2026-07-28"), [request.seq]);
        }
    }
}

#[cfg(test)]
mod tests;
