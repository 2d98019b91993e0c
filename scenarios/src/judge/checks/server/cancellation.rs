//! Cancellation of requests, by the client and by the server.

use std::collections::HashSet;

use super::{NO_RESPONSE, has_is_error, known};
use crate::{
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope, brief},
        transcript::{
            IdKey, Message, RequestResponse, Session, Transcript,
            http::{SESSION_HEADER, header, media_type, status},
        },
    },
    model::Transport,
    peer::TOO_SLOW,
};

/// A message that was on its way may arrive this much later, in microseconds.
const ON_ITS_WAY_US: u64 = 100_000;
/// Of several notifications, only those that are sent at once may all be on their way, in microseconds.
const SHORTLY_US: u64 = 20_000;
/// Two streams have no common order, so over HTTP a message may arrive this much later, in microseconds.
const OTHER_STREAM_US: u64 = 1_000_000;
/// A call that waits longer than this, and much longer than an equal one took, has no response, in microseconds.
const LOST_US: u64 = 2_500_000;
/// Number of late cancellations of a session that are judged by the next call.
const MAX_LATE: usize = 20;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "no-response-after-cancellation",
        requirement: "cancellation/no-response",
        scope: Scope::Always,
        expected: "a request that was cancelled while it was open has no response, and no further progress",
        rule: Rule::Case(no_response),
    },
    Check {
        id: "cancelled-request-has-no-error",
        requirement: "cancellation/no-further-messages",
        scope: Scope::Always,
        expected: "a request that ends because of its cancellation has no response over stdio",
        rule: Rule::Case(no_error),
    },
    Check {
        id: "cancels-no-other-request",
        requirement: "cancellation/no-other-request",
        scope: Scope::Named,
        expected: "after the cancellation of a call, an earlier equal call still has a response",
        rule: Rule::Case(no_other),
    },
    Check {
        id: "early-cancellation-is-ignored",
        requirement: "cancellation/races",
        scope: Scope::Named,
        expected: "over stdio, a cancellation before the request with its id does not end that request",
        rule: Rule::Case(early_is_ignored),
    },
    Check {
        id: "survives-cancellation",
        requirement: "cancellation/races",
        scope: Scope::Named,
        expected: "the server accepts late cancellations, and still responds after late, unknown and malformed ones",
        rule: Rule::Case(survives),
    },
    Check {
        id: "cancels-only-own-requests",
        requirement: "cancellation/own-requests",
        scope: Scope::Always,
        expected: "the server cancels only requests that it sent",
        rule: Rule::Case(own),
    },
];

fn cancellations<'a>(messages: impl Iterator<Item = Message<'a>>) -> impl Iterator<Item = Message<'a>> {
    messages.filter(|message| message.is("notifications/cancelled"))
}

/// The cancellations by the client, each with its request and the response.
fn cancelled_requests<'a>(
    session: &Session<'a>,
) -> impl Iterator<Item = (Message<'a>, Message<'a>, Option<Message<'a>>)> {
    cancellations(session.client_messages()).filter_map(|cancel| {
        let id = IdKey::new(cancel.cancels()?);
        let request = session.requests_with(id).take_while(|request| request.seq() < cancel.seq()).last()?;
        Some((cancel, request, session.answer(&request)))
    })
}

/// Those of requests that had no response before.
pub(super) fn cancelled_while_open<'a>(
    session: &Session<'a>,
) -> impl Iterator<Item = (Message<'a>, Message<'a>, Option<Message<'a>>)> {
    cancelled_requests(session)
        .filter(|(cancel, _, response)| response.is_none_or(|response| response.seq() >= cancel.seq()))
}

/// The calls of tools, except those with an error after the client had cancelled them: it says nothing about the call.
pub(super) fn meaningful_calls<'t, 'a>(
    transcript: &'t Transcript<'a>,
) -> impl Iterator<Item = &'t RequestResponse<'a>> + use<'t, 'a> {
    let responses = transcript.sessions().iter().flat_map(cancelled_while_open).filter_map(|(.., one)| one);
    let errors = responses.filter(|response| response.error().is_some());
    let cancelled: HashSet<u64> = errors.map(|response| response.seq()).collect();
    let is_meaningful =
        move |call: &&RequestResponse<'_>| call.response.is_none_or(|response| !cancelled.contains(&response.seq()));
    transcript.requests_of("tools/call").filter(is_meaningful)
}

