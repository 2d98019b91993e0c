//! The capabilities that a scenario needs of a client, and those that its messages show.

use mock_servers::oauth::script::DpopMode;
use serde_json::Value;

use super::transcript::{AuthorizationExchange, AuthorizationRequest, Transcript};
use crate::model::{ClientStep, Revision, Scenario, TokenGrant};

/// The capabilities of a client in a request of 2026-07-28 (basic/index#meta).
const MODERN: &str = "/params/_meta/io.modelcontextprotocol~1clientCapabilities";
/// The capabilities of a client in `initialize` (basic/lifecycle#initialization).
const LEGACY: &str = "/params/capabilities";
/// The extension for tasks (2026-07-28).
const TASKS: &str = "/extensions/io.modelcontextprotocol~1tasks";

/// The name of a capability, and whether an object of capabilities has it.
type Capability = (&'static str, fn(&Value) -> bool);

/// The first capability that the scenario needs and the client did not declare. `None` also if the client declared
/// nothing at all, because it sent no message that has capabilities.
pub(super) fn undeclared_capability(scenario: &Scenario, transcript: &Transcript<'_>) -> Option<&'static str> {
    let needed = needed(scenario, transcript.evidence.revision);
    if needed.is_empty() {
        return None;
    }
    let declarations: Vec<&Value> = transcript
        .client_messages()
        .filter_map(|message| message.json.pointer(if message.is("initialize") { LEGACY } else { MODERN }))
        .collect();
    let is_missing = |(_, has): &&Capability| !declarations.iter().any(|declared| has(declared));
    needed.iter().find(is_missing).filter(|_| !declarations.is_empty()).map(|(name, _)| *name)
}

/// Why a client has not the authorization that the scenario needs. The messages show it, because no capability does.
pub(super) fn lacking_authorization(scenario: &Scenario, transcript: &Transcript<'_>) -> Option<&'static str> {
    let (setup, grant) = (scenario.authorization.as_ref()?, scenario.token_grant()?);
    let exchanges = transcript.authorization();
    if exchanges.apart_from_access().next().is_none() {
        return Some("the client takes no part in authorization: it requested no metadata and no token");
    }
    let asks_for_tokens = exchanges.with_grant(grant.grant_type()).next().is_some();
    if grant != TokenGrant::AuthorizationCode && !asks_for_tokens {
        return Some("the client does not support the grant");
    }
    if setup.server.dpop.mode != DpopMode::Off && exchanges.with_kind(AuthorizationRequest::Token).any(lacks_proof) {
        return Some("the client does not support DPoP");
    }
    // A client may have one form of registration only.
    let registration = &setup.server.registration;
    let has_all = !setup.server.clients.is_empty()
        && registration.enabled
        && (setup.server.client_id_metadata.supported || transcript.evidence.revision < Revision::V2025_11_25);
    let goes_on = exchanges.after_discovery().next().is_some();
    (!has_all && !goes_on).then_some("the client does not support the registration of the authorization server")
}

fn lacks_proof(token_request: &AuthorizationExchange<'_>) -> bool {
    token_request.header("dpop").is_none()
}

fn needed(scenario: &Scenario, revision: Revision) -> Vec<Capability> {
    let user = scenario.client.user.as_ref();
    // 2026-07-28 has neither a notification of a change nor a capability for it (its schema).
    let changes_roots =
        !revision.is_modern() && scenario.steps.client().iter().any(|step| matches!(step, ClientStep::Roots(_)));
    let all: [(bool, Capability); 6] = [
        (user.is_some_and(|user| user.form.is_some()), ("elicitation", declares_forms)),
        (user.is_some_and(|user| user.url.is_some()), ("elicitation.url", |it| has(it, "/elicitation/url"))),
        (user.is_some_and(|user| user.sampling.is_some()), ("sampling", |it| has(it, "/sampling"))),
        (user.is_some_and(|user| user.roots.is_some()), ("roots", |it| has(it, "/roots"))),
        (changes_roots, ("roots.listChanged", |it| it.pointer("/roots/listChanged") == Some(&Value::Bool(true)))),
        (scenario.client.tasks, ("extensions.io.modelcontextprotocol/tasks", |it| has(it, TASKS))),
    ];
    all.into_iter().filter(|(is_needed, _)| *is_needed).map(|(_, capability)| capability).collect()
}

/// The server capability that a method needs.
pub(super) fn capability_of(method: &str) -> Option<&'static str> {
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

/// Whether a server declares the capability at this pointer; true if its capabilities are unknown.
pub(super) fn declares(transcript: &Transcript<'_>, server: &str, pointer: &str) -> bool {
    let greetings = ["initialize", "server/discover"].into_iter().flat_map(|method| transcript.requests_of(method));
    let mut capabilities =
        greetings.filter(|one| one.request.frame.server == server).filter_map(|one| one.result()?.get("capabilities"));
    capabilities.next().is_none_or(|capabilities| has_value(capabilities, pointer))
}

/// Whether an object of capabilities has a value at this pointer.
pub(super) fn has_value(capabilities: &Value, pointer: &str) -> bool {
    capabilities.pointer(pointer).is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false)))
}

fn has(capabilities: &Value, pointer: &str) -> bool {
    capabilities.pointer(pointer).is_some_and(Value::is_object)
}

/// Elicitation without members means forms (2025-11-25, client/elicitation#capabilities).
fn declares_forms(capabilities: &Value) -> bool {
    let elicitation = capabilities.get("elicitation").and_then(Value::as_object);
    elicitation.is_some_and(|modes| modes.contains_key("form") || !modes.contains_key("url"))
}
