//! The handshake of the revisions up to 2025-11-25 (basic/lifecycle).

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::is_before;
use crate::{
    judge::{
        capabilities::{capability_of, has_value},
        check::{Check, CheckOutcome, Findings, Rule, Scope, quoted},
        transcript::{IdKey, Message, Session, Transcript},
    },
    model::Revision,
    requirements::RevisionRange,
};

/// Maximum number of messages that are reported after one failed handshake.
const MAX_REPORTED: usize = 20;

const NO_HANDSHAKE: &str = "there was no handshake";

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "initialize-first",
        requirement: "lifecycle/initialize-first",
        scope: Scope::Always,
        expected: "a session begins with one `initialize`; only pings and the probe of a client of both eras precede it",
        rule: Rule::Case(initialize_first),
    },
    Check {
        id: "waits-for-initialize-result",
        requirement: "client/waits-for-initialize-result",
        scope: Scope::Always,
        expected: "no request except a ping is sent before the response to `initialize`",
        rule: Rule::Case(waits_for_initialize_result),
    },
    Check {
        id: "initialized-before-operation",
        requirement: "client/initialized-before-operation",
        scope: Scope::Always,
        expected: "`notifications/initialized` follows the result of `initialize`, before any other request",
        rule: Rule::Case(initialized_before_operation),
    },
    Check {
        id: "initialize-params",
        requirement: "client/initialize-params",
        scope: Scope::Always,
        expected: "`initialize` has protocolVersion, capabilities, and clientInfo with name and version",
        rule: Rule::Case(initialize_params),
    },
    Check {
        id: "uses-negotiated-capabilities",
        requirement: "client/uses-negotiated-capabilities",
        scope: Scope::Always,
        expected: "the client uses no feature that the server did not declare, and announces no change that it did not declare",
        rule: Rule::Sessions(uses_negotiated_capabilities),
    },
    Check {
        id: "requests-its-latest-revision",
        requirement: "client/requests-its-latest-revision",
        scope: Scope::Always,
        expected: "`initialize` requests no older revision than the client uses, nor a later one, unless the server offered it or rejected the newer one",
        rule: Rule::Case(requests_its_latest_revision),
    },
    Check {
        id: "no-request-after-failure",
        requirement: "client/no-request-after-failure",
        scope: Scope::Named,
        expected: "after a failed handshake the client does not continue as if it had succeeded",
        rule: Rule::Case(no_request_after_failure),
    },
];

fn requests_its_latest_revision(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let mut latest: HashMap<&str, (&str, u64)> = HashMap::new();
    let mut offered: HashSet<(&str, &str)> = HashSet::new();
    let mut rejected: HashSet<&str> = HashSet::new();
    for one in transcript.requests_of("initialize") {
        let server = one.request.frame.server.as_str();
        let Some(revision) = one.param("protocolVersion").and_then(Value::as_str) else { continue };
        if let Some((newest, seq)) = latest.get(server) {
            let is_older = revision < *newest && !offered.contains(&(server, revision)) && !rejected.contains(server);
            let fault = || format!("`initialize` requests {revision} after {newest} in frame {seq}");
            findings.check(one.request.seq(), if is_older { Err(fault()) } else { Ok(()) });
        }
        let newest = latest.entry(server).or_insert((revision, one.request.seq()));
        if revision > newest.0 {
            *newest = (revision, one.request.seq());
        }
        match one.result().and_then(|result| result.get("protocolVersion")).and_then(Value::as_str) {
            Some(revision) => drop(offered.insert((server, revision))),
            // The client may try an older revision after an error, or after no response.
            None => drop(rejected.insert(server)),
        }
    }
    for session in transcript.sessions() {
        let Some(handshake) = session.handshake() else { continue };
        let requested = handshake.request.param("protocolVersion").and_then(Value::as_str);
        let requested = requested.and_then(|revision| revision.parse::<Revision>().ok());
        // A client that goes on supports the revision of the server.
        let goes_on = session.client_messages().find(|message| message.is("notifications/initialized"));
        let (Some(requested), Some(answered), Some(initialized)) = (requested, handshake.revision(), goes_on) else {
            continue;
        };
        if requested < answered && is_before(&handshake.answer, &initialized) {
            let fault = format!("`initialize` requests {requested}, and the client goes on with {answered}");
            findings.saw(initialized.seq());
            findings.fail(fault, [handshake.request.seq(), handshake.answer.seq(), initialized.seq()]);
        }
    }
    findings.or_not_applicable("handshakes", "there was no second handshake, and the server agreed to the first one")
}