fn no_response(transcript: &Transcript<'_>) -> CheckOutcome {
    let has_session = || transcript.client_frames().any(|frame| header(frame, SESSION_HEADER).is_some());
    if transcript.is_http() && !has_session() {
        // A receiver may ignore the cancellation of an unknown request (2025-11-25, basic/utilities/cancellation).
        return CheckOutcome::not_applicable("the server has no sessions, so it cannot know the cancelled request");
    }
    let tolerance_us = if transcript.is_http() { OTHER_STREAM_US } else { ON_ITS_WAY_US };
    let mut findings = Findings::default();
    for session in transcript.sessions() {
        for (cancel, request, response) in cancelled_while_open(session) {
            if request.is("initialize") || is_too_slow(&cancel) {
                continue;
            }
            // The response to a later request proves that the server read the cancellation.
            let Some(read) = first_response_after(session, &cancel) else { continue };
            findings.saw(cancel.seq());
            let is_late = |one: &Message<'_>| one.seq() > read.seq() && one.at_us() > read.at_us() + tolerance_us;
            let progress = progress_after(session, &request, &read);
            let goes_on = progress.iter().find(|one| is_late(one)).or_else(|| {
                let again = progress.last().filter(|_| progress.len() > 1 && !transcript.is_http());
                again.filter(|last| last.at_us() > read.at_us() + SHORTLY_US)
            });
            if let Some(progress) = goes_on {
                let message = format!("progress for {} goes on after its cancellation", brief(&request.json["id"]));
                findings.fail(message, [request.seq(), cancel.seq(), progress.seq()]);
            }
            // Over HTTP the error ends the stream, which should have a response.
            let ends = |response: &Message<'_>| !transcript.is_http() && ends_as_cancelled(session, &request, response);
            if let Some(response) = response.filter(ends) {
                let code = response.error().and_then(|error| error.get("code")?.as_i64());
                match (known::sdk_of_cancelled(&response), code) {
                    (Some(sdk), Some(code)) => findings.known(response.seq(), known::rejection(code, sdk)),
                    _ => findings.fail(
                        format!(
                            "{} is answered with {} because of its cancellation",
                            brief(&request.json["id"]),
                            brief(response.error().or(response.result()).unwrap_or_default())
                        ),
                        [request.seq(), cancel.seq(), response.seq()],
                    ),
                }
                continue;
            }
            // A POST that gets JSON and no stream must have some response.
            let is_json = |response: &Message<'_>| media_type(response.frame).as_deref() == Some("application/json");
            if let Some(response) = response.filter(|response| is_late(response) && !is_json(response)) {
                let late_ms = (response.at_us() - cancel.at_us()) / 1000;
                let message = format!(
                    "the response to {} arrives {late_ms} ms after its cancellation",
                    brief(&request.json["id"])
                );
                findings.fail(message, [request.seq(), cancel.seq(), response.seq()]);
            }
        }
    }
    findings.or_not_applicable("cancellations", "no open request was cancelled")
}

/// A request that cannot be cancelled may have its response, but one with an error because of the cancellation was cancelled.
fn no_error(transcript: &Transcript<'_>) -> CheckOutcome {
    if transcript.is_http() {
        return CheckOutcome::not_applicable("over HTTP the end of the exchange cancels a request");
    }
    let mut findings = Findings::default();
    for session in transcript.sessions() {
        for (cancel, request, response) in cancelled_while_open(session) {
            findings.saw(cancel.seq());
            let Some(response) = response.filter(|one| ends_as_cancelled(session, &request, one)) else { continue };
            let Some(error) = response.error().map(brief) else { continue };
            match known::sdk_of_cancelled(&response) {
                Some(sdk) => {
                    findings.known(response.seq(), format!("the request is rejected with {error}, as {sdk} does"))
                }
                None => findings.fail(
                    format!("{} is rejected with {error} because of its cancellation", brief(&request.json["id"])),
                    [request.seq(), cancel.seq(), response.seq()],
                ),
            }
        }
    }
    findings.or_not_applicable("cancellations", "no open request was cancelled")
}

/// The first response to a request that was sent after a cancellation.
fn first_response_after<'a>(session: &Session<'a>, cancel: &Message<'a>) -> Option<Message<'a>> {
    let mut later = session.messages_after(cancel.seq()).filter(|one| one.by_client() && one.is_request());
    later.find_map(|request| session.answer(&request))
}

/// The codes of errors with other reasons: JSON-RPC's for invalid requests, and those of 2026-07-28 for metadata (basic#error-codes).
const OTHER_REASONS: [i64; 7] = [-32700, -32600, -32601, -32602, -32020, -32021, -32022];

