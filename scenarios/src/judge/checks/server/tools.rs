//! Tools of a server: form, names and schemas, and an unknown tool.

use std::{collections::BTreeMap, sync::LazyLock};

use regex::Regex;
use serde_json::{Map, Value};

use super::{NO_RESPONSE, has_is_error, rejected_with_or_as_sdk, request_with};
use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope, brief},
    transcript::{RequestResponse, Transcript},
};

static NAME: LazyLock<Regex> = LazyLock::new(|| Regex::new("^[A-Za-z0-9_.-]{1,128}$").expect("a constant, tested"));

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "tool-schemas-are-valid",
        requirement: "tools/valid-schemas",
        scope: Scope::Named,
        expected: "every schema is valid in its dialect",
        rule: Rule::Case(valid_schemas),
    },
    Check {
        id: "tool-patterns-are-regular-expressions",
        requirement: "tools/valid-patterns",
        scope: Scope::Named,
        expected: "every `pattern` in a schema, and every name in `patternProperties`, is a regular expression of ECMA-262",
        rule: Rule::Case(valid_patterns),
    },
    Check {
        id: "tool-names-are-unique",
        requirement: "tools/unique-names",
        scope: Scope::Named,
        expected: "no two tools have the same name",
        rule: Rule::Case(unique_names),
    },
    Check {
        id: "tool-names-are-plain",
        requirement: "tools/plain-names",
        scope: Scope::Named,
        expected: "names have 1 to 128 letters, digits, `_`, `-` and `.`",
        rule: Rule::Case(plain_names),
    },
    Check {
        id: "tools-in-the-same-order",
        requirement: "tools/deterministic-order",
        scope: Scope::Named,
        expected: "two listings have the same tools in the same order",
        rule: Rule::Case(order),
    },
    Check {
        id: "unknown-tool-is-refused",
        requirement: "tools/unknown-tool",
        scope: Scope::Named,
        expected: "the call of an unknown tool has an error",
        rule: Rule::Case(unknown_tool),
    },
    Check {
        id: "unknown-tool-is-a-protocol-error",
        requirement: "tools/unknown-tool-code",
        scope: Scope::Named,
        expected: "the error is a JSON-RPC error with -32602",
        rule: Rule::Case(unknown_tool_code),
    },
];

const NO_TOOLS: &str = "the server lists no tools";

fn each(transcript: &Transcript<'_>, fault: impl Fn(&Value) -> Option<String>) -> CheckOutcome {
    let findings = Findings::from_each(transcript.items("tools/list", "tools"), |tool| {
        let fault = fault(tool)?;
        let name = tool.get("name").map_or_else(
            || "(without a name)".to_owned(),
            |name| name.as_str().map_or_else(|| brief(name), str::to_owned),
        );
        Some(format!("in the definition of `{name}`, {fault}"))
    });
    findings.or_not_applicable("tools", NO_TOOLS)
}

fn valid_schemas(transcript: &Transcript<'_>) -> CheckOutcome {
    each(transcript, |tool| {
        each_schema(tool, |key, schema| Some(format!("{key} is invalid {}", schema_fault(schema)?)))
    })
}

fn valid_patterns(transcript: &Transcript<'_>) -> CheckOutcome {
    each(transcript, |tool| {
        each_schema(tool, |key, schema| {
            let mut parts = parts(schema);
            parts.find_map(invalid_pattern).map(|(pattern, why)| format!("{key} has the pattern `{pattern}`: {why}"))
        })
    })
}

fn each_schema(tool: &Value, fault: impl Fn(&str, &Value) -> Option<String>) -> Option<String> {
    let schemas = ["inputSchema", "outputSchema"].into_iter().filter_map(|key| Some((key, tool.get(key)?)));
    schemas.filter(|(_, schema)| schema.is_object()).find_map(|(key, schema)| fault(key, schema))
}