fn initialize_first(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for session in transcript.sessions() {
        if transcript.evidence.revision.is_modern() && !session.has_initialize() {
            continue;
        }
        let mut begun = false;
        for message in session.client_messages().filter(|message| message.method().is_some()) {
            let method = message.method().unwrap_or_default();
            if method == "initialize" {
                if let Some(done) = session.handshake().filter(|done| done.answer.seq() < message.seq()) {
                    let frames = [done.request.seq(), message.seq()];
                    findings.fail("`initialize` was sent again after a successful handshake", frames);
                }
                begun = true;
                findings.saw(message.seq());
            } else if !begun && !message.is_modern() && !matches!(method, "ping" | "notifications/cancelled") {
                findings.fail(format!("`{method}` was sent before `initialize`"), [message.seq()]);
            }
        }
    }
    findings.or_not_applicable("handshakes", NO_HANDSHAKE)
}

/// Whether it is a request that may only follow the handshake.
fn is_operation(message: &Message<'_>) -> bool {
    message.is_request() && !message.is_modern() && !message.is("ping") && !message.is("initialize")
}

fn waits_for_initialize_result(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for session in transcript.sessions() {
        let Some(request) = session.client_messages().find(|message| message.is("initialize")) else { continue };
        findings.saw(request.seq());
        let until = session.answer(&request).map_or(u64::MAX, |answer| answer.seq());
        let early = session.client_messages().filter(is_operation);
        for message in early.filter(|message| (request.seq()..until).contains(&message.seq())) {
            let method = message.method().unwrap_or_default();
            findings.fail(format!("`{method}` was sent before the response"), [request.seq(), message.seq()]);
        }
    }
    findings.or_not_applicable("handshakes", NO_HANDSHAKE)
}

fn initialized_before_operation(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for session in transcript.sessions() {
        let Some(handshake) = session.handshake() else { continue };
        let answer = handshake.answer.seq();
        let first = session.messages_after(answer).find(|message| message.by_client() && is_operation(message));
        let initialized = session.client_messages().find(|message| message.is("notifications/initialized"));
        if initialized.is_none() && first.is_none() {
            continue;
        }
        findings.saw(initialized.or(first).map_or(answer, |message| message.seq()));
        if let Some(early) = initialized.filter(|initialized| initialized.seq() < answer) {
            let message = "`notifications/initialized` was sent before the result of `initialize`";
            findings.fail(message, [early.seq(), answer]);
        }
        let Some(first) = first else { continue };
        if !initialized.is_some_and(|initialized| is_before(&initialized, &first)) {
            let method = first.method().unwrap_or_default();
            let message = format!("`{method}` was sent before `notifications/initialized`");
            findings.fail(message, [answer, first.seq()]);
        }
    }
    findings.or_not_applicable("handshakes", "no message followed a handshake")
}

fn initialize_params(transcript: &Transcript<'_>) -> CheckOutcome {
    let requests = transcript.client_messages().filter(|message| message.is("initialize"));
    let fault = |request: &Message<'_>| {
        let at = |pointer: &str| request.params().and_then(|params| params.pointer(pointer));
        let is_string = |pointer: &str| at(pointer).is_some_and(Value::is_string);
        let is_revision = at("/protocolVersion").and_then(Value::as_str).is_some_and(is_date);
        let fault = if !is_string("/protocolVersion") {
            "protocolVersion is not a string"
        } else if !is_revision {
            "protocolVersion is not a revision"
        } else if !at("/capabilities").is_some_and(Value::is_object) {
            "capabilities is not an object"
        } else if !is_string("/clientInfo/name") {
            "clientInfo has no name"
        } else if !is_string("/clientInfo/version") {
            "clientInfo has no version"
        } else {
            return None;
        };
        Some(fault.to_owned())
    };
    let requests = requests.map(|request| (request.seq(), request));
    Findings::from_each(requests, fault).or_not_applicable("handshakes", NO_HANDSHAKE)
}

