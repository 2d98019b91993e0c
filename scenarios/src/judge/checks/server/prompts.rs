//! Prompts, completion and logging.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{NO_RESPONSE, all_pass, known, rejected_with_or_as_sdk, request_with};
use crate::{
    arguments::OPTIONAL_ARGUMENT,
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope, brief, quoted},
        transcript::{RequestResponse, Transcript},
    },
    log_level::severity,
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "prompt-names-are-unique",
        requirement: "prompts/unique-names",
        scope: Scope::Named,
        expected: "no two prompts of a list have the same name",
        rule: Rule::Case(unique_names),
    },
    Check {
        id: "listed-prompts-are-available",
        requirement: "prompts/listed-are-available",
        scope: Scope::Named,
        expected: "a listed prompt without required arguments can be requested",
        rule: Rule::Case(available),
    },
    Check {
        id: "prompt-arguments-are-unique",
        requirement: "prompts/unique-arguments",
        scope: Scope::Named,
        expected: "no two arguments of a prompt have the same name",
        rule: Rule::Case(unique_arguments),
    },
    Check {
        id: "unknown-prompt-code",
        requirement: "prompts/unknown-code",
        scope: Scope::Named,
        expected: "an unknown prompt is rejected with -32602",
        rule: Rule::Case(unknown),
    },
    Check {
        id: "missing-prompt-argument-code",
        requirement: "prompts/missing-argument",
        scope: Scope::Named,
        expected: "a prompt without a required argument is rejected with -32602",
        rule: Rule::Case(missing_argument),
    },
    Check {
        id: "invalid-log-level-code",
        requirement: "logging/invalid-level",
        scope: Scope::Named,
        expected: "an unknown log level is rejected with -32602",
        rule: Rule::Case(log_level),
    },
    Check {
        id: "completion-of-unknown-prompt-code",
        requirement: "completion/unknown-prompt",
        scope: Scope::Named,
        expected: "a completion for an unknown prompt is rejected with -32602",
        rule: Rule::Case(completion),
    },
    Check {
        id: "prompt-arguments-are-not-kept",
        requirement: "messages/stateless",
        scope: Scope::Named,
        expected: "a prompt without an optional argument is not that of an earlier request with it",
        rule: Rule::Case(not_kept),
    },
];

const NO_PROMPTS: &str = "the server lists no prompts";

fn unknown(transcript: &Transcript<'_>) -> CheckOutcome {
    let request = request_with(transcript, "prompts/get", "name", transcript.unknown.prompt.as_deref());
    rejected_with_or_as_sdk(request, &[-32602], "an unknown prompt")
}

/// The value of an optional argument, which only the requests with it may show, would be in the prompt of a later request.
fn not_kept(transcript: &Transcript<'_>) -> CheckOutcome {
    let has_value = |value: Option<&Value>| value.is_some_and(|value| value.to_string().contains(OPTIONAL_ARGUMENT));
    let (mut shown, mut findings) = (HashSet::new(), Findings::default());
    for request in transcript.requests_of("prompts/get") {
        let Some(name) = request.param("name").and_then(Value::as_str) else { continue };
        let is_shown = has_value(request.result());
        if has_value(request.param("arguments")) {
            if is_shown {
                shown.insert(name);
            }
        } else if shown.contains(name) && request.result().is_some() {
            let message = || format!("`{name}` has the value of an optional argument of an earlier request");
            findings.check(request.last_frame(), if is_shown { Err(message()) } else { Ok(()) });
        }
    }
    findings.or_not_applicable("prompts", "no prompt shows the value of an optional argument")
}

fn available(transcript: &Transcript<'_>) -> CheckOutcome {
    let required = required_by_name(transcript);
    let requests = transcript.requests_of("prompts/get").filter_map(|request| {
        let name = request.param("name")?.as_str()?;
        required.get(name)?.is_empty().then_some((request.last_frame(), (name, request)))
    });
    let fault = |(name, request): &(&str, &RequestResponse<'_>)| {
        let error = request.error().filter(|error| !asks_for_a_capability(error))?;
        Some(format!("`{name}` is rejected with {}", brief(error)))
    };
    Findings::from_each(requests, fault).or_not_applicable("requests", "no prompt without required arguments is listed")
}

