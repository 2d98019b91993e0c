//! Checks on servers. They need no tool, resource or prompt of a certain name and call no tool that exists, so they apply
//! to any server. Features that a server does not declare are not judged.

use serde_json::Value;

use crate::judge::{
    check::{Check, CheckOutcome, brief},
    transcript::{RequestResponse, Transcript},
};

mod errors;
mod http;
mod lifecycle;
mod messages;
mod modern;
mod pagination;
mod prompts;
mod resources;
mod stdio;
#[cfg(test)]
mod tests;
mod tools;

/// The checks by theme.
pub(super) const THEMES: &[&[Check]] = &[
    messages::CHECKS,
    lifecycle::CHECKS,
    errors::CHECKS,
    tools::CHECKS,
    resources::CHECKS,
    prompts::CHECKS,
    pagination::CHECKS,
    stdio::CHECKS,
    http::CHECKS,
    modern::CHECKS,
];

const NO_RESPONSE: &str = "the server sent no response";

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

/// The results of a method, each with its frame.
fn results_of<'a>(transcript: &Transcript<'a>, method: &str) -> impl Iterator<Item = (u64, &'a Value)> {
    transcript.requests_of(method).filter_map(|request| Some((request.response?.seq(), request.result()?)))
}
