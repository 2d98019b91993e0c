//! The HTTP envelope of a client's messages, and the session over Streamable HTTP (2025-03-26 to 2025-11-25,
//! basic/transports; 2026-07-28, basic/transports/streamable-http).

use std::collections::{HashMap, HashSet};

use url::{Position, Url};

use crate::{
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope},
        transcript::{
            Frame, Message, Session, Transcript,
            http::{REVISION_HEADER, SESSION_HEADER, header, is_rpc_post, media_type, method, status},
        },
    },
    model::Revision,
    requirements::RevisionRange,
};

const NO_SESSION: &str = "no server opened a session with an id";
const NO_REVISION_HEADER: &str = "no HTTP request followed a handshake of a revision with this requirement";

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "http-accept",
        requirement: "client/http-accept",
        scope: Scope::Always,
        expected: "a POST accepts application/json and text/event-stream, a GET text/event-stream",
        rule: Rule::Case(http_accept),
    },
    Check {
        id: "http-content-type",
        requirement: "client/http-content-type",
        scope: Scope::Always,
        expected: "the Content-Type of a POST is application/json",
        rule: Rule::Case(http_content_type),
    },
    Check {
        id: "http-messages-are-posted",
        requirement: "client/http-messages-are-posted",
        scope: Scope::Always,
        expected: "each message of the client is an HTTP POST",
        rule: Rule::Case(http_messages_are_posted),
    },
    Check {
        id: "messages-to-endpoint",
        requirement: "http/messages-to-endpoint",
        scope: Scope::Always,
        expected: "each POST after an `endpoint` event goes to the announced URI",
        rule: Rule::Case(messages_to_endpoint),
    },
    Check {
        id: "http-revision-header",
        requirement: "client/http-revision-header",
        scope: Scope::Always,
        expected: "each request after the handshake has MCP-Protocol-Version",
        rule: Rule::Sessions(http_revision_header),
    },
    Check {
        id: "speaks-negotiated-revision",
        requirement: "client/speaks-negotiated-revision",
        scope: Scope::Always,
        expected: "MCP-Protocol-Version is the negotiated revision",
        rule: Rule::Sessions(speaks_negotiated_revision),
    },
    Check {
        id: "http-session-echoed",
        requirement: "client/http-session-echoed",
        scope: Scope::Always,
        expected: "each request of a session has its id, and `initialize` has none",
        rule: Rule::Case(http_session_echoed),
    },
    Check {
        id: "session-ended",
        requirement: "client/session-ended",
        scope: Scope::Named,
        expected: "a session that is no longer needed is closed with DELETE",
        rule: Rule::Case(session_ended),
    },
];

fn http_accept(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for frame in transcript.client_frames() {
        let wanted: &[&str] = if is_rpc_post(frame) {
            &["application/json", "text/event-stream"]
        } else if method(frame) == Some("GET") && transcript.is_to_endpoint(frame) {
            &["text/event-stream"]
        } else {
            continue;
        };
        let message = |media_type| {
            let accept = header(frame, "accept").map_or_else(|| "no Accept".to_owned(), |it| format!("Accept: {it}"));
            format!("a {} has {accept}, without {media_type}", method(frame).unwrap_or_default())
        };
        let missing = wanted.iter().find(|media_type| !accepts(frame, media_type));
        findings.check(frame.seq, missing.map_or(Ok(()), |media_type| Err(message(media_type))));
    }
    findings.or_not_applicable("HTTP requests", "no request was sent over Streamable HTTP")
}

fn accepts(frame: &Frame, media_type: &str) -> bool {
    let accept = header(frame, "accept").unwrap_or_default();
    let mut ranges = accept.split(',').filter_map(|range| range.split(';').next());
    ranges.any(|range| range.trim().eq_ignore_ascii_case(media_type))
}

fn http_content_type(transcript: &Transcript<'_>) -> CheckOutcome {
    let posts = transcript.client_frames().filter(|frame| is_rpc_post(frame)).map(|frame| (frame.seq, frame));
    let fault = |frame: &&Frame| {
        let wrong = media_type(frame).is_none_or(|media_type| media_type != "application/json");
        wrong.then(|| format!("the Content-Type is `{}`", header(frame, "content-type").unwrap_or_default()))
    };
    Findings::from_each(posts, fault).or_not_applicable("POST requests", "no POST was sent")
}

