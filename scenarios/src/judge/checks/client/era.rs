//! The revision that a client uses after a server has said which ones it supports (2026-07-28, basic/versioning).

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::RACE_US;
use crate::{
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope, quoted},
        transcript::{Message, Transcript},
    },
    model::Revision,
};

/// The code of an unsupported revision (2026-07-28, basic/versioning#protocol-version-negotiation).
const UNSUPPORTED: i64 = -32022;

/// The errors with which a modern server answers (2026-07-28, basic/index#error-codes).
const MODERN: [i64; 3] = [-32020, -32021, UNSUPPORTED];

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "fallback-on-any-error",
        requirement: "client/fallback-on-any-error",
        scope: Scope::Named,
        expected: "a client that falls back to `initialize` does so after every error that is not a modern one",
        rule: Rule::Case(fallback_on_any_error),
    },
    Check {
        id: "uses-a-supported-revision",
        requirement: "client/uses-a-supported-revision",
        scope: Scope::Always,
        expected: "after the error -32022 or a discovery the client uses a revision that the server supports",
        rule: Rule::Case(uses_a_supported_revision),
    },
    Check {
        id: "era-is-kept",
        requirement: "client/era-is-kept",
        scope: Scope::Always,
        expected: "after a result of 2026-07-28 the client sends no `initialize` to the same process or origin",
        rule: Rule::Case(era_is_kept),
    },
    Check {
        id: "era-probed-once",
        requirement: "client/era-probed-once",
        scope: Scope::Always,
        expected: "after a handshake the client does not probe the same process or origin again",
        rule: Rule::Case(era_probed_once),
    },
    Check {
        id: "no-initialize-after-discovery",
        requirement: "client/methods-of-the-revision",
        scope: Scope::Always,
        expected: "a server that lists only revisions without a handshake gets no `initialize`",
        rule: Rule::Case(no_initialize_after_discovery),
    },
    Check {
        id: "modern-errors-name-the-era",
        requirement: "client/modern-errors-name-the-era",
        scope: Scope::Always,
        expected: "after the errors -32020 and -32021 the client sends no `initialize`",
        rule: Rule::Case(modern_errors_name_the_era),
    },
    Check {
        id: "probes-with-discovery",
        requirement: "handshake/era-detection",
        scope: Scope::Always,
        expected: "over stdio, a client that falls back to `initialize` sends `server/discover` first",
        rule: Rule::Case(probes_with_discovery),
    },
];

fn uses_a_supported_revision(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    // The latest list of each server, and when it was sent. Another process may be of another version.
    let mut supported: HashMap<ServerProcess<'_>, (u64, u64, &[Value])> = HashMap::new();
    for message in transcript.messages() {
        let server = place(&message);
        if !message.by_client() {
            let error = message.error().filter(|error| error.get("code").and_then(Value::as_i64) == Some(UNSUPPORTED));
            let discovered = message.result().and_then(|result| result.get("supportedVersions"));
            let list =
                error.and_then(|error| error.pointer("/data/supported")).or(discovered).and_then(Value::as_array);
            supported.extend(list.map(|list| (server, (message.at_us(), message.seq(), list.as_slice()))));
            continue;
        }
        let (Some((at_us, seq, list)), true) = (supported.get(&server), message.is_request()) else { continue };
        let Some(revision) = used_revision(&message) else { continue };
        if list.contains(revision) || message.at_us() <= at_us + RACE_US && !message.is("initialize") {
            findings.saw(message.seq());
        } else {
            findings.saw(message.seq());
            let fault = format!("`{}` uses {}", message.method().unwrap_or_default(), quoted(revision));
            findings.fail(format!("{fault}, which the server does not support"), [*seq, message.seq()]);
        }
    }
    findings.or_not_applicable("requests", "no server rejected a revision, or no request followed")
}

/// Compares servers that reject the probe with different codes. A client that falls back after none has no handshake.
fn fallback_on_any_error(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    // The code and the frame of the first rejected probe of each server.
    let mut rejected: HashMap<&str, (i64, u64)> = HashMap::new();
    let mut fell_back: HashSet<&str> = HashSet::new();
    for one in transcript.requests().iter().filter(|one| one.request.frame.http.is_none()) {
        let server = one.request.frame.server.as_str();
        if one.request.is("server/discover") {
            let error = one.response.and_then(|response| Some((response.error()?, response.seq())));
            let code = error.and_then(|(error, seq)| Some((error.get("code")?.as_i64()?, seq)));
            let code = code.filter(|(code, _)| !MODERN.contains(code));
            code.map(|code| rejected.entry(server).or_insert(code));
        } else if one.request.is("initialize") && rejected.contains_key(server) {
            fell_back.insert(server);
        }
    }
    let known: Vec<i64> =
        rejected.iter().filter(|(server, _)| fell_back.contains(*server)).map(|(_, it)| it.0).collect();
    let is_cut = transcript.was_killed_on_purpose() || transcript.evidence.timed_out;
    for (server, (code, seq)) in rejected.iter().filter(|_| !known.is_empty() && !is_cut) {
        let is_missing = !fell_back.contains(*server) && !known.contains(code);
        let message =
            || format!("after the error {code} of `{server}` the client sent no `initialize`, but after {known:?}");
        findings.check(*seq, if is_missing { Err(message()) } else { Ok(()) });
    }
    findings.or_not_applicable("probes", "the client sent no `initialize` after a rejected probe")
}

