//! Log messages before 2026-07-28: the levels that a server accepts, and the messages that it sends.

use std::collections::HashMap;

use serde_json::Value;

use super::UNKNOWN_CAPABILITIES;
use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope, brief, brief_or_missing},
    transcript::{IdKey, Message, RequestResponse, Transcript},
};

/// The levels in ascending order (RFC 5424, section 6.2.1).
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "log-levels-are-accepted",
        requirement: "logging/set-level",
        scope: Scope::Named,
        expected: "every one of the eight log levels is accepted",
        rule: Rule::Case(accepted),
    },
    Check {
        id: "logging-is-declared",
        requirement: "logging/declared",
        scope: Scope::Always,
        expected: "a server that sends log messages declares `logging`",
        rule: Rule::Case(declared),
    },
    Check {
        id: "log-messages-have-the-minimum-level",
        requirement: "logging/minimum-level",
        scope: Scope::Always,
        expected: "no log message is below the level that was set",
        rule: Rule::Case(minimum),
    },
];

const NO_MESSAGES: &str = "the server sent no log message";

fn severity(level: &Value) -> Option<usize> {
    let level = level.as_str()?;
    LEVELS.iter().position(|known| *known == level)
}

fn log_messages<'a>(transcript: &Transcript<'a>) -> impl Iterator<Item = (u64, Message<'a>)> + use<'a> {
    let messages = transcript.server_messages().filter(|message| message.is("notifications/message"));
    messages.map(|message| (message.seq(), message))
}

fn accepted(transcript: &Transcript<'_>) -> CheckOutcome {
    let requests = transcript.requests_of("logging/setLevel");
    let known = requests.filter(|request| request.param("level").and_then(severity).is_some());
    let fault = |request: &&RequestResponse<'_>| {
        let response = request.response.map(|response| response.json);
        let level = request.param("level");
        request
            .result()
            .is_none()
            .then(|| format!("the response to the level {} is {}", brief_or_missing(level), brief_or_missing(response)))
    };
    Findings::from_each(known.map(|request| (request.last_frame(), request)), fault)
        .or_not_applicable("levels", "no log level was set")
}

fn declared(transcript: &Transcript<'_>) -> CheckOutcome {
    let Some(declared) = transcript.declares("logging") else {
        return CheckOutcome::not_applicable(UNKNOWN_CAPABILITIES);
    };
    // An SDK may log about malformed input whether or not the server has the capability.
    let malformed = transcript.malformed_from();
    let messages = log_messages(transcript).filter(|(seq, _)| *seq < malformed);
    let fault = |message: &Message<'_>| (!declared).then(|| format!("the server sent {}", brief(message.json)));
    Findings::from_each(messages, fault).or_not_applicable("messages", NO_MESSAGES)
}

fn minimum(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let mut pending: HashMap<IdKey<'_>, usize> = HashMap::new();
    // The level that is in force. While another one is being set, either may be.
    let mut least: Option<usize> = None;
    let mut settled = 0;
    for message in transcript.messages() {
        if message.is("logging/setLevel") && message.by_client() {
            let level = message.param("level").and_then(severity);
            if let (Some(id), Some(level)) = (message.id_key(), level) {
                pending.insert(id, level);
                least = least.map(|least| least.min(level));
            }
        } else if message.is_response() && !message.by_client() {
            let set = message.id_key().and_then(|id| pending.remove(&id));
            if let Some(level) = set.filter(|_| message.result().is_some()) {
                least = Some(level);
                settled = message.seq();
            }
        } else if message.is("notifications/message")
            && !message.by_client()
            && transcript.is_sent_after(&message, settled)
        {
            let (Some(least), Some(level)) = (least, message.param("level").and_then(severity)) else { continue };
            let fault = || format!("a message has the level {}, although {} was set", LEVELS[level], LEVELS[least]);
            findings.check(message.seq(), if level < least { Err(fault()) } else { Ok(()) });
        }
    }
    findings.or_not_applicable("messages", "the server sent no log message after a level was set")
}