/// Whether a request is rejected because the client lacks a capability: -32021 in 2026-07-28 (schema,
/// `MissingRequiredClientCapabilityError`), and any code before.
fn asks_for_a_capability(error: &Value) -> bool {
    let mentions = error.get("message").and_then(Value::as_str).is_some_and(|message| message.contains("capabilit"));
    mentions || error.get("code").and_then(Value::as_i64) == Some(-32021)
}

/// The required arguments of each listed prompt.
fn required_by_name<'a>(transcript: &Transcript<'a>) -> HashMap<&'a str, Vec<&'a str>> {
    let prompts = transcript.items("prompts/list", "prompts");
    prompts.filter_map(|(_, prompt)| Some((prompt.get("name")?.as_str()?, required(prompt)))).collect()
}

fn missing_argument(transcript: &Transcript<'_>) -> CheckOutcome {
    let required = required_by_name(transcript);
    let mut findings = Findings::default();
    for request in transcript.requests_of("prompts/get") {
        let Some(name) = request.param("name").and_then(Value::as_str) else { continue };
        let given = request.param("arguments");
        let is_missing = |argument: &&&str| given.and_then(|given| given.get(**argument)).is_none();
        let Some(missing) = required.get(name).and_then(|required| required.iter().find(is_missing)) else { continue };
        if let (Some(sdk), Some(code)) = (known::sdk_of(request), request.code()) {
            findings.known(request.last_frame(), known::rejection(code, sdk));
            continue;
        }
        let fault = match (request.code(), request.response) {
            (Some(-32602), _) => None,
            (Some(code), _) => Some(format!("the request is rejected with {code}")),
            (None, Some(response)) => Some(format!("the response is {}", brief(response.json))),
            (None, None) => Some(NO_RESPONSE.to_owned()),
        };
        let message = |fault| format!("`{name}` is requested without `{missing}`, and {fault}");
        findings.check(request.last_frame(), fault.map_or(Ok(()), |fault| Err(message(fault))));
    }
    findings.or_not_applicable("requests", "no prompt was requested without a required argument")
}

/// The names of the required arguments of a prompt.
fn required(prompt: &Value) -> Vec<&str> {
    let arguments = prompt.get("arguments").and_then(Value::as_array).into_iter().flatten();
    let required = arguments.filter(|argument| argument.get("required") == Some(&Value::Bool(true)));
    required.filter_map(|argument| argument.get("name")?.as_str()).collect()
}

fn unique_names(transcript: &Transcript<'_>) -> CheckOutcome {
    let pages = transcript.requests_of("prompts/list").filter_map(|page| Some((page.last_frame(), page.result()?)));
    let lists = pages.filter_map(|(frame, result)| Some((frame, result.get("prompts")?.as_array()?)));
    let fault = |prompts: &&Vec<Value>| repeated(prompts).map(|name| format!("two prompts have the name `{name}`"));
    Findings::from_each(lists, fault).or_not_applicable("lists", NO_PROMPTS)
}

fn unique_arguments(transcript: &Transcript<'_>) -> CheckOutcome {
    let prompts = transcript.items("prompts/list", "prompts");
    let fault = |prompt: &&Value| {
        let name = repeated(prompt.get("arguments")?.as_array()?)?;
        Some(format!("{} has two arguments with the name `{name}`", quoted(&prompt["name"])))
    };
    Findings::from_each(prompts, fault).or_not_applicable("prompts", NO_PROMPTS)
}

/// The first name that two items have.
fn repeated(items: &[Value]) -> Option<&str> {
    let mut names = HashSet::new();
    items.iter().filter_map(|item| item.get("name")?.as_str()).find(|name| !names.insert(*name))
}

fn log_level(transcript: &Transcript<'_>) -> CheckOutcome {
    let is_unknown = |one: &&RequestResponse<'_>| one.param("level").is_some_and(|level| severity(level).is_none());
    let requests = transcript.requests_of("logging/setLevel").filter(is_unknown);
    let outcome = |one| rejected_with_or_as_sdk(Some(one), &[-32602], "an unknown log level");
    all_pass(requests.map(|one| (one, outcome(one))), "no unknown log level was set")
}

fn completion(transcript: &Transcript<'_>) -> CheckOutcome {
    let unknown = transcript.unknown.prompt.as_deref().unwrap_or_default();
    let request = transcript
        .requests_of("completion/complete")
        .find(|request| request.param("ref").is_some_and(|reference| reference["name"] == unknown));
    rejected_with_or_as_sdk(request, &[-32602], "a completion for an unknown prompt")
}
