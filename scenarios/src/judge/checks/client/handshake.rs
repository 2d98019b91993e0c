//! The handshake of the revisions up to 2025-11-25 (basic/lifecycle).

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

const NO_HANDSHAKE: &str = "no handshake was made";

pub(super) const ALL: &[Check] = &[
    Check {
        id: "initialize-first",
        requirement: "lifecycle/initialize-first",
        subject: Subject::Client,
        scope: Scope::Always,
        expected: "a session begins with one `initialize`; only pings and the probe of a client of both eras go before",
        rule: initialize_first,
    },
    Check {
        id: "waits-for-initialize-result",
        requirement: "client/waits-for-initialize-result",
        subject: Subject::Client,
        scope: Scope::Always,
        expected: "no request but a ping is sent while `initialize` is not answered",
        rule: waits_for_initialize_result,
    },
    Check {
        id: "initialized-before-operation",
        requirement: "client/initialized-before-operation",
        subject: Subject::Client,
        scope: Scope::Always,
        expected: "`notifications/initialized` follows the result of `initialize`, before any other request",
        rule: initialized_before_operation,
    },
    Check {
        id: "initialize-params",
        requirement: "client/initialize-params",
        subject: Subject::Client,
        scope: Scope::Always,
        expected: "`initialize` carries protocolVersion, capabilities, and clientInfo with name and version",
        rule: initialize_params,
    },
    Check {
        id: "uses-negotiated-capabilities",
        requirement: "client/uses-negotiated-capabilities",
        subject: Subject::Client,
        scope: Scope::Always,
        expected: "the client uses no feature that the server did not declare",
        rule: uses_negotiated_capabilities,
    },
    Check {
        id: "no-request-after-failure",
        requirement: "client/no-request-after-failure",
        subject: Subject::Client,
        scope: Scope::Named,
        expected: "after a handshake that failed the client does not go on as if it had succeeded",
        rule: no_request_after_failure,
    },
];

fn initialize_first(evidence: &Evidence) -> Ruling {
    let mut findings = Findings::default();
    for session in sessions(evidence) {
        if evidence.revision.is_modern() && !session.has_initialize() {
            continue;
        }
        let mut begun = false;
        for message in session.said().filter(|message| message.method().is_some()) {
            let method = message.method().unwrap_or_default();
            if method == "initialize" {
                let done = session.handshake().filter(|done| done.answer.seq() < message.seq());
                if let Some(done) = done {
                    let frames = [done.request.seq(), message.seq()];
                    findings.breach("`initialize` was sent again in a session that had succeeded", frames);
                }
                begun = true;
                findings.saw(message.seq());
            } else if !begun && !message.is_modern() && !matches!(method, "ping" | "notifications/cancelled") {
                findings.breach(format!("`{method}` was sent before `initialize`"), [message.seq()]);
            }
        }
    }
    findings.or_not_applicable("handshakes", NO_HANDSHAKE)
}

/// A request that has no place before the end of the handshake.
fn is_operation(message: &Message<'_>) -> bool {
    message.is_request() && !message.is_modern() && !message.is("ping") && !message.is("initialize")
}

fn waits_for_initialize_result(evidence: &Evidence) -> Ruling {
    let mut findings = Findings::default();
    for session in sessions(evidence) {
        let Some(request) = session.said().find(|message| message.is("initialize")) else { continue };
        findings.saw(request.seq());
        let until = session.answer(&request).map_or(u64::MAX, |answer| answer.seq());
        let early = session.said().filter(is_operation);
        for message in early.filter(|message| (request.seq()..until).contains(&message.seq())) {
            let method = message.method().unwrap_or_default();
            findings.breach(format!("`{method}` was sent before the answer"), [request.seq(), message.seq()]);
        }
    }
    findings.or_not_applicable("handshakes", NO_HANDSHAKE)
}

fn initialized_before_operation(evidence: &Evidence) -> Ruling {
    let mut findings = Findings::default();
    for session in sessions(evidence) {
        let Some(handshake) = session.handshake() else { continue };
        let first = session.said().filter(is_operation).find(|message| message.seq() > handshake.answer.seq());
        let initialized = session.said().find(|message| message.is("notifications/initialized"));
        if initialized.is_none() && first.is_none() {
            continue;
        }
        findings.saw(initialized.or(first).map_or(handshake.answer.seq(), |message| message.seq()));
        let Some(first) = first else { continue };
        // Two POSTs that are under way at once may arrive in any order.
        let race = if first.frame.http.is_some() { RACE_US } else { 0 };
        let in_time = initialized.is_some_and(|initialized| {
            initialized.seq() < first.seq() || initialized.at_us() <= first.at_us() + race && race > 0
        });
        if !in_time {
            let method = first.method().unwrap_or_default();
            let words = format!("`{method}` was sent before `notifications/initialized`");
            findings.breach(words, [handshake.answer.seq(), first.seq()]);
        }
    }
    findings.or_not_applicable("handshakes", "no handshake was followed by anything")
}

