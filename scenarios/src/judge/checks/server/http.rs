//! Streamable HTTP of the handshake revisions: statuses, content types, sessions, origins.

use std::collections::HashSet;

use serde_json::Value;
use url::Url;

use super::{
    streams::is_endpoint,
    waiting::{first_cancellations, session_and_id},
};
use crate::{
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope, brief},
        checks::is_local,
        transcript::{
            Body, ConnectionEvent, Frame, Message, Transcript,
            http::{REVISION_HEADER, SESSION_HEADER, header, media_type, method, status},
        },
    },
    model::Revision,
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "http-reply-is-json-or-events",
        requirement: "transports/reply-content-type",
        scope: Scope::Always,
        expected: "the response to a request is application/json or text/event-stream",
        rule: Rule::Case(content_type),
    },
    Check {
        id: "http-notification-is-accepted",
        requirement: "transports/notification-202",
        scope: Scope::Always,
        expected: "the response to an accepted notification is 202 without a body",
        rule: Rule::Case(notification),
    },
    Check {
        id: "http-session-id-is-visible-ascii",
        requirement: "transports/session-id",
        scope: Scope::Always,
        expected: "the session id has only visible ASCII characters",
        rule: Rule::Case(session_id),
    },
    Check {
        id: "http-get-opens-a-stream-or-405",
        requirement: "transports/get",
        scope: Scope::Named,
        expected: "the response to GET is a stream of events or 405",
        rule: Rule::Case(get),
    },
    Check {
        id: "http-unsupported-revision-is-400",
        requirement: "transports/version-header",
        scope: Scope::Named,
        expected: "the response to an unknown revision in the header is 400",
        rule: Rule::Case(unknown_revision),
    },
    Check {
        id: "http-foreign-origin-is-refused",
        requirement: "transports/origin",
        scope: Scope::Named,
        expected: "the response to a foreign Origin is 403",
        rule: Rule::Case(origin),
    },
    Check {
        id: "http-opaque-origin-is-refused",
        requirement: "transports/opaque-origin",
        scope: Scope::Named,
        expected: "a server that rejects foreign origins also rejects the Origin `null`",
        rule: Rule::Case(opaque_origin),
    },
    Check {
        id: "http-missing-session-is-400",
        requirement: "transports/missing-session",
        scope: Scope::Named,
        expected: "the response to a request without the session id is 400, if sessions are required",
        rule: Rule::Case(missing_session),
    },
    Check {
        id: "http-delete-ends-the-session-or-405",
        requirement: "transports/delete",
        scope: Scope::Named,
        expected: "the response to DELETE is success or 405",
        rule: Rule::Case(delete),
    },
    Check {
        id: "http-ended-session-is-404",
        requirement: "transports/ended-session",
        scope: Scope::Named,
        expected: "the response to POST and GET in a closed session is 404; GET may also get 405, and DELETE success again",
        rule: Rule::Case(ended_session),
    },
    Check {
        id: "http-listens-at-loopback-only",
        requirement: "transports/loopback-only",
        scope: Scope::Named,
        expected: "a server with a loopback URL cannot be reached at another address of its machine",
        rule: Rule::Case(loopback_only),
    },
];

const NO_SESSION: &str = "the server opened no session";

/// A frame of the client with the HTTP response to it and its status.
pub(super) type Exchange<'a> = (&'a Frame, &'a Frame, u16);

/// The frames of the client that satisfy a condition, with their HTTP responses.
pub(super) fn exchanges<'t, 'a>(
    transcript: &'t Transcript<'a>,
    wanted: impl Fn(&Frame) -> bool + 't,
) -> impl Iterator<Item = Exchange<'a>> + 't {
    transcript.client_frames().filter(move |frame| wanted(frame)).filter_map(|frame| {
        let reply = transcript.reply(frame)?;
        Some((frame, reply, status(reply)?))
    })
}

/// Passes if no response has a fault.
fn check_responses<'a>(
    exchanges: impl Iterator<Item = Exchange<'a>>,
    nothing: &str,
    fault: impl Fn(&Frame, &Frame, u16) -> Option<String>,
) -> CheckOutcome {
    let mut findings = Findings::default();
    for (request, reply, status) in exchanges {
        findings.saw(request.seq);
        findings.check(reply.seq, fault(reply, request, status).map_or(Ok(()), Err));
    }
    findings.or_not_applicable("HTTP messages", nothing)
}

pub(super) fn check_status<'a>(
    exchanges: impl Iterator<Item = Exchange<'a>>,
    good: impl Fn(u16) -> bool,
) -> CheckOutcome {
    check_responses(exchanges, "no such message was sent", |_, _, status| {
        (!good(status)).then(|| format!("the status is {status}"))
    })
}

fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}

fn content_type(transcript: &Transcript<'_>) -> CheckOutcome {
    let posts = exchanges(transcript, |frame| method(frame) == Some("POST") && frame.is_request());
    // Software before the server may reject a request in its own form.
    let is_message = |reply: &Frame| reply.json().is_some_and(|value| value.get("jsonrpc").is_some());
    let cancelled = first_cancellations(transcript);
    // A cancelled request has no response, but its exchange has to end.
    let is_cancelled = |request: &Frame, reply: &Frame| {
        let has_no_body = matches!(reply.body, Body::Event(ConnectionEvent::Bodiless));
        let key = Message::all_of(request).find_map(|request| session_and_id(&request));
        has_no_body && key.and_then(|key| cancelled.get(&key)).is_some_and(|cancel| cancel.seq() < reply.seq)
    };
    let posts = posts.filter(|(request, reply, _)| !is_cancelled(request, reply));
    let by_server = posts.filter(|(_, reply, status)| is_success(*status) || is_message(reply));
    check_responses(by_server, "no request was answered by the server", |reply, _, _| {
        let media_type = media_type(reply);
        let good = matches!(media_type.as_deref(), Some("application/json" | "text/event-stream"));
        (!good).then(|| format!("the content type is {}", media_type.unwrap_or_else(|| "missing".to_owned())))
    })
}

fn notification(transcript: &Transcript<'_>) -> CheckOutcome {
    let posts = exchanges(transcript, |frame| method(frame) == Some("POST") && frame.is_notification());
    check_responses(posts, "no notification was sent", |reply, _, status| match status {
        202 if matches!(reply.body, Body::Event(ConnectionEvent::Bodiless)) => None,
        202 => Some("202 has a body".to_owned()),
        status if status >= 400 => None,
        status => Some(format!("the status is {status}")),
    })
}

fn session_id(transcript: &Transcript<'_>) -> CheckOutcome {
    let identity = transcript.server_identity();
    match identity.and_then(|identity| identity.pointer("/session/visible_ascii")).and_then(Value::as_bool) {
        Some(true) => CheckOutcome::passed("all characters are visible ASCII", vec![]),
        Some(false) => CheckOutcome::failed("the session id has other characters", vec![]),
        None => CheckOutcome::not_applicable(NO_SESSION),
    }
}

fn get(transcript: &Transcript<'_>) -> CheckOutcome {
    let gets = exchanges(transcript, |frame| method(frame) == Some("GET"));
    check_responses(gets, "no GET was sent", |reply, request, status| match status {
        405 => None,
        // A server need not resume a stream, and may reject an unknown event or revision.
        400..500 if header(request, "last-event-id").is_some() => None,
        status if is_success(status) => {
            let media_type = media_type(reply).unwrap_or_else(|| "missing".to_owned());
            (media_type != "text/event-stream").then(|| format!("the content type is {media_type}"))
        }
        status => Some(format!("the status is {status}")),
    })
}

fn unknown_revision(transcript: &Transcript<'_>) -> CheckOutcome {
    let is_unknown = |revision: &str| revision.parse::<Revision>().is_err();
    let sent = exchanges(transcript, move |frame| header(frame, REVISION_HEADER).is_some_and(is_unknown));
    check_responses(sent, "no such message was sent", |_, request, status| {
        // A server without streams or sessions, one that does not find the session or has a stream, rejects GET and DELETE for
        // that reason.
        let is_other = method(request) != Some("POST") && matches!(status, 404 | 405 | 409);
        (status != 400 && !is_other)
            .then(|| format!("the status of {} is {status}", method(request).unwrap_or_default()))
    })
}

/// The origin of pages in a sandbox, and of files.
const OPAQUE: &str = "null";

fn opaque_origin(transcript: &Transcript<'_>) -> CheckOutcome {
    // A page of a file may be a client on purpose, so this is less than a foreign origin.
    match origin(transcript) {
        CheckOutcome::Passed { .. } => {}
        _ => return CheckOutcome::not_applicable("the server rejects no foreign origin"),
    }
    let all = exchanges(transcript, |frame| header(frame, "origin") == Some(OPAQUE));
    check_responses(all, "no such message was sent", |_, _, status| {
        (!(400..500).contains(&status)).then(|| format!("the status is {status}"))
    })
}

