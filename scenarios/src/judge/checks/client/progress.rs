//! Progress tokens (basic/utilities/progress; 2026-07-28: basic/patterns/progress).

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope, quoted},
    transcript::{IdKey, Message, Session, Transcript},
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "progress-tokens-unique",
        requirement: "client/progress-tokens-unique",
        scope: Scope::Always,
        expected: "requests that are open at the same time have different progress tokens",
        rule: Rule::Case(tokens_unique),
    },
    Check {
        id: "client-progress-is-wanted",
        requirement: "client/progress-is-wanted",
        scope: Scope::Always,
        expected: "progress of the client names the token of a request of the server",
        rule: Rule::Case(progress_is_wanted),
    },
    Check {
        id: "client-progress-increases",
        requirement: "client/progress-increases",
        scope: Scope::Always,
        expected: "`progress` increases with each notification of the client",
        rule: Rule::Case(progress_increases),
    },
];

fn tokens_unique(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for session in transcript.sessions() {
        judge_tokens(transcript, session, &mut findings);
    }
    findings.or_not_applicable("progress tokens", "the client sent no progress token")
}

fn judge_tokens<'a>(transcript: &Transcript<'a>, session: &Session<'a>, findings: &mut Findings) {
    // Over HTTP requests with one id may be open on several exchanges, so the exchange is part of the key.
    let place = |message: &Message<'a>| message.frame.http.as_ref().map(|_| message.frame.connection);
    let mut open: HashMap<IdKey<'a>, Message<'a>> = HashMap::new();
    let mut tokens: HashMap<(Option<u64>, IdKey<'a>), IdKey<'a>> = HashMap::new();
    let mut by_id: HashMap<IdKey<'a>, (Option<u64>, IdKey<'a>)> = HashMap::new();
    for message in session.messages() {
        let closed = if message.by_client() { message.cancels().map(IdKey::new) } else { None };
        let closed = closed.or_else(|| message.id_key().filter(|_| !message.by_client() && message.is_response()));
        if let Some(id) = closed {
            let request = tokens.remove(&(place(&message), id));
            let request = request.or_else(|| tokens.remove(by_id.get(&id)?));
            request.and_then(|token| open.remove(&token));
            continue;
        }
        let token = message.json.pointer("/params/_meta/progressToken").filter(|_| message.by_client());
        let (Some(token), Some(id)) = (token.map(IdKey::new), message.id_key()) else { continue };
        findings.saw(message.seq());
        // A message that HTTP lost may be sent again.
        let first = open.get(&token).filter(|first| first.json != message.json);
        if let Some(first) = first.filter(|first| !is_over(transcript, session, first, message.seq())) {
            let shown = message.json.pointer("/params/_meta/progressToken").map(quoted).unwrap_or_default();
            findings.fail(format!("the token {shown} belongs to an open request"), [first.seq(), message.seq()]);
        }
        open.insert(token, message);
        tokens.insert((place(&message), id), token);
        by_id.insert(id, (place(&message), id));
    }
}

/// Whether the HTTP exchange of a request was rejected or closed before a frame.
fn is_over(transcript: &Transcript<'_>, session: &Session<'_>, request: &Message<'_>, before: u64) -> bool {
    let rejected = || transcript.connection_of(request.frame).and_then(|one| one.status()).is_some_and(|it| it >= 400);
    let closed = || session.closes_of(request.frame.connection).iter().any(|frame| frame.seq < before);
    request.frame.http.is_some() && (closed() || rejected())
}

fn progress_is_wanted(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for session in transcript.sessions() {
        let mut given: HashSet<IdKey<'_>> = HashSet::new();
        for message in session.messages() {
            if !message.by_client() {
                given.extend(message.json.pointer("/params/_meta/progressToken").map(IdKey::new));
            } else if message.is("notifications/progress") {
                let token = message.param("progressToken");
                let known = token.is_some_and(|token| given.contains(&IdKey::new(token)));
                let fault = || format!("no request has the token {}", token.map(quoted).unwrap_or_default());
                findings.check(message.seq(), if known { Ok(()) } else { Err(fault()) });
            }
        }
    }
    findings.or_not_applicable("notifications", "the client sent no progress")
}

/// The progress of one request. Over HTTP two notifications have no order until the first one is received.
fn progress_increases(transcript: &Transcript<'_>) -> CheckOutcome {
    let is_received = |earlier: &Message<'_>, later: &Message<'_>| {
        let replies = transcript.connection_of(earlier.frame).into_iter().flat_map(|connection| &connection.frames);
        earlier.frame.connection == later.frame.connection
            || replies.into_iter().any(|frame| !frame.from_client() && frame.seq < later.seq())
    };
    let mut findings = Findings::default();
    for session in transcript.sessions() {
        let mut latest: HashMap<IdKey<'_>, (Message<'_>, f64)> = HashMap::new();
        for message in session.messages() {
            if !message.by_client() {
                // Another request has this token now.
                message.json.pointer("/params/_meta/progressToken").map(|token| latest.remove(&IdKey::new(token)));
                continue;
            }
            let token = message.param("progressToken").filter(|_| message.is("notifications/progress"));
            let progress = message.param("progress").and_then(Value::as_f64);
            let (Some(token), Some(progress)) = (token.map(IdKey::new), progress) else { continue };
            findings.saw(message.seq());
            if let Some((earlier, before)) = latest.insert(token, (message, progress))
                && progress <= before
                && is_received(&earlier, &message)
            {
                findings.fail(format!("progress {progress} follows {before}"), [earlier.seq(), message.seq()]);
            }
        }
    }
    findings.or_not_applicable("notifications", "the client sent no progress")
}

#[cfg(test)]
mod tests;
