//! Subscriptions over stdio, which end with the process of the server (2026-07-28, basic/patterns/subscriptions).

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope},
    transcript::{Body, ConnectionEvent, Message, Session, Transcript},
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
    // The last subscription that ended with a process, and what all of them were for, by server.
    let mut lost: HashMap<&str, (u64, BTreeSet<&str>)> = HashMap::new();
    for session in transcript.sessions() {
        let listens: Vec<_> = session.client_messages().filter(|message| message.is("subscriptions/listen")).collect();
        // Another process may only probe the server.
        let call = session.client_messages().filter(|message| message.tool().is_some()).last();
        let wanted: BTreeSet<&str> = listens.iter().flat_map(wanted_by).collect();
        if let (Some((first, before)), true) = (lost.get(session.server), call.is_some() || !listens.is_empty()) {
            let seq = call.or(listens.first().copied()).map_or(*first, |message| message.seq());
            findings.saw(seq);
            let missing = before.difference(&wanted).next();
            if listens.is_empty() {
                findings.fail("a tool was called, and the subscription was not opened again", [*first, seq]);
            } else if let Some(name) = missing.filter(|_| call.is_some()) {
                findings.fail(format!("the subscription of `{name}` was not opened again"), [*first, seq]);
            } else {
                lost.remove(session.server);
            }
        }
        let acknowledged = session.messages().any(|message| message.is("notifications/subscriptions/acknowledged"));
        let is_cancelled = |id| session.cancel_after(id, 0).is_some();
        let kept = listens.iter().filter(|listen| acknowledged && !listen.id_key().is_some_and(is_cancelled));
        let open: Vec<_> = kept.collect();
        if let Some(last) = open.last().filter(|_| ended_by_server(session)) {
            lost.insert(session.server, (last.seq(), open.iter().copied().flat_map(wanted_by).collect()));
        }
    }
    findings.or_not_applicable("subscriptions", "no server exited during a subscription")
}

/// The URIs of the resources, and the names of the other notifications.
fn wanted_by<'a>(listen: &Message<'a>) -> impl Iterator<Item = &'a str> {
    let wanted = listen.param("notifications").and_then(Value::as_object);
    let resources = wanted.and_then(|wanted| wanted.get("resourceSubscriptions")?.as_array());
    let others = wanted.into_iter().flatten().filter(|(_, value)| **value == Value::Bool(true));
    resources.into_iter().flatten().filter_map(Value::as_str).chain(others.map(|(name, _)| name.as_str()))
}

/// Whether the server ended the session, and not the client.
fn ended_by_server(session: &Session<'_>) -> bool {
    let by_server = [ConnectionEvent::ClosedByServer, ConnectionEvent::Exit].map(Body::Event);
    session.end_after(0).is_some_and(|frame| by_server.contains(&frame.body))
}

#[cfg(test)]
mod tests;