/// Whether a request fails, with an error or as a result of a tool, that succeeds if it is not cancelled.
fn ends_as_cancelled<'a>(session: &Session<'a>, request: &Message<'a>, response: &Message<'a>) -> bool {
    let is_success = |response: &Message<'a>| response.result().is_some_and(|result| !has_is_error(result));
    let succeeds = |call: Message<'a>| session.answer(&call).is_some_and(|response| is_success(&response));
    let equal = |call: &Message<'a>| call.tool().is_some() && call.is_same_call(request);
    let has_other_reason = response
        .error()
        .and_then(|error| error.get("code")?.as_i64())
        .is_some_and(|code| OTHER_REASONS.contains(&code));
    !is_success(response) && !has_other_reason && session.client_messages().filter(equal).any(succeeds)
}

/// The progress of a request that follows a message.
fn progress_after<'a>(session: &Session<'a>, request: &Message<'a>, after: &Message<'a>) -> Vec<Message<'a>> {
    let Some(token) = request.param("_meta").and_then(|meta| meta.get("progressToken")) else { return Vec::new() };
    let later = session.messages_after(after.seq()).filter(|message| message.is("notifications/progress"));
    later.filter(|one| one.param("progressToken") == Some(token)).collect()
}

/// A call that was sent before a cancellation waits longer than one that was sent after it, so the later response shows that
/// the earlier one is lost. Over HTTP the calls that are open at the same time have no order.
fn no_other(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for session in transcript.sessions() {
        let calls: Vec<_> = session.client_messages().filter(|one| one.tool().is_some()).collect();
        for window in calls.windows(3) {
            let [first, second, later] = window else { continue };
            let (kept, victim, cancel) = match (cancel_of(session, first), cancel_of(session, second)) {
                (None, Some(cancel)) => (first, second, cancel),
                (Some(cancel), None) if cancel.seq() > second.seq() => (second, first, cancel),
                _ => continue,
            };
            let are_equal = victim.is_same_call(kept) && victim.is_same_call(later);
            let Some(response) = session.answer(later).filter(|_| are_equal) else { continue };
            findings.saw(cancel.seq());
            if session.answer(kept).is_none() && later.seq() > cancel.seq() {
                let (id, other) = (brief(&kept.json["id"]), brief(&victim.json["id"]));
                let message = format!("the call {id} has no response after the cancellation of {other}");
                findings.fail(message, [kept.seq(), cancel.seq(), response.seq()]);
            }
        }
    }
    findings.or_not_applicable("cancellations", "no call was cancelled while another one was open")
}

fn early_is_ignored(transcript: &Transcript<'_>) -> CheckOutcome {
    // Over HTTP a cancellation can overtake its request, and a server may remember it.
    if transcript.evidence.transport != Transport::Stdio {
        return CheckOutcome::not_applicable("the transport is not stdio");
    }
    let mut findings = Findings::default();
    for session in transcript.sessions() {
        for cancel in cancellations(session.client_messages()) {
            let Some(id) = cancel.cancels().map(IdKey::new) else { continue };
            let Some(request) = session.requests_with(id).next().filter(|request| request.seq() > cancel.seq()) else {
                continue;
            };
            findings.saw(cancel.seq());
            let mut equal = session.client_messages().filter(|one| one.tool().is_some() && one.is_same_call(&request));
            let is_lost = session.answer(&request).is_none();
            if let Some(answered) = equal.find_map(|one| session.answer(&one)).filter(|_| is_lost) {
                let message = format!("the call {} has no response, but an equal one has", brief(&request.json["id"]));
                findings.fail(message, [cancel.seq(), request.seq(), answered.seq()]);
            }
        }
    }
    findings.or_not_applicable("cancellations", "nothing was cancelled before it was sent")
}

fn cancel_of<'a>(session: &Session<'a>, call: &Message<'a>) -> Option<Message<'a>> {
    session.cancel_after(call.id_key()?, call.seq())
}

