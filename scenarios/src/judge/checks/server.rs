//! Checks on servers. They need no tool, resource or prompt of a certain name, so they apply to any server. Features that a
//! server does not declare are not judged.

use serde_json::Value;

use crate::judge::{
    check::{Check, CheckOutcome, Findings, brief},
    transcript::{RequestResponse, Transcript},
};

mod announcements;
mod authorization;
mod calls;
mod cancellation;
mod completion;
mod content;
mod errors;
mod handshake;
mod http;
mod jsonrpc;
mod known;
mod lifecycle;
mod logging;
mod messages;
mod modern;
mod negotiation;
mod pagination;
mod progress;
mod prompts;
mod resource_reads;
mod resource_updates;
mod resources;
mod resumption;
mod robustness;
mod security;
mod sessions;
mod shapes;
mod stdio;
mod streams;
mod tasks;
mod templates;
#[cfg(test)]
mod tests;
mod tools;
mod user_requests;
mod waiting;

pub(super) use user_requests::mixed_message;

/// The checks by theme.
pub(super) const THEMES: &[&[Check]] = &[
    messages::CHECKS,
    handshake::CHECKS,
    jsonrpc::CHECKS,
    lifecycle::CHECKS,
    negotiation::CHECKS,
    errors::CHECKS,
    tools::CHECKS,
    resources::CHECKS,
    prompts::CHECKS,
    pagination::CHECKS,
    calls::CHECKS,
    content::CHECKS,
    resource_reads::CHECKS,
    resource_updates::CHECKS,
    templates::CHECKS,
    completion::CHECKS,
    logging::CHECKS,
    progress::CHECKS,
    cancellation::CHECKS,
    announcements::CHECKS,
    stdio::CHECKS,
    robustness::CHECKS,
    security::CHECKS,
    http::CHECKS,
    sessions::CHECKS,
    authorization::CHECKS,
    streams::CHECKS,
    resumption::CHECKS,
    tasks::CHECKS,
    user_requests::CHECKS,
    modern::discovery::CHECKS,
    modern::metadata::CHECKS,
    modern::results::CHECKS,
    modern::headers::CHECKS,
    modern::parameter_headers::CHECKS,
    modern::removed::CHECKS,
    modern::streams::CHECKS,
    modern::subscriptions::CHECKS,
    modern::input::CHECKS,
    modern::logging::CHECKS,
    modern::stateless::CHECKS,
    modern::tasks::CHECKS,
    shapes::CHECKS,
];

const NO_RESPONSE: &str = "the server sent no response";
const UNKNOWN_CAPABILITIES: &str = "the capabilities of the server are unknown";

/// Whether a result is complete: one that requests input has no content yet (2026-07-28, basic/patterns/mrtr).
fn is_complete(result: &Value) -> bool {
    result.get("resultType").is_none_or(|kind| kind == "complete")
}

/// Whether the result of a call reports the failure of the tool.
fn has_is_error(result: &Value) -> bool {
    result.get("isError") == Some(&Value::Bool(true))
}

/// A result without its metadata.
fn plain_result(result: &Value) -> Value {
    let mut result = result.clone();
    if let Some(members) = result.as_object_mut() {
        members.remove("_meta");
    }
    result
}

/// Whether text begins with a scheme and has no space (RFC 3986, section 3).
fn is_uri(text: &str) -> bool {
    resources::SCHEME.is_match(text)
}

/// The first request of a method with a parameter of this value, if the scenario names one.
fn request_with<'t, 'a>(
    transcript: &'t Transcript<'a>,
    method: &str,
    param: &str,
    value: Option<&str>,
) -> Option<&'t RequestResponse<'a>> {
    let value = value?;
    transcript.requests_of(method).find(|one| one.param(param).is_some_and(|param| param == value))
}

/// The first outcome that did not pass, or that of all requests together.
fn all_pass<'a>(
    outcomes: impl IntoIterator<Item = (&'a RequestResponse<'a>, CheckOutcome)>,
    nothing: &str,
) -> CheckOutcome {
    let mut findings = Findings::default();
    for (request, outcome) in outcomes {
        match outcome {
            CheckOutcome::Passed { .. } => findings.saw(request.last_frame()),
            CheckOutcome::NotApplicable(_) => {}
            other => return other,
        }
    }
    findings.or_not_applicable("requests", nothing)
}

/// Passes if the request was rejected with one of these error codes. `what` names what was requested.
fn rejected_with(request: Option<&RequestResponse<'_>>, codes: &[i64], what: &str) -> CheckOutcome {
    let Some(request) = request else { return CheckOutcome::NotApplicable(format!("{what} was not requested")) };
    let Some(response) = request.response else {
        return CheckOutcome::Blocked(format!("{what} was requested, and the server sent no response"));
    };
    match request.code() {
        Some(code) if codes.contains(&code) => CheckOutcome::passed(format!("rejected with {code}"), request.frames()),
        Some(code) => CheckOutcome::failed(format!("rejected with {code}"), request.frames()),
        None => CheckOutcome::failed(format!("answered with {}", brief(response.json)), request.frames()),
    }
}

/// The same for a SHOULD: the code that an SDK chose passes too.
fn rejected_with_or_as_sdk(request: Option<&RequestResponse<'_>>, codes: &[i64], what: &str) -> CheckOutcome {
    let of_sdk = request.and_then(|request| Some((request, request.code()?, known::sdk_of(request)?)));
    match of_sdk.filter(|(_, code, _)| !codes.contains(code)) {
        Some((request, code, sdk)) => CheckOutcome::passed(known::rejection(code, sdk), request.frames()),
        None => rejected_with(request, codes, what),
    }
}
