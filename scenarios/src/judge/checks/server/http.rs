//! Checks on Streamable HTTP as the handshake revisions have it: statuses, content types, sessions, origins.

use mock_servers::{Body, Frame, Mark};
use serde_json::Value;

use super::talk::{Fault, always, facts, header, http_method, is_http, named, reply, ruling, status};
use crate::{
    evidence::Evidence,
    judge::check::{Check, Ruling},
    model::Revision,
};

/// The session as it stands in a record.
const SESSION: &str = "mcp-session-id";

/// The checks of this theme.
pub(super) const ALL: &[Check] = &[
    always(
        "http-reply-is-json-or-events",
        "transports/reply-content-type",
        "a request is answered as application/json or text/event-stream",
        content_type,
    ),
    always(
        "http-notification-is-accepted",
        "transports/notification-202",
        "an accepted notification is met by 202 without a body",
        notification,
    ),
    always(
        "http-session-id-is-visible-ascii",
        "transports/session-id",
        "the session id is of visible ASCII",
        session_id,
    ),
    named("http-get-opens-a-stream-or-405", "transports/get", "GET opens a stream of events or is met by 405", get),
    named(
        "http-unsupported-revision-is-400",
        "transports/version-header",
        "a revision that does not exist in the header is met by 400",
        version,
    ),
    named("http-foreign-origin-is-refused", "transports/origin", "a foreign Origin is met by 403", origin),
    named(
        "http-missing-session-is-400",
        "transports/missing-session",
        "a request without the session's id is met by 400, if sessions are required",
        missing_session,
    ),
    named("http-delete-ends-the-session-or-405", "transports/delete", "DELETE is met by success or by 405", delete),
    named(
        "http-ended-session-is-404",
        "transports/ended-session",
        "a request in a session that was ended is met by 404",
        ended_session,
    ),
];

const NO_HTTP: &str = "there is no Streamable HTTP here";

fn no_http() -> Ruling {
    Ruling::NotApplicable(NO_HTTP.to_owned())
}

/// Our frames that satisfy a condition, each with the reply to it.
fn sent<'a>(evidence: &'a Evidence, wanted: impl Fn(&Frame) -> bool + 'a) -> Vec<(&'a Frame, &'a Frame)> {
    let ours = evidence.frames.iter().filter(move |frame| frame.from_client() && wanted(frame));
    ours.filter_map(|frame| Some((frame, reply(evidence, frame)?)))
        .filter(|(_, reply)| status(reply).is_some())
        .collect()
}

fn pairs(all: &[(&Frame, &Frame)]) -> Vec<u64> {
    all.iter().flat_map(|(ours, reply)| [ours.seq, reply.seq]).collect()
}

fn content_type(evidence: &Evidence) -> Ruling {
    if !is_http(evidence) {
        return no_http();
    }
    let all = sent(evidence, |frame| http_method(frame) == Some("POST") && frame.is_request());
    let all: Vec<_> =
        all.into_iter().filter(|(_, reply)| status(reply).is_some_and(|status| (200..300).contains(&status))).collect();
    let good = |kind: &str| matches!(essence(kind).as_str(), "application/json" | "text/event-stream");
    let wrong = all.iter().filter(|(_, reply)| !header(reply, "content-type").is_some_and(good));
    let faults = wrong
        .map(|(_, reply)| (reply.seq, format!("it is {}", header(reply, "content-type").unwrap_or("missing"))))
        .collect();
    ruling(faults, &pairs(&all), format!("all {} are", all.len()), "no request was answered with success")
}

