//! Calls that a client gives up (2025-11-25, basic/lifecycle#timeouts; 2026-07-28,
//! basic/patterns/cancellation#timeouts).

use std::collections::HashMap;

use super::RACE_US;
use crate::{
    evidence::{Outcome, StepOutcome},
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope},
        transcript::{Body, ConnectionEvent, IdKey, Message, Session, Transcript, first_frame_after},
    },
    model::Transport,
};

/// How long after the end of the step that gave a call up its cancellation may reach the server, in microseconds.
const CANCEL_US: u64 = 1_000_000;

/// The requests that scenarios let time out.
const TIMED: [&str; 4] = ["tools/call", "tools/list", "resources/read", "prompts/get"];

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "timeout-sends-cancel",
        requirement: "client/timeout-sends-cancel",
        scope: Scope::Named,
        expected: "a call that is given up is cancelled: by a notification, or over HTTP since 2026-07-28 by closing its stream",
        rule: Rule::Case(timeout_sends_cancel),
    },
    // The scenarios that name it have a user who cancels. After a timeout, cancelling itself is a SHOULD.
    Check {
        id: "cancels-by-notification",
        requirement: "client/cancels-by-notification",
        scope: Scope::Named,
        expected: "a call that the user cancels is cancelled by `notifications/cancelled` with its id",
        rule: Rule::Case(cancels_by_notification),
    },
    // For clients that report no times.
    Check {
        id: "cancelled-before-later-responses",
        requirement: "client/timeout-sends-cancel",
        scope: Scope::Named,
        expected: "a call that is given up is cancelled before the next call has a response",
        rule: Rule::Case(cancelled_before_later_responses),
    },
];

fn timeout_sends_cancel(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let steps = timed_out_steps(transcript);
    for session in transcript.sessions() {
        let timed = |message: &Message<'_>| message.method().is_some_and(|method| TIMED.contains(&method));
        for call in session.client_messages().filter(|message| timed(message) && message.is_request()) {
            let step = given_up_by(&steps, session, &call);
            let named = || match call.tool() {
                Some(tool) => format!("the call of `{tool}`"),
                None => format!("`{}`", call.method().unwrap_or_default()),
            };
            match fate(transcript, session, &call, step) {
                Fate::Answered | Fate::LostByServer => {}
                Fate::Open if transcript.was_killed_on_purpose() => {}
                Fate::Open => findings.check(call.seq(), Err(format!("{} was given up without cancellation", named()))),
                Fate::Cancelled { seq, at_us } => {
                    findings.saw(seq);
                    let late = step.map(|step| at_us.saturating_sub(step.ended_us)).filter(|late| *late > CANCEL_US);
                    if let Some(late) = late {
                        let message = format!("{} was cancelled {} ms after it was given up", named(), late / 1000);
                        findings.fail(message, [call.seq(), seq]);
                    }
                }
            }
        }
    }
    findings.or_blocked("calls that were given up", "every call was answered, so there was nothing to give up")
}

/// Only a report shows that the call was cancelled: a client need not have the feature, and then leaves the call open.
fn cancels_by_notification(transcript: &Transcript<'_>) -> CheckOutcome {
    let ended = |step: &StepOutcome| matches!(step.outcome, Outcome::Error(_));
    if transcript.evidence.steps.iter().any(ended) {
        timeout_sends_cancel(transcript)
    } else {
        CheckOutcome::not_applicable("the client does not report that the call was cancelled")
    }
}

/// In a scenario whose calls are sequential, the next call shows that the client has given up the one before it.
fn cancelled_before_later_responses(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for session in transcript.sessions() {
        let calls: Vec<Message<'_>> =
            session.client_messages().filter(|message| message.is("tools/call") && message.is_request()).collect();
        for (call, next) in calls.iter().zip(calls.iter().skip(1)) {
            let (Fate::Cancelled { seq, at_us }, Some(answer)) =
                (fate(transcript, session, call, None), session.answer(next))
            else {
                continue;
            };
            findings.saw(seq);
            if seq > answer.seq() && at_us > next.at_us() + CANCEL_US {
                let message =
                    format!("the call of `{}` was cancelled after the next call", call.tool().unwrap_or_default());
                findings.fail(message, [call.seq(), next.seq(), seq]);
            }
        }
    }
    findings.or_not_applicable("calls", "no call was cancelled before another one was sent")
}

/// The end of a call.
enum Fate {
    /// The server answered, before the client gave up as far as can be seen.
    Answered,
    /// The server exited, closed the connection, or rejected the request.
    LostByServer,
    /// The client cancelled it.
    Cancelled { seq: u64, at_us: u64 },
    /// None of these.
    Open,
}

