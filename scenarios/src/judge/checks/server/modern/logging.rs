//! Log messages, which a client requests with the metadata of each request.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{META_LOG_LEVEL, by_exchange, is_modern, meta, rejected_with, subscription_of};
use crate::{
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope, brief_or_missing},
        transcript::{IdKey, Message, RequestResponse, Transcript},
    },
    log_level::{LEVELS, severity},
};

pub(in super::super) const CHECKS: &[Check] = &[
    Check {
        id: "log-messages-only-on-request",
        requirement: "logging/only-on-request",
        scope: Scope::Always,
        expected: "log messages are sent only while a request with a log level is open, and on its stream",
        rule: Rule::Case(only_on_request),
    },
    Check {
        id: "log-messages-have-the-requested-level",
        requirement: "logging/requested-level",
        scope: Scope::Always,
        expected: "log messages have at least the level of the request",
        rule: Rule::Case(at_least),
    },
    Check {
        id: "log-messages-need-the-capability",
        requirement: "logging/capability",
        scope: Scope::Always,
        expected: "a server that sends log messages declares `logging`",
        rule: Rule::Case(declared),
    },
    Check {
        id: "unknown-log-level-in-metadata-is-refused",
        requirement: "logging/unknown-level-modern",
        scope: Scope::Named,
        expected: "a request with an unknown log level is rejected with -32602",
        rule: Rule::Case(unknown_level),
    },
];

/// The log messages, each with the lowest level that an open request of its stream requested.
fn log_messages<'a>(transcript: &Transcript<'a>) -> Vec<(Message<'a>, Option<usize>)> {
    if transcript.is_http() { on_streams(transcript) } else { in_order(transcript) }
}

fn is_log(message: &Message<'_>) -> bool {
    message.is("notifications/message")
}

fn requested(request: &RequestResponse<'_>) -> Option<usize> {
    meta(request, META_LOG_LEVEL).and_then(severity)
}

fn on_streams<'a>(transcript: &Transcript<'a>) -> Vec<(Message<'a>, Option<usize>)> {
    let requests = by_exchange(transcript);
    let messages = transcript.server_messages().filter(is_log);
    // Without a request of this revision the exchange belongs to the older era.
    messages
        .filter_map(|message| {
            let request = requests.get(&message.frame.connection)?;
            let after = request.response.is_some_and(|response| response.seq() < message.seq());
            let listen = request.request.is("subscriptions/listen");
            Some((message, requested(request).filter(|_| !after && !listen)))
        })
        .collect()
}

/// Over stdio all streams are one, so a message may belong to any open request. It belongs to one that was cancelled only if no
/// other is open.
fn in_order<'a>(transcript: &Transcript<'a>) -> Vec<(Message<'a>, Option<usize>)> {
    // The events in order: a request opens, a response closes.
    let mut opens: BTreeMap<u64, (IdKey<'_>, usize)> = BTreeMap::new();
    let mut closes: BTreeMap<u64, IdKey<'_>> = BTreeMap::new();
    let logging = transcript.requests().iter().filter(|one| is_modern(one) && !one.request.is("subscriptions/listen"));
    for request in logging {
        let (Some(id), Some(level)) = (request.request.id_key(), requested(request)) else { continue };
        opens.insert(request.request.seq(), (id, level));
        if let Some(response) = request.response {
            closes.insert(response.seq(), id);
        }
    }
    let mut open: BTreeMap<String, usize> = BTreeMap::new();
    let mut cancelled: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for message in transcript.messages() {
        let ended = message.cancels().filter(|_| message.by_client()).map(|id| format!("{:?}", IdKey::new(id)));
        cancelled.extend(ended.and_then(|id| open.remove_entry(&id)));
        if let Some((id, level)) = opens.get(&message.seq()) {
            open.insert(format!("{id:?}"), *level);
        }
        if !message.by_client() && is_log(&message) {
            let level = open.values().min().or_else(|| cancelled.values().min()).copied();
            found.push((message, level.filter(|_| subscription_of(&message).is_none())));
        }
        if let Some(id) = closes.get(&message.seq()) {
            let id = format!("{id:?}");
            open.remove(&id);
            cancelled.remove(&id);
        }
    }
    found
}

fn only_on_request(transcript: &Transcript<'_>) -> CheckOutcome {
    let messages = log_messages(transcript).into_iter().map(|(message, level)| (message.seq(), level));
    let fault = |level: &Option<usize>| {
        level.is_none().then(|| "a log message belongs to no open request with a log level".to_owned())
    };
    Findings::from_each(messages, fault).or_not_applicable("messages", "the server sent no log message")
}

fn at_least(transcript: &Transcript<'_>) -> CheckOutcome {
    let messages = log_messages(transcript).into_iter();
    let messages = messages.filter_map(|(message, level)| Some((message.seq(), (message.param("level")?, level?))));
    let fault = |(level, wanted): &(&Value, usize)| {
        let low = severity(level).is_some_and(|level| level < *wanted);
        low.then(|| format!("the level is {level}, the requested one is {}", LEVELS[*wanted]))
    };
    Findings::from_each(messages, fault).or_not_applicable("messages", "the server sent no log message on request")
}

fn declared(transcript: &Transcript<'_>) -> CheckOutcome {
    let capabilities = transcript.server_identity().and_then(|identity| identity.get("capabilities"));
    let Some(capabilities) = capabilities else {
        return CheckOutcome::not_applicable("the capabilities of the server are unknown");
    };
    let messages = log_messages(transcript).into_iter().map(|(message, _)| (message.seq(), message));
    let fault = |message: &Message<'_>| {
        let level = message.param("level");
        (capabilities.get("logging").is_none()).then(|| {
            format!("the server sent a message of the level {} without the capability", brief_or_missing(level))
        })
    };
    Findings::from_each(messages, fault).or_not_applicable("messages", "the server sent no log message")
}

fn unknown_level(transcript: &Transcript<'_>) -> CheckOutcome {
    let unknown = |one: &&RequestResponse<'_>| meta(one, META_LOG_LEVEL).is_some_and(|level| severity(level).is_none());
    let request = transcript.requests().iter().filter(|one| is_modern(one)).find(unknown);
    rejected_with(request, &[-32602], "an unknown log level")
}
