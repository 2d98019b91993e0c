//! Input requests: their form, the capabilities that they need, and the retry with the responses.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::{super::has_is_error, META_CAPABILITIES, is_modern, meta, modern_requests};
use crate::{
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope, brief, brief_or_missing},
        transcript::{RequestResponse, Transcript},
    },
    peer::feature_of,
};

pub(in super::super) const CHECKS: &[Check] = &[
    Check {
        id: "input-required-only-where-allowed",
        requirement: "input/supported-methods",
        scope: Scope::Always,
        expected: "only calls of tools, prompts and reads of resources request input",
        rule: Rule::Case(supported_methods),
    },
    Check {
        id: "input-required-has-requests-or-state",
        requirement: "input/requests-or-state",
        scope: Scope::Always,
        expected: "a result that requests input has inputRequests or requestState, with their types",
        rule: Rule::Case(requests_or_state),
    },
    Check {
        id: "input-requests-are-of-a-known-kind",
        requirement: "input/known-requests",
        scope: Scope::Always,
        expected: "an input request is an elicitation, a sampling request or a request for roots, with its parameters",
        rule: Rule::Case(known_requests),
    },
    Check {
        id: "input-requests-need-declared-capabilities",
        requirement: "input/declared-capabilities",
        scope: Scope::Always,
        expected: "an input request needs only capabilities that the client declared in its request",
        rule: Rule::Case(declared_capabilities),
    },
    Check {
        id: "undeclared-capability-is-refused",
        requirement: "input/missing-capability",
        scope: Scope::Named,
        expected: "a request that needs an undeclared capability is rejected with -32021, if it is rejected",
        rule: Rule::Case(missing_capability),
    },
    Check {
        id: "input-responses-are-accepted",
        requirement: "input/responses-accepted",
        scope: Scope::Named,
        expected: "a retry with the state and a response to every input request is not rejected",
        rule: Rule::Case(|transcript| retried(transcript, Retry::Complete, no_request_error)),
    },
    Check {
        id: "missing-input-response-is-requested-again",
        requirement: "input/missing-responses",
        scope: Scope::Named,
        expected: "a retry without the responses is answered with input requests again",
        rule: Rule::Case(|transcript| retried(transcript, Retry::Missing, no_error)),
    },
    Check {
        id: "unknown-input-responses-are-ignored",
        requirement: "input/extra-responses",
        scope: Scope::Named,
        expected: "a retry with an additional response is not rejected",
        rule: Rule::Case(|transcript| retried(transcript, Retry::Extra, no_error)),
    },
    Check {
        id: "changed-request-state-is-refused",
        requirement: "input/state-verified",
        scope: Scope::Named,
        expected: "a retry with a changed requestState does not complete the request",
        rule: Rule::Case(|transcript| retried(transcript, Retry::Changed, not_completed)),
    },
    Check {
        id: "malformed-input-responses-are-refused",
        requirement: "input/responses-validated",
        scope: Scope::Named,
        expected: "a retry with malformed responses is rejected or answered with input requests",
        rule: Rule::Case(|transcript| retried(transcript, Retry::Malformed, not_completed)),
    },
    Check {
        id: "malformed-input-is-no-tool-error",
        requirement: "input/protocol-errors",
        scope: Scope::Named,
        expected: "a call with malformed responses is rejected with a JSON-RPC error and not with isError",
        rule: Rule::Case(|transcript| retried(transcript, Retry::Malformed, tool_error)),
    },
    Check {
        id: "missing-capability-is-no-tool-error",
        requirement: "input/missing-capability-as-error",
        scope: Scope::Named,
        expected: "a call that asks for input, but not without the capability, is then rejected with -32021 and not with isError",
        rule: Rule::Case(missing_capability_in_result),
    },
    Check {
        id: "request-state-of-another-request-is-refused",
        requirement: "input/state-bound",
        scope: Scope::Named,
        expected: "a requestState is not accepted in a call with other arguments, or in a request for another item",
        rule: Rule::Case(foreign_state),
    },
    Check {
        id: "invalid-form-content-is-refused",
        requirement: "elicitation/content-validated",
        scope: Scope::Named,
        expected: "a response to a form that violates its schema does not complete the request",
        rule: Rule::Case(|transcript| retried(transcript, Retry::Invalid, not_completed)),
    },
    Check {
        id: "declined-input-is-no-internal-error",
        requirement: "elicitation/declined",
        scope: Scope::Named,
        expected: "a call of a tool whose user declines or dismisses the form does not fail with -32603",
        rule: Rule::Case(declined),
    },
];