/// The bodies of rejected requests are not recorded, but only requests with a message have the methods PUT and PATCH, and a
/// redirect with 307 or 308 keeps the method (RFC 9110 section 15.4.8).
fn http_messages_are_posted(transcript: &Transcript<'_>) -> CheckOutcome {
    let redirected = |post: &Frame| {
        let reply = transcript.reply(post).filter(|reply| matches!(status(reply), Some(307 | 308)))?;
        Some((post.http.as_ref()?.path.clone()?, header(reply, "location")?.to_owned()))
    };
    let targets: Vec<_> =
        transcript.client_frames().filter(|frame| is_rpc_post(frame)).filter_map(redirected).collect();
    // The query is part of the target. A server that redirects to the same URL does not tell a stream apart.
    let is_target = |frame: &Frame| {
        let path = frame.http.as_ref().and_then(|http| http.path.as_deref()).unwrap_or_default();
        targets.iter().any(|(from, to)| from != path && to.ends_with(path))
    };
    let verb = |frame: &Frame| match method(frame)? {
        "PUT" => Some("PUT"),
        "PATCH" => Some("PATCH"),
        "GET" if is_target(frame) => Some("GET after a redirect"),
        _ => None,
    };
    let sent = transcript.client_frames().filter(|frame| is_rpc_post(frame) || verb(frame).is_some());
    let fault = |frame: &&Frame| verb(frame).map(|verb| format!("a message was sent with {verb}"));
    Findings::from_each(sent.map(|frame| (frame.seq, frame)), fault)
        .or_not_applicable("HTTP requests", "no message was sent over HTTP")
}

/// A client that detects the transport posts to the URL of the server before it has a stream.
fn messages_to_endpoint(transcript: &Transcript<'_>) -> CheckOutcome {
    let (mut announced, mut first) = (HashSet::new(), HashMap::new());
    for connection in transcript.connections() {
        let stream = connection.request().and_then(target);
        let (Some(stream), Some((seq, uri))) = (stream, connection.endpoint()) else { continue };
        announced.extend(stream.join(uri).map(|uri| (connection.server, path_and_query(&uri).to_owned())));
        first.entry(connection.server).or_insert((seq, uri));
    }
    let posts = transcript.client_frames().filter(|frame| method(frame) == Some("POST")).filter_map(|frame| {
        let (seq, uri) = first.get(frame.server.as_str())?;
        (frame.seq > *seq).then_some((frame.seq, (frame, *uri)))
    });
    let fault = |(frame, uri): &(&Frame, &str)| {
        let to = path_and_query(&target(frame)?).to_owned();
        let message = format!("the server announced `{uri}`, and a POST went to `{to}`");
        (!announced.contains(&(frame.server.as_str(), to))).then_some(message)
    };
    Findings::from_each(posts, fault).or_not_applicable("POST requests", "no POST followed an `endpoint` event")
}

/// The target of a request, at a host that does not matter.
fn target(frame: &Frame) -> Option<Url> {
    Url::parse("http://host.invalid").ok()?.join(frame.http.as_ref()?.path.as_deref()?).ok()
}

fn path_and_query(url: &Url) -> &str {
    &url[Position::BeforePath..Position::AfterQuery]
}

/// The frames of the client after the handshake of each session with a negotiated revision in this range.
fn after_handshake<'t, 'a>(
    transcript: &'t Transcript<'a>,
    revisions: RevisionRange,
) -> impl Iterator<Item = (&'a Frame, Revision)> + 't {
    transcript.sessions().iter().flat_map(move |session| {
        let handshake = session.handshake().and_then(|done| Some((done.answer.seq(), done.revision()?)));
        let handshake = handshake.filter(|(_, revision)| revisions.contains(*revision));
        handshake
            .into_iter()
            .flat_map(|(answer, revision)| requests_after(session, answer).map(move |frame| (frame, revision)))
    })
}

/// The HTTP requests of a session, except `initialize` and the probes with which a client of both eras detects the era
/// of a server.
fn requests_of<'a>(session: &Session<'a>) -> impl Iterator<Item = &'a Frame> {
    let apart = |frame: &Frame| Message::all_of(frame).any(|message| message.is("initialize") || message.is_modern());
    session.frames.iter().copied().filter(move |frame| method(frame).is_some() && !apart(frame))
}

/// The requests after the answer to `initialize`. A GET without a session id may have been sent before the client read the
/// answer, unless another request came first.
fn requests_after<'a>(session: &Session<'a>, answer: u64) -> impl Iterator<Item = &'a Frame> {
    let requests = requests_of(session).filter(move |frame| frame.seq > answer);
    requests.skip_while(|frame| is_get(frame) && header(frame, SESSION_HEADER).is_none())
}

fn http_revision_header(transcript: &Transcript<'_>, revisions: RevisionRange) -> CheckOutcome {
    let requests = after_handshake(transcript, revisions).map(|(frame, _)| (frame.seq, frame));
    let fault = |frame: &&Frame| {
        let missing = header(frame, REVISION_HEADER).is_none();
        missing.then(|| format!("a {} has no MCP-Protocol-Version", method(frame).unwrap_or_default()))
    };
    Findings::from_each(requests, fault).or_not_applicable("HTTP requests", NO_REVISION_HEADER)
}

