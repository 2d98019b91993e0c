//! The HTTP envelope of a client's messages, and the session over Streamable HTTP (2025-03-26 to 2025-11-25,
//! basic/transports; 2026-07-28, basic/transports/streamable-http).

use mock_servers::Frame;

use super::{
    findings::Findings,
    message::Message,
    session::{SESSION_HEADER, Session, endpoints, exchanges, header, is_rpc_post, method, path, sessions},
};
use crate::{
    evidence::Evidence,
    judge::check::{Check, Ruling, Scope},
    model::{Revision, Subject, Transport},
};

/// The header that carries the revision (2025-06-18, basic/transports#protocol-version-header).
pub(super) const REVISION_HEADER: &str = "mcp-protocol-version";

const NOT_STREAMABLE: &str = "nothing was sent over Streamable HTTP";
const NO_SESSION: &str = "no server opened a session with an id";

pub(super) const ALL: &[Check] = &[
    Check {
        id: "http-accept",
        requirement: "client/http-accept",
        subject: Subject::Client,
        scope: Scope::Always,
        expected: "a POST accepts application/json and text/event-stream, a GET text/event-stream",
        rule: http_accept,
    },
    Check {
        id: "http-content-type",
        requirement: "client/http-content-type",
        subject: Subject::Client,
        scope: Scope::Always,
        expected: "a POST says that its body is application/json",
        rule: http_content_type,
    },
    Check {
        id: "http-revision-header",
        requirement: "client/http-revision-header",
        subject: Subject::Client,
        scope: Scope::Always,
        expected: "each request after the handshake carries MCP-Protocol-Version",
        rule: http_revision_header,
    },
    Check {
        id: "speaks-negotiated-revision",
        requirement: "client/speaks-negotiated-revision",
        subject: Subject::Client,
        scope: Scope::Always,
        expected: "MCP-Protocol-Version names the revision that was negotiated",
        rule: speaks_negotiated_revision,
    },
    Check {
        id: "http-session-echoed",
        requirement: "client/http-session-echoed",
        subject: Subject::Client,
        scope: Scope::Always,
        expected: "each request of a session carries its id, and `initialize` carries none",
        rule: http_session_echoed,
    },
    Check {
        id: "session-ended",
        requirement: "client/session-ended",
        subject: Subject::Client,
        scope: Scope::Named,
        expected: "a session that is no longer needed is ended with DELETE",
        rule: session_ended,
    },
];

fn http_accept(evidence: &Evidence) -> Ruling {
    let mut findings = Findings::default();
    if evidence.transport == Transport::StreamableHttp {
        let endpoints = endpoints(evidence);
        for frame in evidence.frames.iter().filter(|frame| frame.from_client()) {
            let opens = method(frame) == Some("GET")
                && path(frame).is_some_and(|path| endpoints.contains(&(frame.server.as_str(), path)));
            let wanted: &[&str] = match () {
                () if is_rpc_post(frame) => &["application/json", "text/event-stream"],
                () if opens => &["text/event-stream"],
                () => continue,
            };
            let missing = wanted.iter().find(|kind| !lists(frame, kind));
            let given =
                header(frame, "accept").map_or_else(|| "no Accept".to_owned(), |given| format!("Accept: {given}"));
            let words = |kind| format!("a {} has {given}, without {kind}", method(frame).unwrap_or_default());
            findings.judge(frame.seq, missing.map_or(Ok(()), |kind| Err(words(kind))));
        }
    }
    findings.or_not_applicable("HTTP requests", NOT_STREAMABLE)
}

fn lists(frame: &Frame, kind: &str) -> bool {
    let accept = header(frame, "accept").unwrap_or_default();
    accept.split(',').filter_map(|range| range.split(';').next()).any(|range| range.trim().eq_ignore_ascii_case(kind))
}

fn http_content_type(evidence: &Evidence) -> Ruling {
    let mut findings = Findings::default();
    for frame in evidence.frames.iter().filter(|frame| is_rpc_post(frame)) {
        let given = header(frame, "content-type").unwrap_or_default();
        let kind = given.split(';').next().unwrap_or_default().trim();
        let well = kind.eq_ignore_ascii_case("application/json");
        findings.judge(frame.seq, if well { Ok(()) } else { Err(format!("a POST has the Content-Type `{given}`")) });
    }
    findings.or_not_applicable("POST requests", "nothing was posted")
}

/// The client's frames of each session after its handshake, with the revision that was agreed on.
fn after_handshake(evidence: &Evidence) -> Vec<(&Frame, Revision)> {
    let mut found = Vec::new();
    if evidence.transport != Transport::StreamableHttp {
        return found;
    }
    for session in sessions(evidence) {
        let Some(handshake) = session.handshake() else { continue };
        let Some(revision) = handshake.negotiated().and_then(|revision| revision.parse::<Revision>().ok()) else {
            continue;
        };
        let later = requests_of(&session).filter(|frame| frame.seq > handshake.answer.seq());
        found.extend(later.map(|frame| (frame, revision)));
    }
    found
}