/// The results that request input, with their requests.
fn interim<'t, 'a>(transcript: &'t Transcript<'a>) -> impl Iterator<Item = (&'t RequestResponse<'a>, &'a Value)> {
    let results = modern_requests(transcript).filter_map(|one| Some((one, one.result()?)));
    results.filter(|(_, result)| requests_input(result))
}

fn requests_input(result: &Value) -> bool {
    result.get("resultType").is_some_and(|kind| kind == "input_required")
}

const NO_INPUT: &str = "the server requested no input";

fn each_interim<'a>(
    transcript: &Transcript<'a>,
    fault: impl Fn(&RequestResponse<'a>, &'a Value) -> Option<String>,
) -> CheckOutcome {
    let results = interim(transcript).map(|(one, result)| (one.last_frame(), (one, result)));
    let fault = |(one, result): &(&RequestResponse<'a>, &'a Value)| fault(one, result);
    Findings::from_each(results, fault).or_not_applicable("results", NO_INPUT)
}

fn supported_methods(transcript: &Transcript<'_>) -> CheckOutcome {
    each_interim(transcript, |one, _| {
        let method = one.request.method().unwrap_or_default();
        // Extensions may allow it for their own methods.
        let other = !matches!(method, "tools/call" | "prompts/get" | "resources/read") && !method.starts_with("tasks/");
        other.then(|| format!("`{method}` requests input"))
    })
}

fn requests_or_state(transcript: &Transcript<'_>) -> CheckOutcome {
    each_interim(transcript, |_, result| {
        let (requests, state) = (result.get("inputRequests"), result.get("requestState"));
        if requests.is_none() && state.is_none() {
            return Some("it has neither inputRequests nor requestState".to_owned());
        }
        let wrong = requests.filter(|requests| !requests.is_object()).map(|it| ("inputRequests", it));
        let wrong = wrong.or_else(|| state.filter(|state| !state.is_string()).map(|it| ("requestState", it)));
        wrong.map(|(key, value)| format!("{key} is {}", brief(value)))
    })
}

/// The first fault among the input requests of each result.
fn each_request<'a>(
    transcript: &Transcript<'a>,
    fault: impl Fn(&RequestResponse<'a>, &'a Value) -> Option<String>,
) -> CheckOutcome {
    each_interim(transcript, |one, result| {
        let requests = result.get("inputRequests").and_then(Value::as_object).into_iter().flatten();
        requests
            .into_iter()
            .find_map(|(key, request)| Some(format!("in the request `{key}`, {}", fault(one, request)?)))
    })
}

fn known_requests(transcript: &Transcript<'_>) -> CheckOutcome {
    each_request(transcript, |_, request| match request.get("method").and_then(Value::as_str) {
        Some("elicitation/create") => elicitation_fault(request.get("params")),
        Some("sampling/createMessage") => {
            let messages = request.pointer("/params/messages").is_some_and(Value::is_array);
            let tokens = request.pointer("/params/maxTokens").is_some_and(Value::is_number);
            (!messages || !tokens).then(|| format!("messages or maxTokens is missing: {}", brief(request)))
        }
        Some("roots/list") => None,
        _ => Some(format!("the method is {}", brief_or_missing(request.get("method")))),
    })
}

