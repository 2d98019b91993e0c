//! Subscriptions over stdio, which end with the process of the server (2026-07-28, basic/patterns/subscriptions).

use std::collections::HashMap;

use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope},
    transcript::{Body, ConnectionEvent, Session, Transcript},
};

pub(super) const CHECKS: &[Check] = &[Check {
    id: "subscribes-again",
    requirement: "client/subscribes-again",
    scope: Scope::Always,
    expected: "a client whose server exited during a subscription subscribes again at the new process",
    rule: Rule::Case(subscribes_again),
}];

fn subscribes_again(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    // The frame of the subscription that ended with a process, by server.
    let mut lost: HashMap<&str, u64> = HashMap::new();
    for session in transcript.sessions() {
        let listen = session.client_messages().find(|message| message.is("subscriptions/listen"));
        // Another process may only probe the server.
        let call = session.client_messages().find(|message| message.tool().is_some());
        match (lost.get(session.server).copied(), listen, call) {
            (Some(_), Some(listen), _) => {
                findings.saw(listen.seq());
                lost.remove(session.server);
            }
            (Some(first), None, Some(call)) => {
                findings.saw(call.seq());
                findings.fail("a tool was called, and the subscription was not opened again", [first, call.seq()]);
            }
            _ => {}
        }
        let accepted = || session.messages().any(|message| message.is("notifications/subscriptions/acknowledged"));
        let cancelled = |id| session.cancel_after(id, 0).is_some();
        let open = listen.filter(|listen| accepted() && !listen.id_key().is_some_and(cancelled));
        lost.extend(open.filter(|_| ended_by_server(session)).map(|listen| (session.server, listen.seq())));
    }
    findings.or_not_applicable("subscriptions", "no server exited during a subscription")
}

/// Whether the server ended the session, and not the client.
fn ended_by_server(session: &Session<'_>) -> bool {
    let by_server = [ConnectionEvent::ClosedByServer, ConnectionEvent::Exit].map(Body::Event);
    session.end_after(0).is_some_and(|frame| by_server.contains(&frame.body))
}

#[cfg(test)]
mod tests;