/// The error -32022 may list revisions with a handshake, the other two have no such data.
fn modern_errors_name_the_era(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let mut modern: HashMap<ServerProcess<'_>, (i64, u64)> = HashMap::new();
    for one in transcript.requests() {
        let server = place(&one.request);
        let named = modern.get(&server).filter(|(_, error)| *error < one.request.seq());
        if let Some((code, error)) = named.filter(|_| one.request.is("initialize")) {
            findings.fail(format!("`initialize` was sent after the error {code}"), [*error, one.request.seq()]);
        }
        let is_named = |code: &i64| MODERN.contains(code) && *code != UNSUPPORTED;
        if let Some(code) = one.code().filter(is_named).filter(|_| one.request.is_modern()) {
            findings.saw(one.last_frame());
            modern.entry(server).or_insert((code, one.last_frame()));
        }
    }
    findings.or_not_applicable("errors", "no request was rejected with -32020 or -32021")
}

/// Over HTTP any request of 2026-07-28 shows the era (basic/transports/streamable-http#backward-compatibility).
fn probes_with_discovery(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for session in transcript.sessions().iter().filter(|session| session.has_initialize()) {
        let mut requests = session.client_messages().filter(Message::is_request);
        let Some(first) = requests.next().filter(|first| first.frame.http.is_none() && first.is_modern()) else {
            continue;
        };
        findings.saw(first.seq());
        if !first.is("server/discover") {
            findings.fail(format!("the probe is `{}`", first.method().unwrap_or_default()), [first.seq()]);
        }
    }
    findings.or_not_applicable("probes", "no probe came before `initialize` over stdio")
}

fn used_revision<'a>(message: &Message<'a>) -> Option<&'a Value> {
    if message.is("initialize") { message.param("protocolVersion") } else { message.revision() }
}

/// What a client remembers the revisions of: a server, over stdio with the connection to its process.
type ServerProcess<'a> = (&'a str, Option<u64>);

fn place<'a>(message: &Message<'a>) -> ServerProcess<'a> {
    (message.frame.server.as_str(), message.frame.http.is_none().then_some(message.frame.connection))
}

fn era_is_kept(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let mut modern: HashMap<ServerProcess<'_>, u64> = HashMap::new();
    for one in transcript.requests() {
        let server = place(&one.request);
        let revision = one.request.revision().and_then(Value::as_str);
        if one.request.is("initialize") {
            if let Some(result) = modern.get(&server).filter(|result| **result < one.request.seq()) {
                findings.fail("`initialize` was sent to a server of 2026-07-28", [*result, one.request.seq()]);
            }
        } else if let Some(result) = one.result() {
            // The result of a probe may have no common revision.
            let supported = result.get("supportedVersions").and_then(Value::as_array);
            let common = supported.is_none_or(|all| all.iter().any(|version| version.as_str() == revision));
            if revision.is_some() && common && result.get("resultType").is_some() {
                findings.saw(one.last_frame());
                modern.entry(server).or_insert(one.last_frame());
            }
        }
    }
    findings.or_not_applicable("results", "no server sent a result of 2026-07-28")
}

/// A failed request after the handshake may mean that the server has changed, so that a new probe is right.
fn era_probed_once(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    // The result of `initialize` by server, if a probe had failed before, and whether the client has read it.
    let mut legacy: HashMap<ServerProcess<'_>, Option<(Message<'_>, bool)>> = HashMap::new();
    for one in transcript.requests() {
        let server = place(&one.request);
        if one.request.is("server/discover") {
            findings.saw(one.request.seq());
            let known = *legacy.entry(server).or_default();
            let is_read =
                |(result, is_read): &(Message<'_>, bool)| *is_read || result.at_us() + RACE_US < one.request.at_us();
            if let Some((result, _)) = known.filter(is_read) {
                let message = "`server/discover` was sent again after a handshake with the same server";
                findings.fail(message, [result.seq(), one.request.seq()]);
            }
        } else if let Some(known) = legacy.get_mut(&server) {
            let result = one.response.filter(|_| one.result().is_some());
            *known = match (result, *known) {
                (Some(result), _) if one.request.is("initialize") => Some((result, false)),
                (Some(_), Some((result, is_read))) => Some((result, is_read || one.request.seq() > result.seq())),
                _ => None,
            };
        }
    }
    findings.or_not_applicable("probes", "the client sent no `server/discover`")
}

/// Such a server has no method `initialize`. That of a client which does not wait for the result of its probe may cross it.
fn no_initialize_after_discovery(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    // The result of each server, and until when an `initialize` may have crossed it.
    let mut listed: HashMap<ServerProcess<'_>, (u64, u64)> = HashMap::new();
    for one in transcript.requests() {
        let server = place(&one.request);
        if let Some((result, crossed_us)) = listed.get_mut(&server).filter(|(result, _)| *result < one.request.seq()) {
            if !one.request.is("initialize") {
                *crossed_us = 0;
            } else if one.request.at_us() > *crossed_us {
                let message = "`initialize` was sent to a server that supports only revisions without it";
                findings.fail(message, [*result, one.request.seq()]);
            }
        }
        let supported = || one.result()?.get("supportedVersions")?.as_array();
        let Some(supported) = supported().filter(|_| one.request.is("server/discover")) else { continue };
        let is_modern = |version: &Value| {
            let known = version.as_str().and_then(|version| version.parse().ok());
            known.is_some_and(|revision: Revision| revision.is_modern())
        };
        let is_common = supported.iter().any(|version| Some(version) == one.request.revision());
        if let (Some(response), true) = (one.response, is_common && supported.iter().all(is_modern)) {
            findings.saw(response.seq());
            let is_slow = response.at_us() > one.request.at_us() + RACE_US;
            let crossed_us = if is_slow { 0 } else { response.at_us() + RACE_US };
            listed.entry(server).or_insert((response.seq(), crossed_us));
        }
    }
    findings.or_not_applicable("results", "no server listed only revisions without a handshake")
}

#[cfg(test)]
mod tests;