fn fate<'a>(
    transcript: &Transcript<'a>,
    session: &Session<'a>,
    call: &Message<'a>,
    step: Option<&StepOutcome>,
) -> Fate {
    let answer = session.answer(call);
    let until = answer.map_or(u64::MAX, |answer| answer.seq());
    let lost = lost_by_server(transcript, session, call).unwrap_or(u64::MAX);
    if let Some((seq, at_us)) = cancellation(session, call).filter(|(seq, _)| *seq < until && *seq < lost) {
        return Fate::Cancelled { seq, at_us };
    }
    if let Some(answer) = answer {
        let given_up = step.is_some_and(|step| answer.at_us() > step.ended_us + RACE_US);
        return if given_up { Fate::Open } else { Fate::Answered };
    }
    if lost < u64::MAX { Fate::LostByServer } else { Fate::Open }
}

/// The frame with which the client cancels a call.
fn cancellation<'a>(session: &Session<'a>, call: &Message<'a>) -> Option<(u64, u64)> {
    if call.frame.http.is_some() && call.is_modern() {
        let mut closes = session.closes_of(call.frame.connection).iter();
        let closed = closes.find(|frame| frame.body == Body::Event(ConnectionEvent::ClosedByPeer))?;
        return Some((closed.seq, closed.at_us));
    }
    let cancel = session.cancel_after(call.id_key()?, call.seq())?;
    Some((cancel.seq(), cancel.at_us()))
}

/// The frame from which on the call could not be answered, for a reason on the side of the server.
fn lost_by_server(transcript: &Transcript<'_>, session: &Session<'_>, call: &Message<'_>) -> Option<u64> {
    // A response that was too long to be recorded as JSON counts as one.
    let truncated = session.truncated_after(call.seq()).map(|frame| frame.seq);
    let lost = if call.frame.http.is_none() {
        let by_server = [ConnectionEvent::ClosedByServer, ConnectionEvent::Exit].map(Body::Event);
        session.end_after(call.seq()).filter(|frame| by_server.contains(&frame.body)).map(|frame| frame.seq)
    } else {
        let status = transcript.connection_of(call.frame).and_then(|connection| connection.status());
        let stream = (transcript.evidence.transport == Transport::HttpSse).then(|| session.frames[0].connection);
        let closes = [Some(call.frame.connection), stream].into_iter().flatten();
        let closes = closes.flat_map(|connection| session.closes_of(connection));
        let closed = Body::Event(ConnectionEvent::ClosedByServer);
        let closed = closes.filter(|frame| frame.seq > call.seq() && frame.body == closed).map(|frame| frame.seq);
        let exit = first_frame_after(transcript.exits(session.server), call.seq()).map(|frame| frame.seq);
        if status.is_some_and(|status| status >= 300) { Some(call.seq()) } else { closed.chain(exit).min() }
    };
    truncated.into_iter().chain(lost).min()
}

/// The steps that timed out, each with whether exactly one call was open when it ended.
fn timed_out_steps<'t>(transcript: &'t Transcript<'_>) -> Vec<(&'t StepOutcome, bool)> {
    let mut answers: HashMap<(&str, IdKey<'_>), Vec<Message<'_>>> = HashMap::new();
    for answer in transcript.server_messages().filter(Message::is_sound_response) {
        if let Some(id) = answer.id_key() {
            answers.entry((&answer.frame.server, id)).or_default().push(answer);
        }
    }
    let first_answer = |call: &Message<'_>| {
        let answers = answers.get(&(call.frame.server.as_str(), call.id_key()?))?;
        answers.get(answers.partition_point(|answer| answer.seq() <= call.seq())).map(|answer| answer.at_us())
    };
    let calls = || transcript.client_messages().filter(|message| message.is("tools/call"));
    let timed_out = |step: &&StepOutcome| matches!(&step.outcome, Outcome::Error(error) if error.kind == "timed-out");
    let steps = transcript.evidence.steps.iter().filter(timed_out);
    let is_open = |call: &Message<'_>, step: &StepOutcome| {
        call.at_us() <= step.ended_us && first_answer(call).is_none_or(|at_us| at_us > step.ended_us)
    };
    steps.map(|step| (step, calls().filter(|call| is_open(call, step)).count() == 1)).collect()
}

/// The step that gave this call up, if exactly one call can be meant.
fn given_up_by<'t>(
    steps: &[(&'t StepOutcome, bool)],
    session: &Session<'_>,
    call: &Message<'_>,
) -> Option<&'t StepOutcome> {
    let covers = |step: &StepOutcome| {
        let here = step.server.as_deref().is_none_or(|server| server == session.server);
        here && (step.began_us..=step.ended_us).contains(&call.at_us())
    };
    steps.iter().find(|(step, _)| covers(step)).filter(|(_, sole)| *sole).map(|(step, _)| *step)
}

#[cfg(test)]
mod tests;
