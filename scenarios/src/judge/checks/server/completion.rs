//! Completion of the arguments of prompts and resource templates.

use serde_json::Value;

use super::{NO_RESPONSE, known};
use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope, brief, brief_or_missing},
    transcript::{RequestResponse, Transcript},
};

/// Maximum number of values in a result (2024-11-05, server/utilities/completion, completion results).
const MAX_VALUES: usize = 100;
/// An argument that no prompt and no template has.
const UNKNOWN_ARGUMENT: &str = "workbench-no-such-argument";

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "completion-has-at-most-100-values",
        requirement: "completion/limit",
        scope: Scope::Named,
        expected: "a completion has at most 100 values",
        rule: Rule::Case(limit),
    },
    Check {
        id: "completion-counts-agree",
        requirement: "completion/counts",
        scope: Scope::Named,
        expected: "total is at least the number of values, and hasMore is true if and only if it is higher",
        rule: Rule::Case(counts),
    },
    Check {
        id: "completion-without-argument-is-refused",
        requirement: "completion/missing-argument",
        scope: Scope::Named,
        expected: "a completion without an argument is rejected with -32602",
        rule: Rule::Case(missing),
    },
    Check {
        id: "completion-takes-a-context",
        requirement: "completion/context",
        scope: Scope::Named,
        expected: "a completion that has a result without a context has one with it",
        rule: Rule::Case(takes_context),
    },
    Check {
        id: "completion-of-unknown-argument-is-empty",
        requirement: "completion/inputs-validated",
        scope: Scope::Named,
        expected: "a completion for an argument that does not exist is rejected, or has no values",
        rule: Rule::Case(unknown),
    },
    Check {
        id: "declared-completion-is-supported",
        requirement: "completion/supported",
        scope: Scope::Named,
        expected: "a server that declares `completions` knows `completion/complete`",
        rule: Rule::Case(supported),
    },
    Check {
        id: "undeclared-completion-code",
        requirement: "completion/undeclared",
        scope: Scope::Named,
        expected: "a server that does not declare `completions` rejects a completion with -32601",
        rule: Rule::Case(undeclared),
    },
    Check {
        id: "completion-needs-the-capability",
        requirement: "completion/declared",
        scope: Scope::Named,
        expected: "a server that completes arguments declares `completions`",
        rule: Rule::Case(declared),
    },
];

/// Passes if completion is unknown to a server that does not declare it.
fn undeclared(transcript: &Transcript<'_>) -> CheckOutcome {
    if transcript.declares("completions") != Some(false) {
        return CheckOutcome::not_applicable("the server declares `completions`, or its capabilities are unknown");
    }
    let mut findings = Findings::default();
    for request in transcript.requests_of("completion/complete").filter(|request| request.response.is_some()) {
        let completion = request.result().and_then(|result| result.get("completion"));
        if completion.is_some_and(|completion| count(completion) == 0) {
            findings
                .known(request.last_frame(), "the completion is empty, which is the default of some SDKs".to_owned());
            continue;
        }
        let response = brief_or_missing(request.response.map(|response| response.json));
        let message = format!("the response is {response}");
        findings.check(request.last_frame(), if request.code() == Some(-32601) { Ok(()) } else { Err(message) });
    }
    findings.or_not_applicable("requests", "no completion was requested")
}

const NOTHING: &str = "no completion has a result";

fn results<'t, 'a>(transcript: &'t Transcript<'a>) -> impl Iterator<Item = (u64, &'a Value)> + use<'t, 'a> {
    let requests = transcript.requests_of("completion/complete");
    requests.filter_map(|request| Some((request.last_frame(), request.result()?.get("completion")?)))
}

fn count(completion: &Value) -> usize {
    completion.get("values").and_then(Value::as_array).map_or(0, Vec::len)
}

fn limit(transcript: &Transcript<'_>) -> CheckOutcome {
    let fault = |completion: &&Value| {
        let count = count(completion);
        (count > MAX_VALUES).then(|| format!("a completion has {count} values"))
    };
    Findings::from_each(results(transcript), fault).or_not_applicable("completions", NOTHING)
}