fn speaks_negotiated_revision(transcript: &Transcript<'_>, revisions: RevisionRange) -> CheckOutcome {
    let sent = after_handshake(transcript, revisions)
        .filter_map(|(frame, revision)| Some((frame.seq, (header(frame, REVISION_HEADER)?, revision))));
    let fault = |(given, revision): &(&str, Revision)| {
        (*given != revision.as_str())
            .then(|| format!("MCP-Protocol-Version is `{given}`, but {revision} was negotiated"))
    };
    Findings::from_each(sent, fault).or_not_applicable("HTTP requests", NO_REVISION_HEADER)
}

fn http_session_echoed(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for session in transcript.sessions() {
        let begin = session.client_messages().find(|message| message.is("initialize"));
        if let Some(begin) = begin.filter(|begin| header(begin.frame, SESSION_HEADER).is_some()) {
            findings.fail("`initialize` has a session id", [begin.seq()]);
        }
        let (Some(id), Some(handshake)) = (session.id, session.handshake()) else { continue };
        for frame in requests_after(session, handshake.answer.seq()) {
            let (verb, given) = (method(frame).unwrap_or_default(), header(frame, SESSION_HEADER));
            let message = || match given {
                Some(given) => format!("a {verb} has the session id `{given}`, which the server did not assign"),
                None => format!("a {verb} has no session id"),
            };
            findings.check(frame.seq, if given == Some(id) { Ok(()) } else { Err(message()) });
        }
    }
    let (sessions, lost) = (transcript.sessions(), lost_sessions(transcript));
    for (position, session) in sessions.iter().enumerate() {
        let mut later = sessions[position + 1..].iter().filter(|later| later.server == session.server);
        let Some(id) = session.id else { continue };
        let Some(lost) = lost.get(&(session.server, id)).copied() else { continue };
        let Some(renewed) = later.find(|later| later.handshake().is_some()) else { continue };
        let initialized = renewed.client_messages().find(|message| message.is("notifications/initialized"));
        let begun = initialized.map_or(lost, |message| message.seq().max(lost));
        // One request may have been under way.
        let stale: Vec<_> = session.client_messages().filter(|one| one.is_request() && one.seq() > begun).collect();
        if stale.len() > 1 {
            let frames = stale.iter().map(|request| request.seq());
            findings.fail(format!("requests after the new handshake have the id `{id}` of the lost session"), frames);
        }
        // The stream of the lost session may be opened once more until the client has read the id of the new session.
        if requests_of(renewed).any(is_get) {
            continue;
        }
        for frame in requests_of(session).filter(|frame| is_get(frame) && frame.seq > begun) {
            findings.fail(format!("a GET of the new session has the id `{id}` of the lost one"), [frame.seq]);
        }
    }
    findings.or_not_applicable("HTTP requests", NO_SESSION)
}

fn is_get(frame: &Frame) -> bool {
    method(frame) == Some("GET")
}

/// The sessions that the server ended, by server and id: the frame of the first 404 for one of their requests.
fn lost_sessions<'a>(transcript: &Transcript<'a>) -> HashMap<(&'a str, &'a str), u64> {
    let mut lost = HashMap::new();
    for connection in transcript.connections().iter().filter(|connection| connection.status() == Some(404)) {
        let id = connection.request().and_then(|request| header(request, SESSION_HEADER));
        let reply = connection.frames.iter().find(|frame| status(frame).is_some());
        if let (Some(id), Some(reply)) = (id, reply) {
            lost.entry((connection.server, id)).or_insert(reply.seq);
        }
    }
    lost
}

fn session_ended(transcript: &Transcript<'_>) -> CheckOutcome {
    if transcript.evidence.timed_out || transcript.was_killed_on_purpose() {
        return CheckOutcome::not_applicable("the client was killed, so it could close nothing");
    }
    let lost = lost_sessions(transcript);
    let mut findings = Findings::default();
    for session in transcript.sessions() {
        let (Some(id), Some(handshake)) = (session.id, session.handshake()) else { continue };
        // The server ended the session first (404), or its process exited.
        if lost.contains_key(&(session.server, id)) || !transcript.exits(session.server).is_empty() {
            continue;
        }
        let closed = session.frames.iter().find(|frame| method(frame) == Some("DELETE"));
        let message = || format!("the session `{id}` was not closed");
        findings
            .check(closed.map_or(handshake.answer.seq(), |frame| frame.seq), closed.map(|_| ()).ok_or_else(message));
    }
    findings.or_blocked("sessions", NO_SESSION)
}

#[cfg(test)]
mod tests;
