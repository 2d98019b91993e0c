//! Parameters of tools that are repeated in headers: the annotations in the schemas, and the comparison with the arguments.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use regex::Regex;
use serde_json::Value;

use super::{
    all_pass,
    headers::{decoded, headers_match},
    modern_requests, rejected_over,
};
use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope, brief},
    transcript::{RequestResponse, Transcript, http::header},
};

// RFC 9110, 5.6.2: the characters of a token.
static TOKEN: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$").expect("a constant, tested"));

/// The keyword in a schema.
const ANNOTATION: &str = "x-mcp-header";
/// Maximum depth of a schema that is searched.
const MAX_DEPTH: usize = 32;

pub(in super::super) const CHECKS: &[Check] = &[
    Check {
        id: "parameter-header-annotations",
        requirement: "tools/header-annotations",
        scope: Scope::Always,
        expected: "every x-mcp-header is a unique token on a string, integer or boolean that is reachable by properties",
        rule: Rule::Case(annotations),
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
    let annotated = annotated.filter(|(_, (_, schema))| has_annotation(schema, MAX_DEPTH));
    let fault = |(tool, schema): &(&Value, &Value)| {
        let mut names = BTreeSet::new();
        let fault = annotation_fault(schema, true, &mut names, MAX_DEPTH)?;
        Some(format!("`{}`: {fault}", tool.get("name").and_then(Value::as_str).unwrap_or_default()))
    };
    Findings::from_each(annotated, fault).or_not_applicable("tools", "no tool has an annotated parameter")
}

fn has_annotation(schema: &Value, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    match schema {
        Value::Object(members) => {
            members.contains_key(ANNOTATION) || members.values().any(|member| has_annotation(member, depth))
        }
        Value::Array(items) => items.iter().any(|item| has_annotation(item, depth)),
        _ => false,
    }
}

/// The first violation of the constraints. `reachable` says whether only `properties` lead to the schema.
fn annotation_fault(schema: &Value, reachable: bool, names: &mut BTreeSet<String>, depth: usize) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    let members = schema.as_object()?;
    if let Some(name) = members.get(ANNOTATION) {
        let kind = members.get("type").and_then(Value::as_str);
        let Some(name) = name.as_str().filter(|name| TOKEN.is_match(name)) else {
            return Some(format!("the header name is {}", brief(name)));
        };
        if !reachable {
            return Some(format!("`{name}` is not reachable by properties alone"));
        }
        if !matches!(kind, Some("string" | "integer" | "boolean")) {
            return Some(format!("`{name}` is on a parameter of type {}", kind.unwrap_or("none")));
        }
        if !names.insert(name.to_ascii_lowercase()) {
            return Some(format!("two parameters have `{name}`"));
        }
    }
    members.iter().find_map(|(keyword, member)| match (keyword.as_str(), member) {
        // Values of these keywords are data, not schemas.
        ("default" | "const" | "enum" | "examples" | ANNOTATION, _) => None,
        ("properties", Value::Object(properties)) => {
            properties.values().find_map(|property| annotation_fault(property, reachable, names, depth))
        }
        (_, Value::Array(items)) => items.iter().find_map(|item| annotation_fault(item, false, names, depth)),
        ("$defs" | "definitions" | "patternProperties" | "dependentSchemas", Value::Object(schemas)) => {
            schemas.values().find_map(|schema| annotation_fault(schema, false, names, depth))
        }
        (_, member) => annotation_fault(member, false, names, depth),
    })
}

/// The annotated parameters of a schema: the path of each and its header.
fn annotated(schema: &Value, path: &str, found: &mut Vec<(String, String)>, depth: usize) {
    let Some(depth) = depth.checked_sub(1) else { return };
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    for (name, property) in properties {
        let path = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
        if let Some(header) = property.get(ANNOTATION).and_then(Value::as_str) {
            found.push((path.clone(), format!("mcp-param-{}", header.to_ascii_lowercase())));
        }
        annotated(property, &path, found, depth);
    }
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
    /// The revision has no rule for it.
    Unruled,
}

fn relation(argument: Option<&Value>, header: Option<&str>) -> Relation {
    let text = match argument {
        None | Some(Value::Null) => return if header.is_none() { Relation::Match } else { Relation::Unruled },
        Some(Value::String(text)) => text.clone(),
        Some(value @ (Value::Bool(_) | Value::Number(_))) => value.to_string(),
        Some(_) => return Relation::Unruled,
    };
    let Some(header) = header.and_then(decoded) else { return Relation::Contradiction };
    let number = argument.filter(|argument| argument.is_number()).and_then(Value::as_f64);
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
    let mut tools: BTreeMap<&str, Vec<(String, String)>> = BTreeMap::new();
    for (_, tool) in transcript.items("tools/list", "tools") {
        let (Some(name), Some(schema)) = (tool.get("name").and_then(Value::as_str), tool.get("inputSchema")) else {
            continue;
        };
        let mut found = Vec::new();
        annotated(schema, "", &mut found, MAX_DEPTH);
        if !found.is_empty() {
            tools.insert(name, found);
        }
    }
    let calls = modern_requests(transcript).filter(|one| transcript.is_http() && one.request.is("tools/call"));
    // The other headers have a check of their own.
    let calls = calls.filter(|one| headers_match(one.request.frame));
    let relations = |one: &RequestResponse<'_>| {
        let parameters = tools.get(one.request.tool()?)?;
        let argument = |path: &str| one.param("arguments").and_then(|arguments| arguments.pointer(path));
        let relation = |(path, name): &(String, String)| relation(argument(path), header(one.request.frame, name));
        Some(parameters.iter().map(relation).collect())
    };
    calls.filter_map(|one| Some((one, relations(one)?))).collect()
}

fn compared(transcript: &Transcript<'_>) -> CheckOutcome {
    let outcomes = calls(transcript).into_iter().filter(|(one, _)| one.response.is_some()).map(|(one, relations)| {
        let outcome = if relations.contains(&Relation::Contradiction) {
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
