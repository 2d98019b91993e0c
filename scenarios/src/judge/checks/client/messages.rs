//! The form of a client's messages in the revisions in which they were sent: their members (schema), their methods, and the
//! keys of their metadata.

use std::collections::HashMap;

use ::evidence::Direction;
use serde_json::Value;

use super::jsonrpc::check_message;
use crate::{
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope},
        checks::meta::{extension_fault, meta_fault},
        transcript::{IdKey, Message, Session, Transcript},
    },
    model::Revision,
    shapes::{self, Shapes},
};

const NO_MESSAGE: &str = "the client sent no message in a known revision";

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "client-messages-have-shapes",
        requirement: "client/messages-have-shapes",
        scope: Scope::Always,
        expected: "requests and notifications of the client have the members and types of their revision",
        rule: Rule::Case(messages_have_shapes),
    },
    Check {
        id: "client-results-have-shapes",
        requirement: "client/results-have-shapes",
        scope: Scope::Always,
        expected: "results of the client have the members and types that the request demands",
        rule: Rule::Case(results_have_shapes),
    },
    Check {
        id: "methods-of-the-revision",
        requirement: "client/methods-of-the-revision",
        scope: Scope::Always,
        expected: "the client sends only methods of clients that the revision has, and extensions",
        rule: Rule::Case(methods_of_the_revision),
    },
    Check {
        id: "client-metadata-keys",
        requirement: "client/metadata-keys",
        scope: Scope::Always,
        expected: "every key in `_meta` has a valid prefix and name, and trace context has its format",
        rule: Rule::Case(metadata_keys),
    },
    Check {
        id: "client-extension-identifiers",
        requirement: "client/extension-identifiers",
        scope: Scope::Always,
        expected: "every extension that the client declares has a prefix and a name",
        rule: Rule::Case(extension_identifiers),
    },
];

/// The messages of the client with the revisions in which they were sent. Messages with which a client detects the era of
/// a server may have none.
fn with_revision<'t, 'a>(transcript: &'t Transcript<'a>) -> impl Iterator<Item = (Message<'a>, Revision)> + 't {
    let of_case = transcript.evidence.revision;
    transcript.sessions().iter().flat_map(move |session| {
        let messages = session.client_messages().filter(|message| check_message(message.json).is_ok());
        messages.filter_map(move |message| Some((message, revision_of(&message, session, of_case)?)))
    })
}

fn revision_of(message: &Message<'_>, session: &Session<'_>, of_case: Revision) -> Option<Revision> {
    if message.is("initialize") {
        let named = message.param("protocolVersion").and_then(Value::as_str).and_then(|name| name.parse().ok());
        let default = if of_case.is_modern() { Revision::NEWEST_LEGACY } else { of_case };
        return Some(named.filter(|revision: &Revision| !revision.is_modern()).unwrap_or(default));
    }
    if let Some(named) = message.revision() {
        return named.as_str()?.parse().ok();
    }
    match session.handshake() {
        Some(handshake) => handshake.revision().filter(|revision| !revision.is_modern()),
        None => (!of_case.is_modern() || !session.has_initialize()).then_some(of_case),
    }
}

fn messages_have_shapes(transcript: &Transcript<'_>) -> CheckOutcome {
    let sent = with_revision(transcript).filter(|(message, _)| message.method().is_some());
    let fault = |(message, revision): &(Message<'_>, Revision)| shape_fault(message, *revision, None);
    Findings::from_each(sent.map(|sent| (sent.0.seq(), sent)), fault).or_not_applicable("messages", NO_MESSAGE)
}

/// Where a message differs from its shape.
fn shape_fault(message: &Message<'_>, revision: Revision, request: Option<&str>) -> Option<String> {
    let report = shapes::check(revision, Direction::ClientToServer, message.json, request);
    let fault = report.faults.first()?;
    let name = request.or_else(|| message.method()).unwrap_or_default();
    let part = if request.is_some() { "the result of " } else { "" };
    Some(format!("{part}`{name}` ({revision}): {fault}"))
}

fn results_have_shapes(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for session in transcript.sessions() {
        let mut requests: HashMap<IdKey<'_>, &str> = HashMap::new();
        for message in session.messages() {
            let Some(id) = message.id_key() else { continue };
            if !message.by_client() {
                requests.extend(message.method().map(|method| (id, method)));
                continue;
            }
            let (None, Some(_)) = (message.method(), message.result()) else { continue };
            let Some(method) = requests.get(&id).filter(|_| check_message(message.json).is_ok()) else { continue };
            let revision = session.handshake().and_then(|handshake| handshake.revision());
            let Some(revision) = revision.filter(|revision| !revision.is_modern()) else { continue };
            let fault = shape_fault(&message, revision, Some(method));
            findings.check(message.seq(), fault.map_or(Ok(()), Err));
        }
    }
    findings.or_not_applicable("results", "the client sent no result")
}

fn methods_of_the_revision(transcript: &Transcript<'_>) -> CheckOutcome {
    let sent = with_revision(transcript).filter(|(message, _)| message.method().is_some());
    let fault = |(message, revision): &(Message<'_>, Revision)| method_fault(message.method()?, *revision);
    Findings::from_each(sent.map(|sent| (sent.0.seq(), sent)), fault).or_not_applicable("messages", NO_MESSAGE)
}

fn method_fault(method: &str, revision: Revision) -> Option<String> {
    let has = |revision: Revision, direction| Shapes::in_revision(revision).has_method(method, direction);
    // The extension for tasks has methods of the same names. A probe precedes the choice of a revision.
    let is_extension = revision.is_modern() && matches!(method, "tasks/get" | "tasks/cancel" | "tasks/update");
    if is_extension || method == "server/discover" || has(revision, Direction::ClientToServer) {
        return None;
    }
    let ever = |direction| Revision::ALL.into_iter().any(|revision| has(revision, direction));
    if ever(Direction::ClientToServer) {
        return Some(format!("`{method}` does not exist in {revision}"));
    }
    if is_meant_as_cancellation(method) {
        return Some(format!("`{method}` exists in no revision; `notifications/cancelled` cancels a request"));
    }
    ever(Direction::ServerToClient).then(|| format!("the client sent `{method}`, which only servers send"))
}

/// Whether an unknown method can only be meant as `notifications/cancelled`: another spelling of it, or the notification of
/// another protocol. Other unknown methods may be those of an extension.
fn is_meant_as_cancellation(method: &str) -> bool {
    let name = ["notifications/", "$/"].iter().find_map(|prefix| method.strip_prefix(prefix)).unwrap_or(method);
    ["cancel", "canceled", "cancelled", "cancellation", "cancelrequest"].contains(&name.to_ascii_lowercase().as_str())
}

fn metadata_keys(transcript: &Transcript<'_>) -> CheckOutcome {
    let bodies = transcript.client_messages().filter_map(|message| {
        let body = message.params().or_else(|| message.result())?;
        Some((message.seq(), body))
    });
    Findings::from_each(bodies, |body| meta_fault(body)).or_not_applicable("messages", NO_MESSAGE)
}

fn extension_identifiers(transcript: &Transcript<'_>) -> CheckOutcome {
    const MODERN: &str = "/params/_meta/io.modelcontextprotocol~1clientCapabilities/extensions";
    let declared = transcript.client_messages().filter_map(|message| {
        let extensions = message.json.pointer(MODERN)?.as_object()?;
        Some((message.seq(), extensions))
    });
    Findings::from_each(declared, |extensions| extension_fault(extensions))
        .or_not_applicable("requests", "the client declares no extension")
}

#[cfg(test)]
mod tests;
