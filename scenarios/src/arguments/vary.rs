//! Valid values that differ from another valid one.

use serde_json::{Map, Value, json};

use super::generate::{Generator, WITH_OPTIONAL, type_of};
use crate::parameter_headers::ANNOTATION;

/// Text beyond ASCII and beyond the Basic Multilingual Plane, with a line end and quotes.
const UNUSUAL: &str = "grüße \u{1f600}\u{65e5}\u{672c}\n\"quoted\" \\ end";
/// Size of a large string, in bytes.
const LARGE: usize = 100_000;
/// Size of the string of another tool, in bytes.
const MEDIUM: usize = 8_000;
/// A letter of two bytes. After an odd number of bytes, each block of an even size ends within a letter, so that a server that
/// decodes the blocks it reads one by one breaks it.
pub(crate) const NOT_ASCII: &str = "ü";

/// Candidates in the order of their use.
pub(super) fn variants(
    generator: &Generator<'_>,
    first: &Map<String, Value>,
    with_large: bool,
) -> Vec<Map<String, Value>> {
    let Some(flat) = generator.flat(generator.root, 0) else { return Vec::new() };
    let properties = flat.get("properties").and_then(Value::as_object).into_iter().flatten();
    let properties: Vec<_> = properties.filter_map(|(name, schema)| Some((name, generator.flat(schema, 1)?))).collect();
    let with = |name: &str, value: Value| {
        let mut arguments = first.clone();
        arguments.insert(name.to_owned(), value);
        arguments
    };
    let mut all = Vec::new();
    let text = properties.iter().find(|(_, property)| is_plain_text(property));
    all.extend(text.map(|(name, _)| with(name, json!(UNUSUAL))));
    // A server that leaves out empty values returns incomplete content.
    all.extend(text.map(|(name, _)| with(name, json!(""))));
    // HTTP servers limit the size of headers, in which such a parameter is repeated (2026-07-28, basic/transports).
    let in_body = properties.iter().find(|(_, property)| is_plain_text(property) && !property.contains_key(ANNOTATION));
    let size = if with_large { LARGE } else { MEDIUM };
    all.extend(in_body.map(|(name, _)| with(name, json!(format!("x{}x", NOT_ASCII.repeat(size / 2 - 1))))));
    all.extend(complete(generator));
    // The result is often 0 too, and a server that tests whether it is true loses it.
    let mut zeros = first.clone();
    for (name, _) in properties.iter().filter(|(_, property)| matches!(type_of(property), "integer" | "number")) {
        zeros.insert((*name).clone(), json!(0));
    }
    all.push(zeros);
    for (name, property) in &properties {
        let values = match property.get("enum").and_then(Value::as_array) {
            Some(values) => values.clone(),
            None => match type_of(property) {
                "boolean" => vec![json!(true), json!(false)],
                "integer" => vec![json!(0), json!(-3)],
                "number" => vec![json!(0), json!(-3), json!(0.25)],
                // The shortest array is often empty, and shows nothing of what a tool does with items.
                "array" => generator.filled_array(property).into_iter().collect(),
                _ => continue,
            },
        };
        all.extend(values.into_iter().map(|value| with(name, value)));
    }
    all
}

/// With all optional properties.
fn complete(generator: &Generator<'_>) -> Option<Map<String, Value>> {
    let generator = Generator { attempt: WITH_OPTIONAL, ..*generator };
    match generator.value(generator.root, 0) {
        Some(Value::Object(arguments)) => Some(arguments),
        _ => None,
    }
}

/// With all optional properties, and with items in all arrays at the top level.
pub(super) fn filled(generator: &Generator<'_>) -> Option<Map<String, Value>> {
    let mut arguments = complete(generator)?;
    let flat = generator.flat(generator.root, 0)?;
    for (name, value) in &mut arguments {
        if value.as_array().is_some_and(Vec::is_empty) {
            let property = generator.flat(flat.get("properties")?.get(name)?, 1)?;
            *value = generator.filled_array(&property)?;
        }
    }
    Some(arguments)
}

/// A string without a rule for its content.
fn is_plain_text(property: &Map<String, Value>) -> bool {
    const RULES: [&str; 4] = ["enum", "const", "pattern", "format"];
    let is_short = property.get("maxLength").and_then(Value::as_u64).is_some_and(|most| most < MEDIUM as u64);
    let is_free = RULES.iter().all(|rule| !property.contains_key(*rule)) && !is_short;
    property.get("type").is_some_and(|kind| kind == "string") && is_free
}
