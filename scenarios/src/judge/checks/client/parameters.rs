//! Input schemas in the list of tools: parameters that calls repeat in HTTP headers, and references to other documents
//! (2026-07-28, basic/transports/streamable-http, server/tools and basic/index).

use std::collections::HashMap;

use serde_json::Value;
use url::Url;

use super::modern::carries;
use crate::{
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope},
        transcript::{Message, Transcript, http::header},
    },
    parameter_headers::{MirroredParameter, annotation_fault, mirrored},
};

/// Maximum depth of a schema that is searched for references.
const MAX_DEPTH: usize = 32;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "parameters-are-mirrored",
        requirement: "http/parameter-headers",
        scope: Scope::Always,
        expected: "each annotated parameter with a value is in its header, and one without a value is not",
        rule: Rule::Case(parameters_are_mirrored),
    },
    Check {
        id: "invalid-parameter-headers-rejected",
        requirement: "client/rejects-invalid-parameter-headers",
        scope: Scope::Always,
        expected: "a tool with an invalid `x-mcp-header` is neither listed nor called",
        rule: Rule::Case(invalid_parameter_headers_rejected),
    },
    Check {
        id: "no-network-references",
        requirement: "client/no-network-references",
        scope: Scope::Named,
        expected: "the URL of a `$ref` is not fetched",
        rule: Rule::Case(no_network_references),
    },
];

/// The calls of 2026-07-28 over HTTP, each with the input schema that its server listed last before it.
fn calls_with_schemas<'a>(transcript: &Transcript<'a>) -> Vec<(Message<'a>, &'a str, &'a Value)> {
    let mut schemas: HashMap<(&str, &str), Vec<(u64, &Value)>> = HashMap::new();
    for (server, seq, tool) in listed_tools(transcript) {
        if let (Some(name), Some(schema)) = (tool.get("name").and_then(Value::as_str), tool.get("inputSchema")) {
            schemas.entry((server, name)).or_default().push((seq, schema));
        }
    }
    let calls = transcript.client_messages().filter(|call| call.frame.http.is_some() && call.is_modern());
    let with_schema = calls.filter_map(|call| {
        let tool = call.tool()?;
        let listed = schemas.get(&(call.frame.server.as_str(), tool))?;
        let earlier = listed.partition_point(|(seq, _)| *seq < call.seq());
        let (_, schema) = listed.get(earlier.checked_sub(1)?)?;
        Some((call, tool, *schema))
    });
    with_schema.collect()
}

/// The server, the frame and the definition of each listed tool, in order of the frames.
fn listed_tools<'a>(transcript: &Transcript<'a>) -> Vec<(&'a str, u64, &'a Value)> {
    let pages = transcript.requests_of("tools/list").filter_map(|one| Some((one.response?, one.result()?)));
    let tools = pages.flat_map(|(response, result)| {
        let tools = result.get("tools").and_then(Value::as_array).into_iter().flatten();
        tools.map(move |tool| (response.frame.server.as_str(), response.seq(), tool))
    });
    let mut tools: Vec<_> = tools.collect();
    tools.sort_by_key(|(_, seq, _)| *seq);
    tools
}

fn parameters_are_mirrored(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for (call, tool, schema) in calls_with_schemas(transcript) {
        // Another check judges the calls of such a tool.
        if annotation_fault(schema).is_some() {
            continue;
        }
        let arguments = call.param("arguments").unwrap_or(&Value::Null);
        for parameter in mirrored(schema) {
            let fault = header_fault(&parameter, arguments, header(call.frame, &parameter.header));
            findings.check(call.seq(), fault.map_or(Ok(()), |fault| Err(format!("in a call of `{tool}`, {fault}"))));
        }
    }
    findings.or_not_applicable("parameters", "no tool with annotated parameters was called")
}

/// Says where a header does not repeat its parameter.
fn header_fault(parameter: &MirroredParameter, arguments: &Value, given: Option<&str>) -> Option<String> {
    let name = &parameter.header;
    let Some(value) = parameter.argument(arguments).filter(|value| !value.is_null()) else {
        return given.map(|_| format!("{name} is present, although the parameter has no value"));
    };
    // A value of another type violates the schema, and the revision has no rule for it.
    let text = parameter.text(value)?;
    match given {
        None => Some(format!("{name} is absent")),
        Some(given) if carries(given, &text) => None,
        // The spelling of numbers may differ: `42.0` (server behavior).
        Some(given) if value.is_number() && given.parse() == text.parse::<f64>() => None,
        Some(given) => Some(format!("{name} is `{given}`, the parameter is `{}`", text.escape_debug())),
    }
}

fn invalid_parameter_headers_rejected(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let reported = reported_tools(transcript);
    for (_, seq, tool) in listed_tools(transcript) {
        let Some(fault) = tool.get("inputSchema").and_then(annotation_fault) else { continue };
        findings.saw(seq);
        // A client with several servers may add to the names.
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        if reported.iter().any(|listed| listed.ends_with(name)) {
            findings.fail(format!("the client lists `{name}`, but {fault}"), [seq]);
        }
    }
    for (call, tool, schema) in calls_with_schemas(transcript) {
        if let Some(fault) = annotation_fault(schema) {
            findings.fail(format!("`{tool}` was called, but {fault}"), [call.seq()]);
        }
    }
    findings.or_not_applicable("tools", "no tool has an invalid annotation")
}

/// The names of the tools that the client lists, as it reports them. Only over HTTP must it leave out invalid ones.
fn reported_tools<'a>(transcript: &Transcript<'a>) -> Vec<&'a str> {
    if !transcript.is_http() || !transcript.evidence.revision.is_modern() {
        return Vec::new();
    }
    let lists = transcript.step_values().filter_map(|value| value.get("tools")?.as_array());
    lists.flatten().filter_map(|tool| tool.get("name")?.as_str()).collect()
}

fn no_network_references(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let requested = transcript.client_frames_by_path();
    for (server, seq, tool) in listed_tools(transcript) {
        let mut references = Vec::new();
        for key in ["inputSchema", "outputSchema"] {
            collect_references(tool.get(key).unwrap_or(&Value::Null), &mut references, MAX_DEPTH);
        }
        for url in references {
            let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
            let fetched = requested.get(target).and_then(|frames| frames.iter().find(|frame| frame.server == server));
            let message = || format!("it sent a request to `{target}`, which is the URL of a `$ref`");
            findings.check(fetched.map_or(seq, |frame| frame.seq), fetched.map_or(Ok(()), |_| Err(message())));
        }
    }
    findings.or_blocked("references", "no tool with a reference to a URL was listed")
}

fn collect_references(schema: &Value, found: &mut Vec<Url>, depth: usize) {
    let Some(depth) = depth.checked_sub(1) else { return };
    match schema {
        Value::Object(members) => {
            let reference = members.get("$ref").and_then(Value::as_str).and_then(|text| Url::parse(text).ok());
            found.extend(reference.filter(|url| url.has_host()));
            members.values().for_each(|member| collect_references(member, found, depth));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, found, depth)),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