fn elicitation_fault(params: Option<&Value>) -> Option<String> {
    let Some(params) = params else { return Some("it has no params".to_owned()) };
    let message = params.get("message");
    if !message.is_some_and(Value::is_string) {
        return Some(format!("message is {}", brief_or_missing(message)));
    }
    match params.get("mode").map_or(Some("form"), Value::as_str) {
        Some("form") => form_fault(params.get("requestedSchema")),
        Some("url") => {
            let url = params.get("url");
            let valid = url.and_then(Value::as_str).is_some_and(|url| reqwest::Url::parse(url).is_ok());
            (!valid).then(|| format!("url is {}", brief_or_missing(url)))
        }
        _ => Some(format!("mode is {}", brief_or_missing(params.get("mode")))),
    }
}

/// The schema of a form is a flat object of primitive properties (client/elicitation#requested-schema).
fn form_fault(schema: Option<&Value>) -> Option<String> {
    let properties = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    let is_object = schema.and_then(|schema| schema.get("type")).is_some_and(|kind| kind == "object");
    let Some(properties) = properties.filter(|_| is_object) else {
        return Some(format!("requestedSchema is {}", brief_or_missing(schema)));
    };
    properties.iter().find_map(|(name, property)| {
        let kind = property.get("type").and_then(Value::as_str);
        let choices = property.get("items").is_some_and(|items| items.get("enum").or(items.get("anyOf")).is_some());
        let flat = match kind {
            Some("string" | "number" | "integer" | "boolean") => true,
            Some("array") => choices,
            _ => false,
        };
        (!flat).then(|| format!("the field `{name}` is {}", brief(property)))
    })
}

fn declared_capabilities(transcript: &Transcript<'_>) -> CheckOutcome {
    each_request(transcript, |one, request| {
        let declared = |pointer: &str| meta(one, META_CAPABILITIES).and_then(|all| all.pointer(pointer)).is_some();
        let param = |key: &str| request.get("params").and_then(|params| params.get(key));
        let missing = match request.get("method")?.as_str()? {
            "roots/list" => (!declared("/roots")).then_some("roots"),
            "sampling/createMessage" if !declared("/sampling") => Some("sampling"),
            "sampling/createMessage" => {
                let tools = param("tools").is_some() || param("toolChoice").is_some();
                (tools && !declared("/sampling/tools")).then_some("sampling.tools")
            }
            "elicitation/create" if !declared("/elicitation") => Some("elicitation"),
            "elicitation/create" if param("mode").is_some_and(|mode| mode == "url") => {
                (!declared("/elicitation/url")).then_some("elicitation.url")
            }
            // Without a mode the capability means forms.
            "elicitation/create" => {
                (declared("/elicitation/url") && !declared("/elicitation/form")).then_some("elicitation.form")
            }
            _ => None,
        };
        missing.map(|missing| format!("the request needs `{missing}`, which the client did not declare"))
    })
}

/// The same request without the members that a retry changes.
fn target<'a>(one: &RequestResponse<'a>) -> (Option<&'a str>, Option<&'a Value>, Option<&'a Value>) {
    (one.request.method(), one.param("name").or_else(|| one.param("uri")), one.param("arguments"))
}

fn is_retry(one: &RequestResponse<'_>) -> bool {
    one.param("inputResponses").is_some() || one.param("requestState").is_some()
}

fn missing_capability(transcript: &Transcript<'_>) -> CheckOutcome {
    // What a target requests in any round, and what it always requests first, so that all of it is missing.
    let mut asked = HashMap::<_, HashSet<_>>::new();
    let mut asked_first = HashMap::<_, HashSet<_>>::new();
    for (one, result) in interim(transcript) {
        let requests = result.get("inputRequests").and_then(Value::as_object).into_iter().flat_map(Map::values);
        let features: HashSet<_> =
            requests.filter_map(|request| feature_of(request.get("method")?.as_str()?)).collect();
        if !is_retry(one) {
            asked_first
                .entry(target(one))
                .or_insert_with(|| features.clone())
                .retain(|feature| features.contains(feature));
        }
        asked.entry(target(one)).or_default().extend(features);
    }
    without_capabilities(transcript, |one| {
        let error = one.error()?;
        if one.code() != Some(-32021) {
            return Some(format!("it is rejected with {}", brief(error)));
        }
        let required = error.pointer("/data/requiredCapabilities")?.as_object()?;
        let asked = asked.get(&target(one))?;
        let is_named = required.keys().any(|name| asked.contains(name.as_str()));
        let first = asked_first.get(&target(one)).into_iter().flatten();
        let all_named = first.into_iter().all(|name| required.contains_key(*name));
        ((!is_named || !all_named) && !asked.is_empty()).then(|| {
            format!("requiredCapabilities is {}, and the input requests need {asked:?}", brief(&json!(required)))
        })
    })
}

