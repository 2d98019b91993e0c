//! What may be cancelled (basic/utilities/cancellation; 2026-07-28: basic/patterns/cancellation).

use serde_json::Value;

use super::{
    RACE_US,
    findings::{Findings, shown},
    message::Message,
    session::{Session, sessions},
};
use crate::{
    evidence::Evidence,
    judge::check::{Check, Ruling, Scope},
    model::{Revision, Subject},
};

pub(super) const ALL: &[Check] = &[
    Check {
        id: "initialize-not-cancelled",
        requirement: "client/initialize-not-cancelled",
        subject: Subject::Client,
        scope: Scope::Always,
        expected: "the client does not cancel `initialize`",
        rule: initialize_not_cancelled,
    },
    Check {
        id: "cancels-only-own-open-requests",
        requirement: "client/cancels-only-own-open-requests",
        subject: Subject::Client,
        scope: Scope::Always,
        expected: "the client cancels only requests of its own that may still be in progress",
        rule: cancels_only_own_open_requests,
    },
];

const NO_CANCEL: &str = "the client cancelled nothing";

fn initialize_not_cancelled(evidence: &Evidence) -> Ruling {
    let mut findings = Findings::default();
    for session in sessions(evidence) {
        for cancel in session.said() {
            let Some(id) = cancel.cancels() else { continue };
            findings.saw(cancel.seq());
            // With the probe of a client of both eras under the same id it cannot be told which one is meant.
            let meant: Vec<_> = requests_before(&session, &cancel).filter(|request| request.id() == Some(id)).collect();
            if !meant.is_empty() && meant.iter().all(|request| request.is("initialize")) {
                findings.breach("`initialize` was cancelled", [meant[0].seq(), cancel.seq()]);
            }
        }
    }
    findings.or_not_applicable("cancellations", NO_CANCEL)
}

fn cancels_only_own_open_requests(evidence: &Evidence) -> Ruling {
    let mut findings = Findings::default();
    let sessions = sessions(evidence);
    for session in &sessions {
        for cancel in session.said().filter(|message| message.is("notifications/cancelled")) {
            // Since 2025-11-25 the id may be left out where no plain request is meant (its schema).
            if cancel.cancels().is_none() && evidence.revision == Revision::V2025_11_25 {
                continue;
            }
            findings.saw(cancel.seq());
            judge_cancel(&sessions, session, &cancel, &mut findings);
        }
    }
    findings.or_not_applicable("cancellations", NO_CANCEL)
}

fn judge_cancel(sessions: &[Session<'_>], session: &Session<'_>, cancel: &Message<'_>, findings: &mut Findings) {
    let Some(id) = cancel.cancels() else {
        return findings.breach("the cancellation names no request", [cancel.seq()]);
    };
    let over_http = cancel.frame.http.is_some();
    // Over HTTP the request may have gone out in a session that is lost by now, and a cancellation on a connection of
    // its own may overtake it.
    let places =
        sessions.iter().filter(|place| std::ptr::eq(*place, session) || over_http && place.server == session.server);
    let mut own = Vec::new();
    for place in places {
        let asked = place.said().filter(|request| request.is_request() && request.id() == Some(id));
        let before = |request: &Message<'_>| {
            request.seq() < cancel.seq() || over_http && request.at_us() <= cancel.at_us() + RACE_US
        };
        own.extend(asked.filter(before).map(|request| (request, place.answer(&request))));
    }
    // Over HTTP requests travel side by side: one that is given up at once may never arrive. A gap in the numbers of the
    // client's requests is then where it was.
    if own.is_empty() && over_http && fills_a_gap(session, id) {
        return;
    }
    if own.is_empty() {
        let server = &session.server;
        return findings.breach(format!("no request with the id {} was sent to `{server}`", shown(id)), [cancel.seq()]);
    }
    // Its answer may have been on its way when the client gave up.
    let open = own.iter().any(|(_, answer)| answer.is_none_or(|answer| answer.at_us() + RACE_US >= cancel.at_us()));
    if !open {
        let frames = own.iter().flat_map(|(request, answer)| [Some(request.seq()), answer.map(|answer| answer.seq())]);
        let waited = own.iter().filter_map(|(_, answer)| Some(cancel.at_us() - answer.as_ref()?.at_us())).min();
        let ms = waited.unwrap_or_default() / 1000;
        let frames: Vec<u64> = frames.flatten().chain([cancel.seq()]).collect();
        let words = format!("the request {} had been answered {ms} ms before it was cancelled", shown(id));
        findings.breach(words, frames);
    }
}

fn fills_a_gap(session: &Session<'_>, id: &Value) -> bool {
    let numbers = session.said().filter(Message::is_request).filter_map(|request| request.id()?.as_i64());
    let highest = numbers.max();
    highest.zip(id.as_i64()).is_some_and(|(highest, id)| (0..=highest + 1).contains(&id))
}

fn requests_before<'a>(session: &Session<'a>, cancel: &Message<'a>) -> impl Iterator<Item = Message<'a>> {
    let until = cancel.seq();
    session.said().filter(move |request| request.is_request() && request.seq() < until)
}

#[cfg(test)]
mod tests;
