//! Cancellation (basic/utilities/cancellation; 2026-07-28: basic/patterns/cancellation).

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{RACE_US, is_before};
use crate::{
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope, quoted},
        transcript::{Body, ConnectionEvent, Frame, IdKey, Message, Session, Transcript},
    },
    model::{Revision, Transport},
};

/// Maximum number of requests with one id that a cancellation is compared with: the last ones before it.
const MAX_CANDIDATES: usize = 64;

/// How soon after its request the cancellation has no reason: no timeout is that short, and no user that fast.
const NO_REASON_US: u64 = 100_000;

/// How soon after a late response the client abandons a call because of it, in microseconds.
const HARM_US: u64 = 500_000;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "initialize-not-cancelled",
        requirement: "client/initialize-not-cancelled",
        scope: Scope::Always,
        expected: "the client does not cancel `initialize`",
        rule: Rule::Case(initialize_not_cancelled),
    },
    Check {
        id: "cancels-only-own-open-requests",
        requirement: "client/cancels-only-own-open-requests",
        scope: Scope::Always,
        expected: "the client cancels only requests of its own that may still be in progress",
        rule: Rule::Case(cancels_only_own_open_requests),
    },
    Check {
        id: "cancelled-requests-not-answered",
        requirement: "client/cancelled-requests-not-answered",
        scope: Scope::Always,
        expected: "the client sends no response to a request that the server cancelled",
        rule: Rule::Case(cancelled_requests_not_answered),
    },
    Check {
        id: "late-responses-do-no-harm",
        requirement: "client/late-responses-do-no-harm",
        scope: Scope::Named,
        expected: "a message that crosses a cancellation ends no other request",
        rule: Rule::Case(late_responses_do_no_harm),
    },
];

const NO_CANCEL: &str = "the client cancelled nothing";

fn initialize_not_cancelled(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for session in transcript.sessions() {
        for cancel in session.client_messages() {
            let Some(id) = cancel.cancels() else { continue };
            findings.saw(cancel.seq());
            // With a probe of a client of both eras under the same id, it is unknown which of the two is meant.
            let meant = session.requests_with(IdKey::new(id)).take_while(|request| request.seq() < cancel.seq());
            let meant: Vec<_> = meant.take(MAX_CANDIDATES).collect();
            if !meant.is_empty() && meant.iter().all(|request| request.is("initialize")) {
                findings.fail("`initialize` was cancelled", [meant[0].seq(), cancel.seq()]);
            }
        }
    }
    findings.or_not_applicable("cancellations", NO_CANCEL)
}

/// The requests of the client, and where a cancellation of them may be sent.
struct Requests<'t, 'a> {
    sessions: &'t [Session<'a>],
    over_http: bool,
    /// The first session with each server. Over HTTP a request may have been sent in a session that is lost by now.
    first: HashMap<&'a str, usize>,
    /// The requests in order, each with its session, by the first session of its server or its own session, and its id.
    by_id: HashMap<(usize, IdKey<'a>), Vec<(usize, Message<'a>)>>,
    /// The highest numeric id of each session.
    highest: Vec<Option<i64>>,
}

impl<'t, 'a> Requests<'t, 'a> {
    fn new(transcript: &'t Transcript<'a>) -> Self {
        let over_http = transcript.evidence.transport != Transport::Stdio;
        let (sessions, mut first) = (transcript.sessions(), HashMap::new());
        for (index, session) in sessions.iter().enumerate() {
            first.entry(session.server).or_insert(index);
        }
        let mut requests = Self { sessions, over_http, first, by_id: HashMap::new(), highest: vec![] };
        for (index, session) in sessions.iter().enumerate() {
            let mut highest = None;
            for request in session.client_messages().filter(Message::is_request) {
                highest = highest.max(request.id().and_then(Value::as_i64));
                let Some(id) = request.id_key() else { continue };
                requests.by_id.entry((requests.scope(index), id)).or_default().push((index, request));
            }
            requests.highest.push(highest);
        }
        for list in requests.by_id.values_mut() {
            list.sort_by_key(|(_, request)| request.frame.seq);
        }
        requests
    }

    fn scope(&self, session: usize) -> usize {
        if self.over_http { self.first[self.sessions[session].server] } else { session }
    }

    /// The requests that a cancellation may mean, each with its answer.
    fn meant_by(&self, session: usize, cancel: &Message<'a>, id: &'a Value) -> Vec<(Message<'a>, Option<Message<'a>>)> {
        let Some(list) = self.by_id.get(&(self.scope(session), IdKey::new(id))) else { return vec![] };
        let list = &list[..list.partition_point(|(_, request)| is_before(request, cancel))];
        let list = &list[list.len().saturating_sub(MAX_CANDIDATES)..];
        list.iter().map(|(session, request)| (*request, self.sessions[*session].answer(request))).collect()
    }
}