fn missing_capability_in_result(transcript: &Transcript<'_>) -> CheckOutcome {
    without_capabilities(transcript, tool_error)
}

/// Judges the requests without any capability whose targets request input of a client that has them all.
fn without_capabilities<'a>(
    transcript: &Transcript<'a>,
    fault: impl Fn(&RequestResponse<'a>) -> Option<String>,
) -> CheckOutcome {
    let bare = |one: &&RequestResponse<'_>| {
        let declared = meta(one, META_CAPABILITIES).and_then(Value::as_object);
        !is_retry(one) && declared.is_some_and(Map::is_empty)
    };
    let asking: Vec<_> = interim(transcript).map(|(one, _)| one).filter(|one| !is_retry(one)).map(target).collect();
    let requests = modern_requests(transcript).filter(bare).filter(|one| asking.contains(&target(one)));
    let fault = |one: &&RequestResponse<'a>| {
        Some(format!(
            "with the capabilities the request is answered with input requests, and without them {}",
            fault(one)?
        ))
    };
    let requests = requests.map(|one| (one.last_frame(), one));
    Findings::from_each(requests, fault).or_not_applicable("requests", NO_INPUT)
}

/// How a retry relates to the input requests before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Retry {
    /// It has the state and exactly the requested responses.
    Complete,
    /// It has the state, and no responses although some were requested.
    Missing,
    /// It has the state, the requested responses and another one.
    Extra,
    /// It has another state.
    Changed,
    /// Its responses are not those of the requested kinds.
    Malformed,
    /// The content of a form violates the requested schema.
    Invalid,
}

/// The kind of a retry after this result.
fn retry_kind(before: &Value, retry: &RequestResponse<'_>) -> Retry {
    let requested = before.get("inputRequests").and_then(Value::as_object);
    let responses = retry.param("inputResponses");
    if before.get("requestState") != retry.param("requestState") {
        return Retry::Changed;
    }
    let keys = requested.into_iter().flat_map(Map::keys);
    let given = match responses {
        None => return if requested.is_none_or(Map::is_empty) { Retry::Complete } else { Retry::Missing },
        Some(Value::Object(given)) => given,
        Some(_) => return Retry::Malformed,
    };
    if given.values().any(|response| !response.is_object()) {
        return Retry::Malformed;
    }
    let violates = |(key, request): (&String, &Value)| {
        let (schema, content) = (request.pointer("/params/requestedSchema"), given.get(key)?.get("content"));
        Some(!jsonschema::validator_for(schema?).ok()?.is_valid(content?))
    };
    if requested.into_iter().flatten().any(|one| violates(one) == Some(true)) {
        return Retry::Invalid;
    }
    let missing = keys.clone().any(|key| !given.contains_key(key));
    match (missing, given.len() > keys.count()) {
        (true, _) => Retry::Missing,
        (false, true) => Retry::Extra,
        (false, false) => Retry::Complete,
    }
}

/// Judges the retries of one kind, each after the latest result that requested input for the same target.
fn retried(
    transcript: &Transcript<'_>,
    wanted: Retry,
    fault: fn(&RequestResponse<'_>) -> Option<String>,
) -> CheckOutcome {
    let states: Vec<_> = interim(transcript).filter_map(|(_, result)| result.get("requestState")).collect();
    // The state of another request is authentic. Another check judges it.
    let is_foreign = |retry: &RequestResponse<'_>| retry.param("requestState").is_some_and(|it| states.contains(&it));
    let is_wanted = |before: &Value, retry: &RequestResponse<'_>| {
        retry_kind(before, retry) == wanted && !(wanted == Retry::Changed && is_foreign(retry))
    };
    each_retry(transcript, is_wanted, fault)
}

