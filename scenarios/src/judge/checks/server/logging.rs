//! Log messages before 2026-07-28: the levels that a server accepts, and the messages that it sends.

use std::collections::HashMap;

use super::{UNKNOWN_CAPABILITIES, jsonrpc::is_resumed};
use crate::{
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope, brief, brief_or_missing},
        transcript::{IdKey, Message, RequestResponse, Session, Transcript},
    },
    log_level::{LEVELS, severity},
};

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
    Check {
        id: "log-messages-at-the-level-are-sent",
        requirement: "logging/level-inclusive",
        scope: Scope::Named,
        expected: "a call that logs at a level while a lower one is set also does so while that level is set",
        rule: Rule::Case(inclusive),
    },
];

const NO_MESSAGES: &str = "the server sent no log message";

fn log_messages<'a>(transcript: &Transcript<'a>) -> impl Iterator<Item = (u64, Message<'a>)> {
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
    for session in transcript.sessions() {
        minimum_of(transcript, session, &mut findings);
    }
    findings.or_not_applicable("messages", "the server sent no log message after a level was set")
}

fn minimum_of(transcript: &Transcript<'_>, session: &Session<'_>, findings: &mut Findings) {
    let mut pending: HashMap<IdKey<'_>, usize> = HashMap::new();
    // The level that is in force. While another one is being set, either may be.
    let mut least: Option<usize> = None;
    let mut settled = 0;
    for message in session.messages() {
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
            // A resumed stream has messages again that were sent earlier.
            && !is_resumed(transcript, message.frame)
        {
            let (Some(least), Some(level)) = (least, message.param("level").and_then(severity)) else { continue };
            let fault = || format!("a message has the level {}, although {} was set", LEVELS[level], LEVELS[least]);
            let is_below = level < least && !may_be_of_earlier_call(session, &message, settled);
            findings.check(message.seq(), if is_below { Err(fault()) } else { Ok(()) });
        }
    }
}

/// Time in which a call without a response may log, from its cancellation or else its begin.
const MAY_LOG_US: u64 = 5_000_000;

/// Whether a log message may come from a call that began before the level was set, and keeps to the level of its begin.
fn may_be_of_earlier_call(session: &Session<'_>, message: &Message<'_>, settled: u64) -> bool {
    let logs_between = |first: u64, last: u64| {
        let messages = session.messages_after(first).take_while(|one| one.seq() < last);
        messages.filter(|one| !one.by_client()).any(|one| one.is("notifications/message"))
    };
    let calls = session.client_messages().take_while(|call| call.seq() < settled).filter(|call| call.tool().is_some());
    let mut open = calls.filter(|call| session.answer(call).is_none_or(|answer| answer.seq() > message.seq()));
    open.any(|call| {
        let cancel = call.id_key().and_then(|id| session.cancel_after(id, call.seq()));
        let since = cancel.as_ref().unwrap_or(&call).frame.at_us;
        message.frame.at_us < since + MAY_LOG_US && cancel.is_none_or(|cancel| logs_between(call.seq(), cancel.seq()))
    })
}

/// A call, the rank of the level that was set before it, and the ranks of the messages until the next message of the client.
struct LoggedCall<'a> {
    call: Message<'a>,
    level: usize,
    logged: Vec<usize>,
    /// Whether an earlier request was answered meanwhile, whose messages these may be.
    is_disturbed: bool,
}

fn logged_calls<'a>(transcript: &Transcript<'a>) -> Vec<LoggedCall<'a>> {
    let is_set = |request: &&RequestResponse<'_>| request.result().is_some();
    let mut set: HashMap<u64, usize> = HashMap::new();
    for request in transcript.requests_of("logging/setLevel").filter(is_set) {
        set.extend(request.param("level").and_then(severity).map(|level| (request.request.seq(), level)));
    }
    transcript.sessions().iter().flat_map(|session| logged_calls_of(session, &set)).collect()
}

/// `set` has the ranks of the levels that were set, by frame.
fn logged_calls_of<'a>(session: &Session<'a>, set: &HashMap<u64, usize>) -> Vec<LoggedCall<'a>> {
    let mut calls: Vec<LoggedCall<'_>> = Vec::new();
    let (mut level, mut is_open) = (None, false);
    for message in session.messages() {
        if message.by_client() {
            level = set.get(&message.seq()).copied().or(level);
            is_open = message.is("tools/call") && level.is_some();
            if let Some(level) = level.filter(|_| is_open) {
                calls.push(LoggedCall { call: message, level, logged: Vec::new(), is_disturbed: false });
            }
        } else if message.is("notifications/message") && is_open {
            let logged = message.param("level").and_then(severity);
            calls.last_mut().into_iter().for_each(|call| call.logged.extend(logged));
        } else if message.may_be_response() && is_open {
            let answers = |call: &LoggedCall<'_>| call.call.id_key() == message.id_key();
            calls.last_mut().into_iter().for_each(|call| call.is_disturbed |= !answers(call));
        }
    }
    calls
}

fn inclusive(transcript: &Transcript<'_>) -> CheckOutcome {
    let calls = logged_calls(transcript);
    let is_same = |one: &LoggedCall<'_>, other: &LoggedCall<'_>| one.call.is_same_call(&other.call);
    let judged = calls.iter().filter(|call| !call.is_disturbed).filter(|call| {
        let lower =
            calls.iter().filter(|other| other.level < call.level && !other.is_disturbed && is_same(call, other));
        let (with, without): (Vec<_>, Vec<_>) = lower.partition(|other| other.logged.contains(&call.level));
        // One call with the message can be a coincidence.
        with.len() > 1 && without.is_empty()
    });
    let fault = |call: &&LoggedCall<'_>| {
        let name = LEVELS[call.level];
        let tool = brief_or_missing(call.call.param("name"));
        (!call.logged.contains(&call.level))
            .then(|| format!("the tool {tool} logs at the level {name}, but not after {name} was set"))
    };
    Findings::from_each(judged.map(|call| (call.call.seq(), call)), fault)
        .or_not_applicable("calls", "no tool was called that logs at the level which was set")
}