/// A pattern of this part of a schema that is a regular expression neither with nor without the flag `u`, and why.
fn invalid_pattern(part: &Map<String, Value>) -> Option<(&str, String)> {
    let names = part.get("patternProperties").and_then(Value::as_object).into_iter().flat_map(|names| names.keys());
    // A property may be named `pattern`: its value is a schema.
    let patterns = part.get("pattern").and_then(Value::as_str).into_iter().chain(names.map(String::as_str));
    patterns.into_iter().find_map(|pattern| {
        let error = regress::Regex::with_flags(pattern, "u").err()?;
        regress::Regex::new(pattern).is_err().then(|| (pattern, error.to_string()))
    })
}

/// The objects of a schema that may be schemas.
fn parts(schema: &Value) -> impl Iterator<Item = &Map<String, Value>> {
    let mut rest = vec![schema];
    std::iter::from_fn(move || {
        loop {
            match rest.pop()? {
                Value::Array(items) => rest.extend(items),
                Value::Object(members) => {
                    // Values are no schemas.
                    let values = ["const", "enum", "default", "examples"];
                    rest.extend(
                        members.iter().filter(|(key, _)| !values.contains(&key.as_str())).map(|(_, value)| value),
                    );
                    return Some(members);
                }
                _ => {}
            }
        }
    })
}

/// Why a schema is invalid in the dialect that it names, or in 2020-12 if it names none. Unknown dialects are not judged.
fn schema_fault(schema: &Value) -> Option<String> {
    let known = |dialect: &str| dialect.contains("json-schema.org/draft");
    let error = match schema.get("$schema") {
        Some(dialect) if !dialect.as_str().is_some_and(known) => return None,
        Some(_) => jsonschema::meta::validate(schema),
        None => jsonschema::draft202012::meta::validate(schema),
    };
    let Err(error) = error else { return missing_reference(schema) };
    let path = error.instance_path().to_string();
    Some(format!("at `{path}`: {}", error.to_string().chars().take(160).collect::<String>()))
}

/// A reference within the schema that leads to nothing. A schema with identifiers or anchors is not judged, since they
/// change what references are relative to.
fn missing_reference(schema: &Value) -> Option<String> {
    let text = schema.to_string();
    if ["\"$id\"", "\"$anchor\"", "\"$dynamicAnchor\"", "%"].iter().any(|part| text.contains(part)) {
        return None;
    }
    let pointers = parts(schema).filter_map(|part| part.get("$ref")?.as_str()?.strip_prefix('#'));
    let missing = pointers.into_iter().find(|pointer| schema.pointer(pointer).is_none())?;
    Some(format!("at `$ref`: `#{missing}` leads to nothing"))
}

fn unique_names(transcript: &Transcript<'_>) -> CheckOutcome {
    let Some(listing) = listings(transcript).into_iter().next() else { return CheckOutcome::not_applicable(NO_TOOLS) };
    let mut counts: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
    for (frame, name) in listing {
        let (count, last) = counts.entry(name).or_insert((0, frame));
        (*count, *last) = (*count + 1, frame);
    }
    let names = counts.into_iter().map(|(name, (count, frame))| (frame, (name, count)));
    let fault = |(name, count): &(&str, usize)| (*count > 1).then(|| format!("{count} tools have the name `{name}`"));
    Findings::from_each(names, fault).or_not_applicable("names", NO_TOOLS)
}

fn plain_names(transcript: &Transcript<'_>) -> CheckOutcome {
    each(transcript, |tool| {
        let name = tool.get("name")?.as_str()?;
        (!NAME.is_match(name)).then(|| "it has other characters or another length".to_owned())
    })
}

fn order(transcript: &Transcript<'_>) -> CheckOutcome {
    let listings = listings(transcript);
    if listings.len() < 2 {
        return CheckOutcome::not_applicable("the tools were not listed twice");
    }
    if transcript.server_messages().any(|message| message.is("notifications/tools/list_changed")) {
        return CheckOutcome::not_applicable("the server announced a change of its tools");
    }
    let names = |listing: &[(u64, &str)]| listing.iter().map(|(_, name)| (*name).to_owned()).collect::<Vec<_>>();
    let mut findings = Findings::default();
    listings.iter().flatten().for_each(|(frame, _)| findings.saw(*frame));
    for pair in listings.windows(2).filter(|pair| names(&pair[0]) != names(&pair[1])) {
        findings.fail("the listings differ", pair.iter().flatten().map(|(frame, _)| *frame));
    }
    findings.or_not_applicable("tools", NO_TOOLS)
}