fn initialize_params(evidence: &Evidence) -> Ruling {
    let mut findings = Findings::default();
    let requests = evidence.frames.iter().flat_map(Message::all_of);
    for request in requests.filter(|message| message.by_client() && message.is("initialize")) {
        let at = |pointer: &str| request.params().and_then(|params| params.pointer(pointer));
        let verdict = if !at("/protocolVersion").is_some_and(Value::is_string) {
            Err("it has no protocolVersion that is a string".to_owned())
        } else if !at("/capabilities").is_some_and(Value::is_object) {
            Err("it has no capabilities that are an object".to_owned())
        } else if !at("/clientInfo/name").is_some_and(Value::is_string) {
            Err("its clientInfo has no name".to_owned())
        } else if !at("/clientInfo/version").is_some_and(Value::is_string) {
            Err("its clientInfo has no version".to_owned())
        } else {
            Ok(())
        };
        findings.judge(request.seq(), verdict);
    }
    findings.or_not_applicable("handshakes", NO_HANDSHAKE)
}

/// The capability that a server declares for a method.
fn capability_of(method: &str) -> Option<&'static str> {
    match method {
        "logging/setLevel" => Some("/logging"),
        "completion/complete" => Some("/completions"),
        "resources/subscribe" | "resources/unsubscribe" => Some("/resources/subscribe"),
        _ => match method.split('/').next()? {
            "tools" => Some("/tools"),
            "prompts" => Some("/prompts"),
            "resources" => Some("/resources"),
            _ => None,
        },
    }
}

fn uses_negotiated_capabilities(evidence: &Evidence) -> Ruling {
    let mut findings = Findings::default();
    for session in sessions(evidence) {
        let Some(handshake) = session.handshake() else { continue };
        // Before 2025-06-18 it was advice, and `completions` had no capability before 2025-03-26.
        let revision = handshake.negotiated().and_then(|revision| revision.parse::<Revision>().ok());
        if revision.is_none_or(|revision| revision < Revision::V2025_06_18) {
            continue;
        }
        let declared = handshake.answer.result().and_then(|result| result.get("capabilities"));
        let requests = session.said().filter(|message| message.is_request() && !message.is_modern());
        for request in requests.filter(|request| request.seq() > handshake.answer.seq()) {
            let method = request.method().unwrap_or_default();
            let Some(pointer) = capability_of(method) else { continue };
            let value = declared.and_then(|declared| declared.pointer(pointer));
            let offered = value.is_some_and(|value| !value.is_null() && *value != Value::Bool(false));
            let words = || format!("`{method}` was sent, but the server did not declare `{}`", &pointer[1..]);
            findings.judge(request.seq(), if offered { Ok(()) } else { Err(words()) });
        }
    }
    findings.or_not_applicable("requests", "no request needed a capability of 2025-06-18 or later")
}

fn no_request_after_failure(evidence: &Evidence) -> Ruling {
    let mut findings = Findings::default();
    for session in sessions(evidence) {
        for answer in session.messages().filter(|message| !message.by_client()) {
            let Some(reason) = failure(&session, &answer) else { continue };
            findings.saw(answer.seq());
            let after = session.said().filter(|message| message.seq() > answer.seq());
            let goes_on = |message: &Message<'_>| is_operation(message) || message.is("notifications/initialized");
            // Another try, in this era or the other, is a new beginning; what follows it is judged by its own answer.
            let same_try = after.take_while(|message| !message.is("initialize") && !message.is("server/discover"));
            for message in same_try.filter(goes_on) {
                let method = message.method().unwrap_or_default();
                findings.breach(format!("`{method}` was sent although {reason}"), [answer.seq(), message.seq()]);
            }
        }
    }
    findings.or_blocked("handshakes that failed", "no handshake failed, so there was nothing to judge")
}

/// Why a client cannot go on after this answer, if it cannot: the server refused, or it speaks a revision that nobody
/// can know.
fn failure(session: &Session<'_>, answer: &Message<'_>) -> Option<String> {
    let asked = session.said().find(|request| {
        request.is("initialize") && request.id() == answer.id() && request.seq() < answer.seq() && answer.is_response()
    })?;
    let Some(result) = answer.result() else {
        return Some(format!("`initialize` in frame {} was answered with an error", asked.seq()));
    };
    let revision = result.get("protocolVersion").and_then(Value::as_str);
    let known = revision.and_then(|revision| revision.parse::<Revision>().ok());
    if known.is_some_and(|known| !known.is_modern()) {
        return None;
    }
    let named = result.get("protocolVersion").map_or_else(|| "no revision".to_owned(), shown);
    Some(format!("the server answered `initialize` with {named}"))
}

#[cfg(test)]
mod tests;