fn survives(transcript: &Transcript<'_>) -> CheckOutcome {
    // Calls that are open at the end of a session are cancelled too.
    let tested = cancellations(transcript.client_messages()).filter(|cancel| !is_too_slow(cancel));
    let Some(last) = tested.last() else { return CheckOutcome::not_applicable("nothing was cancelled") };
    let Some(later) = transcript.requests().last().filter(|request| request.request.seq() > last.seq()) else {
        return CheckOutcome::Blocked("no request was sent afterwards".to_owned());
    };
    let late = late_cancellations(transcript).map(|cancel| ("of a request with a response", cancel));
    let malformed = malformed_cancellations(transcript).map(|cancel| ("without a request", cancel));
    let refused = late.chain(malformed).find_map(|(kind, cancel)| {
        let reply = transcript.reply(cancel.frame)?;
        Some((kind, cancel, reply, status(reply).filter(|status| *status >= 400)?))
    });
    if let Some((kind, cancel, reply, status)) = refused {
        let message = format!("the status of the cancellation {kind} is {status}");
        return CheckOutcome::failed(message, vec![cancel.seq(), reply.seq]);
    }
    if let Some([cancel, lost, answered]) = transcript.sessions().iter().find_map(hit_by_late) {
        let message = format!(
            "the call {} has no response after the cancellation of an earlier request, but an equal one has",
            brief(&lost.json["id"])
        );
        return CheckOutcome::failed(message, vec![cancel.seq(), lost.seq(), answered.seq()]);
    }
    let frames = [vec![last.seq()], later.frames()].concat();
    match later.response {
        Some(_) => CheckOutcome::passed("a later request is answered", frames),
        None => CheckOutcome::failed(NO_RESPONSE, frames),
    }
}

/// Whether the workbench gave up a call because it took too long, which depends on time.
fn is_too_slow(cancel: &Message<'_>) -> bool {
    cancel.param("reason").is_some_and(|reason| reason == TOO_SLOW)
}

/// A cancellation of a request that had its response, the next call after it if that has no response, and an equal call that
/// was answered in much less time than the other one has waited.
fn hit_by_late<'a>(session: &Session<'a>) -> Option<[Message<'a>; 3]> {
    let end = session.messages().last()?.at_us();
    late_of(session).take(MAX_LATE).find_map(|cancel| {
        let lost = session.messages_after(cancel.seq()).find(|one| one.by_client() && one.tool().is_some())?;
        let given_up = cancel_of(session, &lost);
        if session.answer(&lost).is_some() || given_up.is_some_and(|cancel| !is_too_slow(&cancel)) {
            return None;
        }
        let waited = given_up.map_or(end, |cancel| cancel.at_us()) - lost.at_us();
        let mut equal = session.client_messages().filter(|one| one.tool().is_some() && one.is_same_call(&lost));
        let is_fast = |call: &Message<'a>| {
            let took = session.answer(call).map(|answer| answer.at_us() - call.at_us());
            took.is_some_and(|took| waited > LOST_US.max(20 * took))
        };
        Some([cancel, lost, equal.find(is_fast)?])
    })
}

/// The cancellations by the client of requests that had a response. The server has no reason to reject them: a client cannot know
/// that it is late. In 2026-07-28 no message over HTTP cancels a request (basic/transports/streamable-http#cancellation).
fn late_cancellations<'a>(transcript: &Transcript<'a>) -> impl Iterator<Item = Message<'a>> {
    cancelling_sessions(transcript).iter().flat_map(late_of)
}

/// The cancellations of requests that had their response before.
fn late_of<'a>(session: &Session<'a>) -> impl Iterator<Item = Message<'a>> {
    cancelled_requests(session)
        .filter(|(cancel, _, response)| response.is_some_and(|response| response.seq() < cancel.seq()))
        .map(|(cancel, ..)| cancel)
}

/// The sessions of a transport over which a message cancels a request.
fn cancelling_sessions<'t, 'a>(transcript: &'t Transcript<'a>) -> &'t [Session<'a>] {
    if transcript.evidence.revision.is_modern() && transcript.is_http() { &[] } else { transcript.sessions() }
}

/// The cancellations that name no request, which a receiver should ignore too (2025-11-25, basic/utilities/cancellation).
fn malformed_cancellations<'a>(transcript: &Transcript<'a>) -> impl Iterator<Item = Message<'a>> {
    let all = cancelling_sessions(transcript).iter().flat_map(|session| cancellations(session.client_messages()));
    all.filter(|cancel| cancel.cancels().is_none())
}

fn own(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut sent = HashSet::new();
    let mut findings = Findings::default();
    for message in transcript.server_messages() {
        if message.is_request() {
            sent.extend(message.id_key());
        } else if message.is("notifications/cancelled") {
            let result = match message.cancels() {
                None => Err("the cancellation names no request".to_owned()),
                Some(id) if sent.contains(&IdKey::new(id)) => Ok(()),
                Some(id) => Err(format!("the server cancels {}, which it did not send", brief(id))),
            };
            findings.check(message.seq(), result);
        }
    }
    findings.or_not_applicable("cancellations", "the server cancelled nothing")
}
