//! Parameters of tools that are repeated in headers: the annotations in the schemas, and the comparison with the arguments.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{super::security::is_secret, all_pass, headers::headers_match, modern_requests, rejected_over};
use crate::{
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope, brief},
        transcript::{RequestResponse, Transcript, http::header},
    },
    parameter_headers::{MirroredParameter, annotation_fault, decoded, has_annotation, mirrored},
};

pub(in super::super) const CHECKS: &[Check] = &[
    Check {
        id: "parameter-header-annotations",
        requirement: "tools/header-annotations",
        scope: Scope::Always,
        expected: "every x-mcp-header is a unique token on a string, integer or boolean that is reachable by properties",
        rule: Rule::Case(annotations),
    },
    Check {
        id: "sensitive-parameters-have-no-header",
        requirement: "tools/no-secrets-in-headers",
        scope: Scope::Always,
        expected: "no parameter in a header is named like a password, an API key, an access token or a payment card",
        rule: Rule::Case(sensitive),
    },
    Check {
        id: "http-parameter-headers-are-compared",
        requirement: "transports/parameter-headers",
        scope: Scope::Always,
        expected: "a call is rejected with -32020 and 400 if and only if a parameter header contradicts its argument",
        rule: Rule::Case(compared),
    },
    Check {
        id: "http-integer-parameters-are-compared-as-numbers",
        requirement: "transports/integer-parameters",
        scope: Scope::Always,
        expected: "an integer in a parameter header with another spelling is accepted",
        rule: Rule::Case(numeric),
    },
];

fn annotations(transcript: &Transcript<'_>) -> CheckOutcome {
    let tools = transcript.items("tools/list", "tools");
    let annotated = tools.filter_map(|(seq, tool)| Some((seq, (tool, tool.get("inputSchema")?))));
    let annotated = annotated.filter(|(_, (_, schema))| has_annotation(schema));
    let fault = |(tool, schema): &(&Value, &Value)| {
        let fault = annotation_fault(schema)?;
        Some(format!(
            "in the definition of `{}`, {fault}",
            tool.get("name").and_then(Value::as_str).unwrap_or_default()
        ))
    };
    Findings::from_each(annotated, fault).or_not_applicable("tools", "no tool has an annotated parameter")
}

fn sensitive(transcript: &Transcript<'_>) -> CheckOutcome {
    let tools = transcript.items("tools/list", "tools");
    let parameters = tools.flat_map(|(seq, tool)| {
        let found = tool.get("inputSchema").map(mirrored).unwrap_or_default();
        found.into_iter().map(move |parameter| (seq, (tool, parameter)))
    });
    let fault = |(tool, parameter): &(&Value, MirroredParameter)| {
        let name = parameter.path.last().filter(|name| is_secret(name))?;
        Some(format!("`{}` has `{name}` in the header {}", tool["name"].as_str().unwrap_or_default(), parameter.header))
    };
    Findings::from_each(parameters, fault).or_not_applicable("parameters", "no tool has an annotated parameter")
}

/// How a header relates to its argument.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// They match, or neither exists.
    Match,
    /// They match only as numbers.
    Numeric,
    /// The argument has a value, and the header is missing, invalid or another one.
    Contradiction,
    /// The header has characters that no header may have. Software before the server may reject it in its own way.
    Invalid,
    /// The revision has no rule for it.
    Unruled,
}

fn relation(parameter: &MirroredParameter, argument: Option<&Value>, header: Option<&str>) -> Relation {
    let Some(argument) = argument.filter(|argument| !argument.is_null()) else {
        return if header.is_none() { Relation::Match } else { Relation::Unruled };
    };
    // The specification has no form for an empty text.
    let Some(text) = parameter.text(argument).filter(|text| !text.is_empty()) else { return Relation::Unruled };
    if header.is_some_and(|header| !header.chars().all(|one| matches!(one, ' '..='~' | '\t'))) {
        return Relation::Invalid;
    }
    let Some(header) = header.and_then(decoded) else { return Relation::Contradiction };
    let number = argument.as_f64().filter(|_| argument.is_number());
    if header == text {
        Relation::Match
    } else if number.is_some() && header.parse().ok() == number {
        Relation::Numeric
    } else {
        Relation::Contradiction
    }
}

/// The calls of tools with annotated parameters, with the relations of these parameters to their headers.
fn calls<'t, 'a>(transcript: &'t Transcript<'a>) -> Vec<(&'t RequestResponse<'a>, Vec<Relation>)> {
    let mut tools: BTreeMap<&str, Vec<MirroredParameter>> = BTreeMap::new();
    for (_, tool) in transcript.items("tools/list", "tools") {
        let (Some(name), Some(schema)) = (tool.get("name").and_then(Value::as_str), tool.get("inputSchema")) else {
            continue;
        };
        let found = mirrored(schema);
        // No client uses a tool with an invalid annotation.
        if !found.is_empty() && annotation_fault(schema).is_none() {
            tools.insert(name, found);
        }
    }
    let calls = modern_requests(transcript).filter(|one| transcript.is_http() && one.request.is("tools/call"));
    // The other headers have a check of their own.
    let calls = calls.filter(|one| headers_match(one.request.frame));
    let relations = |one: &RequestResponse<'_>| {
        let parameters = tools.get(one.request.tool()?)?;
        let arguments = one.param("arguments").unwrap_or(&Value::Null);
        let header = |parameter: &MirroredParameter| header(one.request.frame, &parameter.header);
        let relation = |one: &MirroredParameter| relation(one, one.argument(arguments), header(one));
        Some(parameters.iter().map(relation).collect())
    };
    calls.filter_map(|one| Some((one, relations(one)?))).collect()
}

fn compared(transcript: &Transcript<'_>) -> CheckOutcome {
    let outcomes = calls(transcript).into_iter().filter(|(one, _)| one.response.is_some()).map(|(one, relations)| {
        let outcome = if relations.contains(&Relation::Invalid) {
            match one.result() {
                Some(_) => CheckOutcome::failed("a header with invalid characters is accepted", one.frames()),
                None => CheckOutcome::passed("the header is rejected", one.frames()),
            }
        } else if relations.contains(&Relation::Contradiction) {
            rejected_over(transcript, one, &[-32020], 400)
        } else if relations.iter().any(|relation| *relation != Relation::Match) {
            CheckOutcome::not_applicable("no rule decides")
        } else {
            accepted(one)
        };
        (one, outcome)
    });
    all_pass(outcomes, "no tool with an annotated parameter was called")
}

fn numeric(transcript: &Transcript<'_>) -> CheckOutcome {
    let calls = calls(transcript).into_iter().filter(|(one, relations)| {
        let only = relations.iter().all(|relation| matches!(relation, Relation::Match | Relation::Numeric));
        one.response.is_some() && only && relations.contains(&Relation::Numeric)
    });
    all_pass(calls.map(|(one, _)| (one, accepted(one))), "no integer was sent with another spelling")
}

/// Passes if the headers of a call were not rejected.
fn accepted(request: &RequestResponse<'_>) -> CheckOutcome {
    match request.error().filter(|_| request.code() == Some(-32020)) {
        Some(error) => {
            CheckOutcome::failed(format!("the headers match, and the error is {}", brief(error)), request.frames())
        }
        None => CheckOutcome::passed("the headers are accepted", request.frames()),
    }
}
