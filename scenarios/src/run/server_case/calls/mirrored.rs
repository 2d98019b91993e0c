//! Calls of tools with parameters that are repeated in HTTP headers (2026-07-28, basic/transports/streamable-http).

use serde_json::{Map, Value, json};

use super::{Planned, SEED, fill};
use crate::{
    arguments::ArgumentGenerator,
    parameter_headers::{MirroredParameter, annotation_fault, encode, in_base64, mirrored},
    peer::TITLE_CASE,
};

/// Maximum number of parameters of a tool.
const MAX_PARAMETERS: usize = 4;
/// A text outside of ASCII.
const NOT_ASCII: &str = "workbench-größe";

/// The calls of one tool, the first with the usual headers.
pub(super) fn calls(name: &str, schema: Option<&Value>) -> Result<Vec<Planned>, String> {
    let schema = schema.unwrap_or(&Value::Null);
    let parameters = mirrored(schema);
    if parameters.is_empty() {
        return Err("no parameter is repeated in a header".to_owned());
    }
    if let Some(fault) = annotation_fault(schema) {
        return Err(format!("its annotations are invalid: {fault}"));
    }
    let mut calls = Vec::new();
    for parameter in parameters.iter().take(MAX_PARAMETERS) {
        let generator = ArgumentGenerator::new(Some(&requiring(schema, &parameter.path)));
        let generator = generator.map_err(|cause| cause.to_string())?;
        let arguments = generator.valid(SEED).map_err(|cause| cause.to_string())?;
        let value = parameter.argument(&Value::Object(arguments.clone())).cloned().unwrap_or_default();
        let Some(text) = parameter.text(&value).filter(|text| !text.is_empty()) else { continue };
        calls.push(Planned::valid(name, arguments.clone()));
        let call = |violates: Option<&str>, header: String| {
            let planned = violates.map_or_else(
                || Planned::valid(name, arguments.clone()),
                |violates| Planned::invalid(name, Some(arguments.clone()), violates),
            );
            with_header(planned, parameter, header)
        };
        calls.push(call(Some("header missing"), String::new()));
        calls.extend(others(&value, &text).into_iter().map(|other| call(Some("another value"), encode(&other))));
        calls.push(call(Some("invalid Base64"), "=?base64?%%%?=".to_owned()));
        if value.is_string() {
            // The marker is case-sensitive, so this is another text.
            let encoded = in_base64(&text);
            calls.push(call(Some("marker in upper case"), encoded.replacen("base64", "BASE64", 1)));
            calls.push(call(Some("invalid character in Base64"), encoded.replacen("?=", "*?=", 1)));
        }
        calls.extend(other_form(&value, &text).map(|form| call(None, form)));
        let mut title_case = Planned::valid(name, arguments.clone());
        title_case.headers.insert(TITLE_CASE.to_owned(), "yes".to_owned());
        calls.push(title_case);
        let replaced = |value: Value| replaced(&arguments, &parameter.path, value);
        let null = replaced(Value::Null);
        calls.push(Planned::invalid(name, Some(null), "null instead of a value"));
        let not_ascii = replaced(json!(NOT_ASCII));
        if generator.allows(&not_ascii) {
            calls.push(Planned::valid(name, not_ascii.clone()));
            let planned = Planned::invalid(name, Some(not_ascii), "header with invalid characters");
            calls.push(with_header(planned, parameter, NOT_ASCII.to_owned()));
        }
    }
    Ok(calls)
}

/// A call with another header of a parameter; an empty one removes it.
fn with_header(mut planned: Planned, parameter: &MirroredParameter, header: String) -> Planned {
    planned.headers.insert(parameter.header.clone(), header);
    planned
}

/// Texts of other values, also one that differs in case only. Booleans are in lower case (2026-07-28,
/// basic/transports/streamable-http#value-encoding).
fn others(value: &Value, text: &str) -> Vec<String> {
    match value {
        Value::Bool(flag) => vec![(!flag).to_string(), (if *flag { "True" } else { "False" }).to_owned()],
        Value::Number(number) => number.as_i64().map(|number| (number + 1).to_string()).into_iter().collect(),
        _ => {
            let other_case: String = text.chars().map(fill::in_other_case).collect();
            let mut others = vec![format!("{text}-workbench")];
            others.extend(Some(other_case).filter(|other| other != text));
            others
        }
    }
}

/// Another header with the same value: Base64 of a text, and a number with a fraction of zero.
fn other_form(value: &Value, text: &str) -> Option<String> {
    match value {
        Value::String(_) => Some(in_base64(text)),
        Value::Number(_) => Some(format!("{text}.0")),
        _ => None,
    }
}

/// The schema with the properties of a path required.
fn requiring(schema: &Value, path: &[String]) -> Value {
    let Some((name, rest)) = path.split_first() else { return schema.clone() };
    let mut schema = schema.clone();
    let mut required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    if !required.contains(&json!(name)) {
        required.push(json!(name));
    }
    schema["required"] = Value::Array(required);
    schema["properties"][name] = requiring(&schema["properties"][name], rest);
    schema
}

/// The arguments with another value of a parameter.
fn replaced(arguments: &Map<String, Value>, path: &[String], value: Value) -> Map<String, Value> {
    let mut arguments = arguments.clone();
    if let Some((last, parents)) = path.split_last() {
        let mut level = Some(&mut arguments);
        for name in parents {
            level = level.and_then(|level| level.get_mut(name)).and_then(Value::as_object_mut);
        }
        level.and_then(|level| level.insert(last.clone(), value));
    }
    arguments
}