fn counts(transcript: &Transcript<'_>) -> CheckOutcome {
    let fault = |completion: &&Value| {
        let (count, total) = (count(completion) as u64, completion.get("total")?.as_u64()?);
        let more = completion.get("hasMore").and_then(Value::as_bool);
        let message = || {
            format!(
                "{count} values, total {total}, hasMore {}",
                brief(completion.get("hasMore").unwrap_or(&Value::Null))
            )
        };
        let agree = total >= count && more.is_none_or(|more| more == (total > count));
        (!agree).then(message)
    };
    Findings::from_each(results(transcript), fault).or_not_applicable("completions", NOTHING)
}

fn missing(transcript: &Transcript<'_>) -> CheckOutcome {
    let requests = transcript.requests_of("completion/complete").filter(|request| request.param("argument").is_none());
    let mut findings = Findings::default();
    for request in requests {
        let fault = match (request.code(), request.response) {
            (Some(-32602), _) => None,
            (Some(code), _) => match known::sdk_of(request) {
                Some(sdk) => {
                    findings.known(request.last_frame(), known::rejection(code, sdk));
                    continue;
                }
                None => Some(format!("the request is rejected with {code}")),
            },
            (None, Some(response)) => Some(format!("the response is {}", brief(response.json))),
            (None, None) => Some(NO_RESPONSE.to_owned()),
        };
        findings.check(request.last_frame(), fault.map_or(Ok(()), Err));
    }
    findings.or_not_applicable("requests", "no completion without an argument was requested")
}

fn takes_context(transcript: &Transcript<'_>) -> CheckOutcome {
    let (with, without): (Vec<_>, Vec<_>) =
        transcript.requests_of("completion/complete").partition(|request| request.param("context").is_some());
    let is_completed = |request: &&RequestResponse<'_>| {
        let is_same = |other: &&&RequestResponse<'_>| {
            ["ref", "argument"].into_iter().all(|member| request.param(member) == other.param(member))
        };
        without.iter().filter(is_same).any(|other| other.result().is_some())
    };
    let fault = |request: &&RequestResponse<'_>| request.error().map(|error| format!("the error is {}", brief(error)));
    let with = with.into_iter().filter(is_completed).map(|request| (request.last_frame(), request));
    Findings::from_each(with, fault).or_not_applicable("requests", "no completion with a context was requested")
}

fn unknown(transcript: &Transcript<'_>) -> CheckOutcome {
    let requests = transcript.requests_of("completion/complete");
    let unknown = requests
        .filter(|request| request.param("argument").is_some_and(|argument| argument["name"] == UNKNOWN_ARGUMENT));
    let fault = |request: &&RequestResponse<'_>| {
        let completion = request.result()?.get("completion")?;
        (count(completion) > 0).then(|| format!("the completion is {}", brief(completion)))
    };
    Findings::from_each(unknown.map(|request| (request.last_frame(), request)), fault)
        .or_not_applicable("requests", "no completion for an unknown argument was requested")
}

fn supported(transcript: &Transcript<'_>) -> CheckOutcome {
    if transcript.declares("completions") != Some(true) {
        return CheckOutcome::not_applicable("the server does not declare `completions`");
    }
    let requests = transcript.requests_of("completion/complete").map(|request| (request.last_frame(), request));
    let fault =
        |request: &&RequestResponse<'_>| (request.code() == Some(-32601)).then(|| "rejected with -32601".to_owned());
    Findings::from_each(requests, fault).or_not_applicable("requests", "no completion was requested")
}

fn declared(transcript: &Transcript<'_>) -> CheckOutcome {
    let Some(declared) = transcript.declares("completions") else {
        return CheckOutcome::not_applicable(super::UNKNOWN_CAPABILITIES);
    };
    let requests = transcript.requests_of("completion/complete").map(|request| (request.last_frame(), request));
    let fault = |request: &&RequestResponse<'_>| {
        let completion = request.result()?.get("completion")?;
        // An empty completion is what some SDKs return by default.
        (!declared && count(completion) > 0).then(|| format!("the completion is {}", brief(completion)))
    };
    Findings::from_each(requests, fault).or_not_applicable("requests", "no completion was requested")
}