fn cancels_only_own_open_requests(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let requests = Requests::new(transcript);
    let uses_tasks = transcript.client_messages().any(|message| message.param("task").is_some());
    let mut crossed = Vec::new();
    for (index, session) in transcript.sessions().iter().enumerate() {
        for cancel in session.client_messages().filter(|message| message.is("notifications/cancelled")) {
            // In 2025-11-25 the id may be absent if a task is meant (its schema).
            if cancel.cancels().is_none() && uses_tasks && transcript.evidence.revision == Revision::V2025_11_25 {
                continue;
            }
            findings.saw(cancel.seq());
            crossed.extend(judge_cancel(&requests, index, &cancel, &mut findings));
        }
        // Over HTTP a client may repeat a POST whose response was lost.
        if transcript.evidence.transport == Transport::Stdio {
            judge_repeated(session, &mut findings);
        }
    }
    fail_repeated(&crossed, "cancelled right after their responses", &mut findings);
    findings.or_not_applicable("cancellations", NO_CANCEL)
}

/// Judges requests whose response and cancellation crossed: one may be a coincidence, several are not.
fn fail_repeated(crossed: &[[u64; 3]], how: &str, findings: &mut Findings) {
    if crossed.len() > 1 {
        findings.fail(format!("{} requests were {how}", crossed.len()), crossed.concat());
    }
}

/// After a cancellation the client no longer believes that the request is in progress.
fn judge_repeated(session: &Session<'_>, findings: &mut Findings) {
    let mut cancelled: HashMap<IdKey<'_>, u64> = HashMap::new();
    for message in session.client_messages() {
        if message.is_request() {
            message.id_key().map(|id| cancelled.remove(&id));
        } else if let Some(id) = message.cancels()
            && let Some(before) = cancelled.insert(IdKey::new(id), message.seq())
        {
            findings.fail(format!("the request {} was cancelled twice", quoted(id)), [before, message.seq()]);
        }
    }
}

/// Returns the request, its response and the cancellation if the response came first and the client had no time to give up.
fn judge_cancel<'a>(
    requests: &Requests<'_, 'a>,
    session: usize,
    cancel: &Message<'a>,
    findings: &mut Findings,
) -> Option<[u64; 3]> {
    let Some(id) = cancel.cancels() else {
        findings.fail("the cancellation names no request", [cancel.seq()]);
        return None;
    };
    let own = requests.meant_by(session, cancel, id);
    // Over HTTP requests travel in parallel, so one that is cancelled at once may never arrive. It then leaves a gap in
    // the numeric ids of the client's requests.
    let is_gap = |highest: i64| id.as_i64().is_some_and(|id| (0..=highest + 1).contains(&id));
    if own.is_empty() && requests.over_http && requests.highest[session].is_some_and(is_gap) {
        return None;
    }
    if own.is_empty() {
        let server = requests.sessions[session].server;
        findings.fail(format!("no request with the id {} was sent to `{server}`", quoted(id)), [cancel.seq()]);
        return None;
    }
    // The answer may have been on its way when the client cancelled. Other checks report a client that reads no batches.
    let may_be_unread = |answer: Message<'_>| {
        answer.at_us() + RACE_US >= cancel.at_us() || answer.frame.json().is_some_and(Value::is_array)
    };
    let open = own.iter().any(|(_, answer)| answer.is_none_or(may_be_unread));
    if !open {
        let frames = own.iter().flat_map(|(request, answer)| [Some(request.seq()), answer.map(|answer| answer.seq())]);
        let waited = own.iter().filter_map(|(_, answer)| Some(cancel.at_us() - answer.as_ref()?.at_us())).min();
        let ms = waited.unwrap_or_default() / 1000;
        let frames: Vec<u64> = frames.flatten().chain([cancel.seq()]).collect();
        findings.fail(format!("the request {} had been answered {ms} ms before it was cancelled", quoted(id)), frames);
    }
    let [(request, Some(answer))] = &own[..] else { return None };
    let without_reason = open && cancel.at_us() <= request.at_us() + NO_REASON_US;
    without_reason.then(|| [request.seq(), answer.seq(), cancel.seq()])
}

fn cancelled_requests_not_answered(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for session in transcript.sessions() {
        // The latest request of the server with each id, and its cancellation.
        let mut requests: HashMap<IdKey<'_>, (Message<'_>, Option<Message<'_>>)> = HashMap::new();
        let mut crossed = Vec::new();
        for message in session.messages() {
            let Some(id) = message.cancels().map(IdKey::new).or_else(|| message.id_key()) else { continue };
            if !message.by_client() && message.is_request() {
                requests.insert(id, (message, None));
            } else if !message.by_client() && message.cancels().is_some() {
                let Some((_, cancel)) = requests.get_mut(&id) else { continue };
                cancel.get_or_insert(message);
                findings.saw(message.seq());
            } else if message.is_response()
                && let Some((request, Some(cancel))) = requests.get(&id)
                && message.by_client()
            {
                let frames = [request.seq(), cancel.seq(), message.seq()];
                if message.at_us() <= cancel.at_us() + RACE_US {
                    crossed.push(frames);
                    continue;
                }
                let ms = (message.at_us() - cancel.at_us()) / 1000;
                let method = request.method().unwrap_or_default();
                findings.fail(format!("`{method}` was answered {ms} ms after its cancellation"), frames);
            }
        }
        fail_repeated(&crossed, "answered right after their cancellations", &mut findings);
    }
    findings.or_not_applicable("cancellations", "no server cancelled a request of its own")
}