/// The HTTP requests of a session, without those that have no part in it: its beginning, and the probes by which a
/// client of both eras finds out anew what the server is.
fn requests_of<'a>(session: &Session<'a>) -> impl Iterator<Item = &'a Frame> {
    let apart = |frame: &Frame| Message::all_of(frame).any(|message| message.is("initialize") || message.is_modern());
    session.frames.iter().copied().filter(move |frame| method(frame).is_some() && !apart(frame))
}

const NO_REVISION_HEADER: &str = "no HTTP request followed a handshake of 2025-06-18 or later";

fn http_revision_header(evidence: &Evidence) -> Ruling {
    let mut findings = Findings::default();
    let later = after_handshake(evidence).into_iter().filter(|(_, revision)| *revision >= Revision::V2025_06_18);
    for (frame, _) in later {
        let verdict = header(frame, REVISION_HEADER).map(|_| ());
        let words = || format!("a {} has no MCP-Protocol-Version", method(frame).unwrap_or_default());
        findings.judge(frame.seq, verdict.ok_or_else(words));
    }
    findings.or_not_applicable("HTTP requests", NO_REVISION_HEADER)
}

fn speaks_negotiated_revision(evidence: &Evidence) -> Ruling {
    let mut findings = Findings::default();
    let later = after_handshake(evidence).into_iter().filter(|(_, revision)| *revision >= Revision::V2025_06_18);
    for (frame, revision) in later {
        let Some(given) = header(frame, REVISION_HEADER) else { continue };
        let words = || format!("MCP-Protocol-Version is `{given}`, but {revision} was negotiated");
        findings.judge(frame.seq, if given == revision.as_str() { Ok(()) } else { Err(words()) });
    }
    findings.or_not_applicable("HTTP requests", NO_REVISION_HEADER)
}

fn http_session_echoed(evidence: &Evidence) -> Ruling {
    let mut findings = Findings::default();
    if evidence.transport != Transport::StreamableHttp {
        return Ruling::NotApplicable(NOT_STREAMABLE.to_owned());
    }
    for session in sessions(evidence) {
        let begin = session.said().find(|message| message.is("initialize"));
        if let Some(begin) = begin.filter(|begin| header(begin.frame, SESSION_HEADER).is_some()) {
            findings.breach("`initialize` carries the id of a session", [begin.seq()]);
        }
        let (Some(id), Some(handshake)) = (session.id, session.handshake()) else { continue };
        for frame in requests_of(&session).filter(|frame| frame.seq > handshake.answer.seq()) {
            let (verb, given) = (method(frame).unwrap_or_default(), header(frame, SESSION_HEADER));
            let words = || match given {
                Some(given) => format!("a {verb} carries the session id `{given}`, which the server never gave"),
                None => format!("a {verb} carries no session id"),
            };
            findings.judge(frame.seq, if given == Some(id) { Ok(()) } else { Err(words()) });
        }
    }
    findings.or_not_applicable("HTTP requests", NO_SESSION)
}

fn session_ended(evidence: &Evidence) -> Ruling {
    let process = evidence.process.as_ref();
    if evidence.transport != Transport::StreamableHttp {
        return Ruling::NotApplicable(NOT_STREAMABLE.to_owned());
    }
    if evidence.timed_out || process.is_some_and(|process| process.killed_on_purpose) {
        return Ruling::NotApplicable("the client was killed, so it could end nothing".to_owned());
    }
    let mut findings = Findings::default();
    for session in sessions(evidence) {
        let (Some(id), Some(handshake)) = (session.id, session.handshake()) else { continue };
        if lost(evidence, &session) {
            continue;
        }
        let ended = session.frames.iter().find(|frame| method(frame) == Some("DELETE"));
        let words = || format!("the session `{id}` was never ended");
        findings.judge(ended.map_or(handshake.answer.seq(), |frame| frame.seq), ended.map(|_| ()).ok_or_else(words));
    }
    findings.or_blocked("sessions", NO_SESSION)
}

/// Whether the server let the session go first (404), or is gone itself.
fn lost(evidence: &Evidence, session: &Session<'_>) -> bool {
    let refused =
        exchanges(evidence).into_iter().filter(|exchange| exchange.server == session.server).any(|exchange| {
            let ours = exchange.request().and_then(|request| header(request, SESSION_HEADER)) == session.id;
            ours && exchange.status() == Some(404)
        });
    let exit = mock_servers::Body::Mark(mock_servers::Mark::Exit);
    refused || evidence.frames.iter().any(|frame| frame.server == session.server && frame.body == exit)
}

#[cfg(test)]
mod tests;