/// Judges the retries that satisfy a condition together with the result before them.
fn each_retry(
    transcript: &Transcript<'_>,
    wanted: impl Fn(&Value, &RequestResponse<'_>) -> bool,
    fault: fn(&RequestResponse<'_>) -> Option<String>,
) -> CheckOutcome {
    let mut findings = Findings::default();
    let mut latest: Vec<(_, &Value)> = Vec::new();
    for one in transcript.requests().iter().filter(|one| is_modern(one)) {
        let target = target(one);
        if is_retry(one) {
            let before = latest.iter().rev().find(|(other, _)| *other == target);
            // A retry may lack a capability. Another check judges the error.
            let is_complete = one.code() != Some(-32021);
            if is_complete && before.is_some_and(|(_, before)| wanted(before, one)) {
                findings.check(one.last_frame(), fault(one).map_or(Ok(()), Err));
            }
        }
        if let Some(result) = one.result().filter(|result| requests_input(result)) {
            // A retry that failed does not change the expected responses.
            latest.retain(|(other, _)| *other != target);
            latest.push((target, result));
        }
    }
    findings.or_not_applicable("retries", "there was no such retry")
}

/// Judges the retries with the state of another request: of a call with other arguments, or of another item, if both request
/// input.
fn foreign_state(transcript: &Transcript<'_>) -> CheckOutcome {
    let states: Vec<_> =
        interim(transcript).filter_map(|(one, result)| Some((target(one), result.get("requestState")?))).collect();
    let asking: HashSet<_> = states.iter().map(|((method, item, _), _)| (*method, *item)).collect();
    let foreign = |one: &&RequestResponse<'_>| {
        let own @ (method, item, _) = target(one);
        let mut origins = states.iter().filter(|(_, state)| one.param("requestState") == Some(*state)).peekable();
        // An item without a state ignores it.
        origins.peek().is_some() && asking.contains(&(method, item)) && origins.all(|(origin, _)| *origin != own)
    };
    let retries = modern_requests(transcript).filter(foreign).map(|one| (one.last_frame(), one));
    Findings::from_each(retries, |one| not_completed(one)).or_not_applicable("retries", "there was no such retry")
}

/// The fault of a rejection as a malformed request. Other errors may have their cause in the values.
fn no_request_error(one: &RequestResponse<'_>) -> Option<String> {
    let rejected = one.code().is_none_or(|code| (-32602..=-32600).contains(&code) || code == -32021);
    no_error(one).filter(|_| rejected)
}

fn no_error(one: &RequestResponse<'_>) -> Option<String> {
    let response = one.response.map_or_else(|| "the server sent no response".to_owned(), |it| brief(it.json));
    one.result().is_none().then_some(response)
}

fn not_completed(one: &RequestResponse<'_>) -> Option<String> {
    let result = one.result()?;
    let failed = requests_input(result) || has_is_error(result);
    (!failed).then(|| format!("the request is completed: {}", brief(result)))
}

fn tool_error(one: &RequestResponse<'_>) -> Option<String> {
    let result = one.result().filter(|result| has_is_error(result))?;
    Some(format!("the result is {}", brief(result)))
}

fn declined(transcript: &Transcript<'_>) -> CheckOutcome {
    let declines = |response: &Value| response.get("action").is_some_and(|action| action != "accept");
    let is_declined = |before: &Value, retry: &RequestResponse<'_>| {
        let responses = retry.param("inputResponses").and_then(Value::as_object);
        let declined = responses.is_some_and(|responses| responses.values().any(declines));
        declined && retry.request.is("tools/call") && retry_kind(before, retry) == Retry::Complete
    };
    each_retry(transcript, is_declined, |one| {
        let error = one.error().filter(|_| one.code() == Some(-32603))?;
        Some(format!("the user did not accept, and the call fails with {}", brief(error)))
    })
}