/// The names of each complete listing, from a request without a cursor to a result without one.
fn listings<'a>(transcript: &Transcript<'a>) -> Vec<Vec<(u64, &'a str)>> {
    let (mut found, mut listing) = (Vec::new(), Vec::new());
    let mut returned = None;
    for request in transcript.requests_of("tools/list") {
        let Some(result) = request.result() else { continue };
        if request.param("cursor").is_none() {
            listing.clear();
        } else if returned.is_none() || request.param("cursor") != returned {
            // The response to an invented or an old cursor is not a page of the listing.
            continue;
        }
        returned = result.get("nextCursor");
        let tools = result.get("tools").and_then(Value::as_array).into_iter().flatten();
        listing.extend(tools.filter_map(|tool| Some((request.last_frame(), tool.get("name")?.as_str()?))));
        if returned.is_none() {
            found.push(std::mem::take(&mut listing));
        }
    }
    found
}

fn unknown_call<'t, 'a>(transcript: &'t Transcript<'a>) -> Option<&'t RequestResponse<'a>> {
    request_with(transcript, "tools/call", "name", transcript.unknown.tool.as_deref())
}

fn unknown_tool(transcript: &Transcript<'_>) -> CheckOutcome {
    let Some(call) = unknown_call(transcript) else {
        return CheckOutcome::not_applicable("no unknown tool was called");
    };
    let Some(response) = call.response else { return CheckOutcome::failed(NO_RESPONSE, call.frames()) };
    let silent = inherited_calls(transcript).find(|one| one.response.is_none());
    if let Some(silent) = silent {
        let name = silent.request.tool().unwrap_or_default();
        return CheckOutcome::failed(format!("{NO_RESPONSE} to the call of `{name}`"), silent.frames());
    }
    if call.error().is_some() || is_error_result(call) {
        CheckOutcome::passed(brief(response.json), call.frames())
    } else {
        CheckOutcome::failed(format!("the call succeeds: {}", brief(response.json)), call.frames())
    }
}

/// The calls of tools with names that every object of JavaScript has.
fn inherited_calls<'t, 'a>(transcript: &'t Transcript<'a>) -> impl Iterator<Item = &'t RequestResponse<'a>> {
    let inherited = |one: &&RequestResponse<'_>| matches!(one.request.tool(), Some("constructor" | "__proto__"));
    transcript.requests_of("tools/call").filter(inherited)
}

fn is_error_result(call: &RequestResponse<'_>) -> bool {
    call.result().is_some_and(has_is_error)
}

fn unknown_tool_code(transcript: &Transcript<'_>) -> CheckOutcome {
    // The Python and TypeScript SDKs report it in the result, and a tool cannot change that.
    if let Some(call) = unknown_call(transcript).filter(|call| is_error_result(call)) {
        return CheckOutcome::passed("a result with isError, as several SDKs do instead of an error", call.frames());
    }
    let outcome = rejected_with_or_as_sdk(unknown_call(transcript), &[-32602], "an unknown tool");
    if unknown_call(transcript).and_then(RequestResponse::code) != Some(-32602) {
        return outcome;
    }
    let differs = |one: &&RequestResponse<'_>| one.code().is_some_and(|code| code != -32602);
    let other = inherited_calls(transcript).find(differs);
    other.map_or(outcome, |other| {
        let message = format!(
            "`{}` is rejected with {}, and other unknown tools with -32602",
            other.request.tool().unwrap_or_default(),
            other.error().map(brief).unwrap_or_default()
        );
        CheckOutcome::failed(message, other.frames())
    })
}