fn essence(kind: &str) -> String {
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn notification(evidence: &Evidence) -> Ruling {
    if !is_http(evidence) {
        return no_http();
    }
    let all = sent(evidence, |frame| http_method(frame) == Some("POST") && frame.is_notification());
    let fault = |reply: &Frame| match status(reply) {
        Some(202) if matches!(reply.body, Body::Mark(Mark::Bodiless)) => None,
        Some(202) => Some("202 comes with a body".to_owned()),
        Some(status) if status >= 400 => None,
        Some(status) => Some(format!("it is met by {status}")),
        None => None,
    };
    let faults: Vec<Fault> = all.iter().filter_map(|(_, reply)| Some((reply.seq, fault(reply)?))).collect();
    ruling(faults, &pairs(&all), "it is, or it is refused".to_owned(), "no notification was sent")
}

fn session_id(evidence: &Evidence) -> Ruling {
    let visible = facts(evidence).and_then(|facts| facts.pointer("/session/visible_ascii")).and_then(Value::as_bool);
    match visible {
        Some(true) => Ruling::held("it is", vec![]),
        Some(false) => Ruling::broken("it holds other bytes", vec![]),
        None => Ruling::NotApplicable("there is no session".to_owned()),
    }
}

fn get(evidence: &Evidence) -> Ruling {
    let all = sent(evidence, |frame| http_method(frame) == Some("GET"));
    let fault = |reply: &Frame| match status(reply) {
        Some(405) => None,
        Some(status) if (200..300).contains(&status) => {
            let kind = header(reply, "content-type").unwrap_or("missing");
            (essence(kind) != "text/event-stream").then(|| format!("the content type is {kind}"))
        }
        Some(status) => Some(format!("it is met by {status}")),
        None => None,
    };
    let faults: Vec<Fault> = all.iter().filter_map(|(_, reply)| Some((reply.seq, fault(reply)?))).collect();
    let first = all.first().and_then(|(_, reply)| status(reply)).unwrap_or_default();
    ruling(faults, &pairs(&all), format!("it is met by {first}"), NO_HTTP)
}

fn version(evidence: &Evidence) -> Ruling {
    if evidence.revision < Revision::V2025_06_18 || evidence.revision.is_modern() {
        return Ruling::NotApplicable(format!("{} has no such rule", evidence.revision));
    }
    let all = sent(evidence, |frame| header(frame, "mcp-protocol-version") == Some("1999-01-01"));
    expect_status(&all, |status| status == 400)
}

fn origin(evidence: &Evidence) -> Ruling {
    let all = sent(evidence, |frame| header(frame, "origin").is_some());
    // Which origins are valid is for a public server to say; for one on this machine a foreign one never is.
    let local = |frame: &Frame| header(frame, "host").is_some_and(is_loopback);
    if !all.iter().all(|(ours, _)| local(ours)) {
        return Ruling::NotApplicable("which origins are valid is for a public server to say".to_owned());
    }
    // The status stands there since 2025-11-25; before, any refusal is one (basic/transports, security warning).
    if evidence.revision >= Revision::V2025_11_25 {
        expect_status(&all, |status| status == 403)
    } else {
        expect_status(&all, |status| (400..500).contains(&status))
    }
}

fn is_loopback(host: &str) -> bool {
    let name = host
        .rsplit_once(':')
        .map_or(host, |(name, port)| if port.bytes().all(|byte| byte.is_ascii_digit()) { name } else { host });
    name == "localhost"
        || name == "[::1]"
        || name.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback())
}

fn missing_session(evidence: &Evidence) -> Ruling {
    if facts(evidence).and_then(|facts| facts.get("session")).is_none() {
        return Ruling::NotApplicable("there is no session".to_owned());
    }
    let all = sent(evidence, |frame| {
        frame.is_request() && frame.method() != Some("initialize") && header(frame, SESSION).is_none()
    });
    let required: Vec<_> =
        all.into_iter().filter(|(_, reply)| status(reply).is_some_and(|status| status >= 400)).collect();
    if required.is_empty() {
        return Ruling::NotApplicable("the server does not require the session's id".to_owned());
    }
    expect_status(&required, |status| status == 400)
}

fn delete(evidence: &Evidence) -> Ruling {
    let mut all = sent(evidence, |frame| http_method(frame) == Some("DELETE") && header(frame, SESSION).is_some());
    // A session can be ended once; what meets a second DELETE says nothing.
    all.truncate(1);
    expect_status(&all, |status| status == 405 || (200..300).contains(&status))
}

fn ended_session(evidence: &Evidence) -> Ruling {
    let ended = sent(evidence, |frame| http_method(frame) == Some("DELETE") && header(frame, SESSION).is_some());
    let ended = ended.into_iter().find(|(_, reply)| status(reply).is_some_and(|status| (200..300).contains(&status)));
    let Some((_, ended)) = ended else { return Ruling::NotApplicable("no session was ended".to_owned()) };
    let end = ended.seq;
    let all = sent(evidence, move |frame| frame.seq > end && frame.is_request() && header(frame, SESSION).is_some());
    expect_status(&all, |status| status == 404)
}

fn expect_status(all: &[(&Frame, &Frame)], good: impl Fn(u16) -> bool) -> Ruling {
    let wrong = all.iter().filter(|(_, reply)| !status(reply).is_some_and(&good));
    let faults =
        wrong.map(|(_, reply)| (reply.seq, format!("it is met by {}", status(reply).unwrap_or_default()))).collect();
    let first = all.first().and_then(|(_, reply)| status(reply)).unwrap_or_default();
    ruling(faults, &pairs(all), format!("it is met by {first}"), "no such message was sent")
}