fn origin(transcript: &Transcript<'_>) -> CheckOutcome {
    let is_foreign = |frame: &Frame| header(frame, "origin").is_some_and(|origin| origin != OPAQUE);
    let all: Vec<_> = exchanges(transcript, is_foreign).collect();
    // A public server decides which origins are valid; to one on this machine a foreign origin never is.
    let local = |frame: &Frame| header(frame, "host").is_some_and(names_this_machine);
    if !all.iter().any(|(request, ..)| local(request)) {
        return CheckOutcome::not_applicable("a public server decides which origins are valid");
    }
    // The page names the status since 2025-11-25; before, any rejection is valid (basic/transports, security warning).
    let is_new = transcript.evidence.revision >= Revision::V2025_11_25;
    check_responses(all.into_iter(), "no such message was sent", |_, request, status| {
        // A method that the endpoint does not support is harmless.
        let is_unsupported = status == 405 && method(request) != Some("POST");
        // A foreign name of the host may be the reason.
        let rejected =
            if is_new && local(request) { status == 403 || is_unsupported } else { (400..500).contains(&status) };
        let name = method(request).unwrap_or_default();
        (!rejected).then(|| format!("the status of {name} is {status}"))
    })
}

fn names_this_machine(host: &str) -> bool {
    Url::parse(&format!("http://{host}")).is_ok_and(|url| is_local(&url))
}

fn missing_session(transcript: &Transcript<'_>) -> CheckOutcome {
    if transcript.server_identity().and_then(|identity| identity.get("session")).is_none() {
        return CheckOutcome::not_applicable(NO_SESSION);
    }
    let without = exchanges(transcript, |frame| {
        frame.is_request() && frame.method() != Some("initialize") && header(frame, SESSION_HEADER).is_none()
    });
    // An error with a status of success rejects it too.
    let is_error = |frame: &Frame| Message::all_of(frame).any(|message| message.error().is_some());
    let mut rejected = without.filter(|(_, reply, status)| *status >= 400 || is_error(reply)).peekable();
    if rejected.peek().is_none() {
        return CheckOutcome::not_applicable("the server does not require the session id");
    }
    // A stream that begins with `endpoint` is one of HTTP+SSE, which has no session ids.
    let endpoints = transcript.evidence.frames.iter().filter(|frame| is_endpoint(frame));
    let is_older: HashSet<u64> = endpoints.map(|frame| frame.connection).collect();
    let opened = exchanges(transcript, |frame| method(frame) == Some("GET") && header(frame, SESSION_HEADER).is_none());
    let opened = opened.filter(|(request, _, status)| is_success(*status) && !is_older.contains(&request.connection));
    check_status(rejected.chain(opened), |status| status == 400)
}

/// The exchanges that close a session.
fn deletes<'t, 'a>(transcript: &'t Transcript<'a>) -> impl Iterator<Item = Exchange<'a>> + 't {
    exchanges(transcript, |frame| method(frame) == Some("DELETE") && header(frame, SESSION_HEADER).is_some())
}

fn delete(transcript: &Transcript<'_>) -> CheckOutcome {
    // A session can be closed once; the response to a second DELETE says nothing.
    check_status(deletes(transcript).take(1), |status| status == 405 || is_success(status))
}

fn ended_session(transcript: &Transcript<'_>) -> CheckOutcome {
    let Some((delete, closed, _)) = deletes(transcript).find(|(.., status)| is_success(*status)) else {
        return CheckOutcome::not_applicable("no session was closed");
    };
    let (session, closed) = (header(delete, SESSION_HEADER), closed.seq);
    let later = exchanges(transcript, move |frame| {
        let is_message = frame.is_request() || frame.is_notification();
        let is_judged = is_message || matches!(method(frame), Some("GET" | "DELETE"));
        frame.seq > closed && is_judged && header(frame, SESSION_HEADER) == session
    });
    check_responses(later, "no such message was sent", |_, request, status| {
        let name = method(request).unwrap_or_default();
        // The server may reject a method that it does not support before it looks for the session.
        let is_unsupported = status == 405 && name != "POST";
        // A repeated DELETE has the same effect (RFC 9110, 9.2.2).
        let is_repeated = name == "DELETE" && is_success(status);
        (status != 404 && !is_unsupported && !is_repeated).then(|| format!("the status of {name} is {status}"))
    })
}

fn loopback_only(transcript: &Transcript<'_>) -> CheckOutcome {
    let tried = transcript.step_values().find_map(|value| Some((value.get("address")?, value.get("connected")?)));
    match tried {
        Some((address, connected)) if *connected == true => {
            CheckOutcome::failed(format!("the server also listens at {}", brief(address)), vec![])
        }
        Some((address, _)) => CheckOutcome::passed(format!("the server does not listen at {}", brief(address)), vec![]),
        None => CheckOutcome::not_applicable("the server is not at a loopback address"),
    }
}