/// Whether a text has the form of a revision: `2025-11-25`.
fn is_date(text: &str) -> bool {
    let digit = |(at, byte): (usize, u8)| if matches!(at, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() };
    text.len() == 10 && text.bytes().enumerate().all(digit)
}

fn uses_negotiated_capabilities(transcript: &Transcript<'_>, revisions: RevisionRange) -> CheckOutcome {
    let mut findings = Findings::default();
    for session in transcript.sessions() {
        let Some(handshake) = session.handshake() else { continue };
        if !handshake.revision().is_some_and(|revision| revisions.contains(revision)) {
            continue;
        }
        let declared = handshake.answer.result().and_then(|result| result.get("capabilities"));
        let own = handshake.request.param("capabilities");
        let changes_roots = |message: &Message<'_>| message.is("notifications/roots/list_changed");
        for changed in session.client_messages().filter(changes_roots) {
            let offered = own.is_some_and(|own| has_value(own, "/roots/listChanged"));
            let message = || "the roots changed, but the client did not declare `roots.listChanged`".to_owned();
            findings.check(changed.seq(), if offered { Ok(()) } else { Err(message()) });
        }
        let later = session.messages_after(handshake.answer.seq()).filter(Message::by_client);
        for request in later.filter(|message| message.is_request() && !message.is_modern()) {
            let method = request.method().unwrap_or_default();
            let Some(pointer) = capability_of(method) else { continue };
            let offered = declared.is_some_and(|declared| has_value(declared, pointer));
            let message = || format!("`{method}` was sent, but the server did not declare `{}`", &pointer[1..]);
            findings.check(request.seq(), if offered { Ok(()) } else { Err(message()) });
        }
    }
    findings.or_not_applicable("requests", "no request needed a capability in a revision with this requirement")
}

fn no_request_after_failure(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for session in transcript.sessions() {
        judge_failures(session, &mut findings);
    }
    findings.or_blocked("failed handshakes", "no handshake failed, so there was nothing to judge")
}

fn judge_failures(session: &Session<'_>, findings: &mut Findings) {
    let mut initialize: HashMap<IdKey<'_>, Message<'_>> = HashMap::new();
    let (mut operations, mut tries) = (Vec::new(), Vec::new());
    for message in session.client_messages() {
        if message.is("initialize")
            && let Some(id) = message.id_key()
        {
            initialize.entry(id).or_insert(message);
        }
        // Another attempt, in this era or the other, is a new beginning. Its own response judges what follows it.
        if message.is("initialize") || message.is("server/discover") {
            tries.push(message.seq());
        } else if is_operation(&message) || message.is("notifications/initialized") {
            operations.push(message);
        }
    }
    for answer in session.messages().filter(|message| !message.by_client() && message.is_response()) {
        let request = answer.id_key().and_then(|id| initialize.get(&id)).filter(|request| request.seq() < answer.seq());
        let Some(reason) = request.and_then(|request| failure(request, &answer)) else { continue };
        findings.saw(answer.seq());
        let until = tries.get(tries.partition_point(|seq| *seq <= answer.seq())).copied().unwrap_or(u64::MAX);
        let after = &operations[operations.partition_point(|message| message.seq() <= answer.seq())..];
        for message in after.iter().take(MAX_REPORTED).take_while(|message| message.seq() < until) {
            let method = message.method().unwrap_or_default();
            findings.fail(format!("`{method}` was sent although {reason}"), [answer.seq(), message.seq()]);
        }
    }
}

/// Why a client cannot continue after this response: the server refused, or chose a revision that does not exist.
fn failure(request: &Message<'_>, answer: &Message<'_>) -> Option<String> {
    let Some(result) = answer.result() else {
        return Some(format!("`initialize` in frame {} was answered with an error", request.seq()));
    };
    let revision = result.get("protocolVersion");
    let known = revision.and_then(Value::as_str).and_then(|revision| revision.parse::<Revision>().ok());
    if known.is_some_and(|known| !known.is_modern()) {
        return None;
    }
    let named = revision.map_or_else(|| "no revision".to_owned(), quoted);
    Some(format!("the server answered `initialize` with {named}"))
}

#[cfg(test)]
mod tests;
