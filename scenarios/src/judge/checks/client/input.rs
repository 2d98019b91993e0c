//! Requests that are repeated with the input that the server requires (2026-07-28, basic/patterns/mrtr).

use serde_json::Value;

use super::rounds::{Origin, Retry, Round, retries};
use crate::{
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope, brief_or_missing, quoted},
        transcript::Transcript,
    },
    model::Revision,
    shapes::Shapes,
};

const NO_RETRY: &str = "the client repeated no request with input";

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "retry-echoes-state",
        requirement: "client/retry-echoes-state",
        scope: Scope::Always,
        expected: "a request that is repeated with input has the exact `requestState` of the result, or none if it had none",
        rule: Rule::Case(echoes_state),
    },
    Check {
        id: "input-only-for-its-request",
        requirement: "client/input-only-for-its-request",
        scope: Scope::Always,
        expected: "state and input belong to the request whose result required them, and its parameters are unchanged",
        rule: Rule::Case(only_for_its_request),
    },
    Check {
        id: "retry-has-all-responses",
        requirement: "client/retry-has-all-responses",
        scope: Scope::Always,
        expected: "a repeated request has a response of the right kind to each input request",
        rule: Rule::Case(has_all_responses),
    },
    Check {
        id: "retry-answers-only-input-requests",
        requirement: "client/retry-answers-only-input-requests",
        scope: Scope::Always,
        expected: "a repeated request has responses only to the input requests of the result, not to those of earlier rounds",
        rule: Rule::Case(answers_only_input_requests),
    },
    Check {
        id: "retry-has-a-new-id",
        requirement: "client/retry-has-a-new-id",
        scope: Scope::Always,
        expected: "a repeated request has another id",
        rule: Rule::Case(has_a_new_id),
    },
];

fn each(transcript: &Transcript<'_>, fault: impl Fn(&Retry<'_>) -> Option<(String, Vec<u64>)>) -> CheckOutcome {
    let mut findings = Findings::default();
    for retry in retries(transcript) {
        findings.saw(retry.request.seq());
        if let Some((message, frames)) = fault(&retry) {
            findings.fail(message, frames.into_iter().chain([retry.request.seq()]));
        }
    }
    findings.or_not_applicable("repeated requests", NO_RETRY)
}

fn echoes_state(transcript: &Transcript<'_>) -> CheckOutcome {
    each(transcript, |retry| {
        let Origin::OtherState(round) = retry.origin else { return None };
        let (sent, given) = (brief_or_missing(retry.request.param("requestState")), brief_or_missing(round.state));
        Some((format!("the requestState is {sent}, that of the result is {given}"), vec![round.seq]))
    })
}

fn only_for_its_request(transcript: &Transcript<'_>) -> CheckOutcome {
    each(transcript, |retry| match retry.origin {
        Origin::OtherRequest(round) => {
            Some(("the requestState is that of another request".to_owned(), vec![round.seq]))
        }
        Origin::Nothing => Some(("no result of this request required input".to_owned(), vec![])),
        Origin::Round(_) | Origin::OtherState(_) => None,
    })
}

fn round_of<'a>(retry: &Retry<'a>) -> Option<Round<'a>> {
    match retry.origin {
        Origin::Round(round) | Origin::OtherState(round) => Some(round),
        Origin::OtherRequest(_) | Origin::Nothing => None,
    }
}

fn has_all_responses(transcript: &Transcript<'_>) -> CheckOutcome {
    each(transcript, |retry| {
        let round = round_of(retry)?;
        let responses = retry.request.param("inputResponses");
        let fault = |(key, request): (&String, &Value)| {
            let response = responses.and_then(|responses| responses.get(key));
            response_fault(request, response).map(|fault| (format!("{key}: {fault}"), vec![round.seq]))
        };
        round.requests?.iter().find_map(fault)
    })
}

/// Without a state, a server that asks again knows earlier responses only if the client repeats them.
fn answers_only_input_requests(transcript: &Transcript<'_>) -> CheckOutcome {
    each(transcript, |retry| {
        let round = round_of(retry).filter(|round| round.state.is_some())?;
        let responses = retry.request.param("inputResponses")?.as_object()?;
        let is_requested = |key: &String| round.requests.is_some_and(|requests| requests.contains_key(key));
        let extra = responses.keys().find(|key| !is_requested(key))?;
        Some((format!("the result requested no input {}", quoted(&extra.as_str().into())), vec![round.seq]))
    })
}

/// Why a response does not answer an input request.
pub(super) fn response_fault(request: &Value, response: Option<&Value>) -> Option<String> {
    let method = request.get("method")?.as_str()?;
    let Some(response) = response else { return Some(format!("`{method}` was not answered")) };
    let definition = match method {
        "elicitation/create" => "elicit-result",
        "sampling/createMessage" => "create-message-result",
        "roots/list" => "list-roots-result",
        _ => return None,
    };
    let report = Shapes::in_revision(Revision::V2026_07_28).check_value(definition, response)?;
    report.faults.first().map(|fault| format!("the response to `{method}`: {fault}"))
}

fn has_a_new_id(transcript: &Transcript<'_>) -> CheckOutcome {
    each(transcript, |retry| {
        let round = round_of(retry)?;
        let same = round.id == retry.request.id_key();
        same.then(|| {
            (format!("the id {} was used again", retry.request.id().map(quoted).unwrap_or_default()), vec![round.seq])
        })
    })
}

#[cfg(test)]
mod tests;