fn late_responses_do_no_harm(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let by_process = transcript.evidence.transport == Transport::Stdio;
    for session in transcript.sessions() {
        let late = late_messages(session, by_process);
        late.iter().for_each(|message| findings.saw(message.seq()));
        for call in session.client_messages().filter(|message| !late.is_empty() && message.tool().is_some()) {
            let Some(closed) = abandoned(session, &call, by_process) else { continue };
            let before = &late[..late.partition_point(|message| message.seq() < closed.seq)];
            let cause = before.last().filter(|message| message.seq() > call.seq());
            if let Some(cause) = cause.filter(|cause| closed.at_us <= cause.at_us() + HARM_US) {
                let kind =
                    cause.method().map_or_else(|| "a late response".to_owned(), |method| format!("a late `{method}`"));
                let fault = format!("the call of `{}` was abandoned after {kind}", call.tool().unwrap_or_default());
                findings.fail(fault, [cause.seq(), call.seq(), closed.seq]);
                break;
            }
        }
    }
    if transcript.evidence.timed_out || transcript.was_killed_on_purpose() {
        return CheckOutcome::not_applicable("the client was killed");
    }
    findings.or_not_applicable("late messages", "no response and no notification arrived after its request had ended")
}

/// The responses to requests that the client had cancelled. From a process, where one connection has all messages, also
/// notifications that came too late: progress of these requests, and cancellations of requests that the client had answered.
fn late_messages<'a>(session: &Session<'a>, by_process: bool) -> Vec<Message<'a>> {
    let token_of = |message: &Message<'a>| message.param("_meta")?.get("progressToken").map(IdKey::new);
    let mut tokens: HashMap<IdKey<'a>, IdKey<'a>> = HashMap::new();
    let (mut cancelled, mut answered) = (HashSet::new(), HashSet::new());
    let mut late = Vec::new();
    for message in session.messages() {
        if message.by_client() {
            if let (true, Some(id), Some(token)) = (message.is_request(), message.id_key(), token_of(&message)) {
                tokens.insert(id, token);
            } else if message.is_response() {
                answered.extend(message.id_key());
            } else if let Some(id) = message.cancels() {
                cancelled.extend(tokens.get(&IdKey::new(id)).copied());
            }
            continue;
        }
        let is_late = is_late(session, &message)
            || by_process && message.cancels().is_some_and(|id| answered.contains(&IdKey::new(id)))
            || by_process
                && message.is("notifications/progress")
                && message.param("progressToken").is_some_and(|token| cancelled.contains(&IdKey::new(token)));
        if is_late {
            late.push(message);
        }
    }
    late
}

/// Whether a message is a response to a request that the client had cancelled, on a connection that was still open.
fn is_late(session: &Session<'_>, response: &Message<'_>) -> bool {
    let Some(id) = response.id_key().filter(|_| response.is_sound_response()) else { return false };
    let request = session.requests_with(id).rfind(|request| request.seq() < response.seq());
    let cancelled = request.and_then(|request| session.cancel_after(id, request.seq()));
    let is_closed = closed_by_client(session, response.frame.connection).is_some_and(|seq| seq < response.seq());
    cancelled.is_some_and(|cancel| cancel.seq() < response.seq()) && !is_closed
}

fn closed_by_client(session: &Session<'_>, connection: u64) -> Option<u64> {
    let closes = session.closes_of(connection).iter();
    closes.filter(|frame| frame.from_client()).map(|frame| frame.seq).next()
}

/// The frame with which the client abandoned an open call, without cancelling it.
fn abandoned<'a>(session: &Session<'a>, call: &Message<'a>, by_process: bool) -> Option<&'a Frame> {
    let closed = if by_process {
        session.end_after(call.seq())
    } else {
        session.closes_of(call.frame.connection).iter().copied().find(|frame| frame.seq > call.seq())
    };
    let by_client = [ConnectionEvent::ClosedByPeer, ConnectionEvent::Sigterm].map(Body::Event);
    let closed = closed.filter(|frame| by_client.contains(&frame.body))?;
    let is_open = session.answer(call).is_none_or(|answer| answer.seq() > closed.seq);
    let is_cancelled = session.cancel_after(call.id_key()?, call.seq()).is_some();
    (is_open && !is_cancelled).then_some(closed)
}

#[cfg(test)]
mod tests;
