//! What a client does about a call that it gives up (2025-11-25, basic/lifecycle#timeouts; 2026-07-28,
//! basic/patterns/cancellation#timeouts).

use mock_servers::{Body, Mark};

use super::{
    RACE_US,
    findings::Findings,
    message::Message,
    session::{Session, exchanges, sessions},
};
use crate::{
    evidence::{Evidence, Outcome, StepOutcome},
    judge::check::{Check, Ruling, Scope},
    model::{Subject, Transport},
};

/// How long after the end of the step that gave up the sign may reach the server, in microseconds.
const SIGN_US: u64 = 1_000_000;

pub(super) const ALL: &[Check] = &[Check {
    id: "timeout-sends-cancel",
    requirement: "client/timeout-sends-cancel",
    subject: Subject::Client,
    scope: Scope::Named,
    expected: "a call that is given up is cancelled: by a notification, or over HTTP since 2026-07-28 by closing its stream",
    rule: timeout_sends_cancel,
}];

fn timeout_sends_cancel(evidence: &Evidence) -> Ruling {
    let mut findings = Findings::default();
    let killed = evidence.process.as_ref().is_some_and(|process| process.killed_on_purpose);
    for session in sessions(evidence) {
        for call in session.said().filter(|message| message.is("tools/call") && message.is_request()) {
            let step = given_up_by(evidence, &session, &call);
            match fate(evidence, &session, &call, step) {
                Fate::Answered | Fate::LostByServer => {}
                Fate::Open if killed => {}
                Fate::Open => {
                    findings.saw(call.seq());
                    findings
                        .breach(format!("{} was given up without a sign to the server", named(&call)), [call.seq()]);
                }
                Fate::Cancelled { seq, at_us } => {
                    findings.saw(seq);
                    let late = step.map(|step| at_us.saturating_sub(step.ended_us)).filter(|late| *late > SIGN_US);
                    if let Some(late) = late {
                        let words =
                            format!("{} was given up {} ms before the server was told", named(&call), late / 1000);
                        findings.breach(words, [call.seq(), seq]);
                    }
                }
            }
        }
    }
    findings.or_blocked("calls that were given up", "every call was answered, so there was nothing to give up")
}

fn named(call: &Message<'_>) -> String {
    format!("the call of `{}`", call.tool().unwrap_or_default())
}

/// What became of a call.
enum Fate {
    /// The server answered, before the client gave up as far as can be seen.
    Answered,
    /// The server ended the matter otherwise: it died, hung up, or refused.
    LostByServer,
    /// The client told the server that it no longer waits.
    Cancelled { seq: u64, at_us: u64 },
    /// None of these.
    Open,
}

fn fate<'a>(evidence: &'a Evidence, session: &Session<'a>, call: &Message<'a>, step: Option<&StepOutcome>) -> Fate {
    let answer = session.answer(call);
    let until = answer.map_or(u64::MAX, |answer| answer.seq());
    let lost = lost_by_server(evidence, session, call).unwrap_or(u64::MAX);
    if let Some((seq, at_us)) = sign(session, call).filter(|(seq, _)| *seq < until && *seq < lost) {
        return Fate::Cancelled { seq, at_us };
    }
    if let Some(answer) = answer {
        let gave_up = step.is_some_and(|step| answer.at_us() > step.ended_us + RACE_US);
        return if gave_up { Fate::Open } else { Fate::Answered };
    }
    if lost < u64::MAX { Fate::LostByServer } else { Fate::Open }
}

/// The frame by which the client gives a call up.
fn sign(session: &Session<'_>, call: &Message<'_>) -> Option<(u64, u64)> {
    let stream_is_sign = call.frame.http.is_some() && call.is_modern();
    if stream_is_sign {
        let closed = session.marks(Mark::ClosedByPeer).find(|mark| mark.connection == call.frame.connection)?;
        return Some((closed.seq, closed.at_us));
    }
    let mut cancels = session.said().filter(|message| message.seq() > call.seq());
    cancels
        .find(|message| message.cancels().is_some_and(|id| Some(id) == call.id()))
        .map(|sign| (sign.seq(), sign.at_us()))
}

/// The frame from which on the call had no hope, through no doing of the client's.
fn lost_by_server(evidence: &Evidence, session: &Session<'_>, call: &Message<'_>) -> Option<u64> {
    let after = |seq: u64| seq > call.seq();
    // An answer that was too long to be kept as JSON counts as one.
    let too_long = session.frames.iter().find(|frame| after(frame.seq) && !frame.from_client() && is_cut(&frame.body));
    let ended = if call.frame.http.is_none() {
        let ends = [Mark::ClosedByPeer, Mark::ClosedByServer, Mark::Sigterm, Mark::Exit];
        let is_end = |body: &Body| matches!(body, Body::Mark(mark) if ends.contains(mark));
        let first = session.frames.iter().find(|frame| after(frame.seq) && is_end(&frame.body));
        first.filter(|frame| matches!(frame.body, Body::Mark(Mark::ClosedByServer | Mark::Exit))).map(|frame| frame.seq)
    } else {
        let refused = exchanges(evidence)
            .into_iter()
            .find(|exchange| {
                exchange.server == session.server && exchange.frames[0].connection == call.frame.connection
            })
            .and_then(|exchange| exchange.status())
            .is_some_and(|status| status >= 300);
        let hung_up = session.marks(Mark::ClosedByServer).find(|mark| {
            let stream = evidence.transport == Transport::Sse && mark.connection == session.frames[0].connection;
            after(mark.seq) && (mark.connection == call.frame.connection || stream)
        });
        let gone = evidence
            .frames
            .iter()
            .find(|frame| frame.server == session.server && after(frame.seq) && frame.body == Body::Mark(Mark::Exit));
        let ended = hung_up.into_iter().chain(gone).map(|frame| frame.seq).min();
        if refused { Some(call.seq()) } else { ended }
    };
    too_long.map(|frame| frame.seq).into_iter().chain(ended).min()
}

fn is_cut(body: &Body) -> bool {
    matches!(body, Body::Text(text) if super::was_cut(text))
}

/// The step that gave this call up, if just one call can be meant: it timed out while no other was open.
fn given_up_by<'a>(evidence: &'a Evidence, session: &Session<'_>, call: &Message<'_>) -> Option<&'a StepOutcome> {
    let covers = |step: &&StepOutcome| {
        let timed_out = matches!(&step.outcome, Outcome::Error(error) if error.kind == "timed-out");
        let here = step.server.as_deref().is_none_or(|server| server == session.server);
        timed_out && here && (step.began_us..=step.ended_us).contains(&call.at_us())
    };
    let step = evidence.steps.iter().find(covers)?;
    let calls = evidence
        .frames
        .iter()
        .flat_map(Message::all_of)
        .filter(|message| message.by_client() && message.is("tools/call") && message.at_us() <= step.ended_us);
    let open = calls.filter(|other| {
        let answered = evidence.frames.iter().flat_map(Message::all_of).any(|answer| {
            !answer.by_client()
                && answer.frame.server == other.frame.server
                && answer.is_sound_response()
                && answer.id() == other.id()
                && (other.seq() < answer.seq() && answer.at_us() <= step.ended_us)
        });
        !answered
    });
    (open.count() == 1).then_some(step)
}

#[cfg(test)]
mod tests;
