//! Valid values that differ from another valid one.

use serde_json::{Map, Value, json};

use super::generate::{Generator, WITH_OPTIONAL, type_of};

/// Text beyond ASCII and beyond the Basic Multilingual Plane, with a line end and quotes.
const UNUSUAL: &str = "grüße \u{1f600}\u{65e5}\u{672c}\n\"workbench\" \\ end";
/// Size of a large string, in characters.
const LARGE: usize = 100_000;

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
    all.extend(text.filter(|_| with_large).map(|(name, _)| with(name, json!("x".repeat(LARGE)))));
    let complete = Generator { attempt: WITH_OPTIONAL, ..*generator }.value(generator.root, 0);
    all.extend(complete.and_then(|value| if let Value::Object(arguments) = value { Some(arguments) } else { None }));
    for (name, property) in &properties {
        let values = match property.get("enum").and_then(Value::as_array) {
            Some(values) => values.clone(),
            None => match type_of(property) {
                "boolean" => vec![json!(true), json!(false)],
                "integer" | "number" => vec![json!(0)],
                _ => continue,
            },
        };
        all.extend(values.into_iter().map(|value| with(name, value)));
    }
    all
}

/// A string without a rule for its content.
fn is_plain_text(property: &Map<String, Value>) -> bool {
    const RULES: [&str; 5] = ["enum", "const", "pattern", "format", "maxLength"];
    property.get("type").is_some_and(|kind| kind == "string") && RULES.iter().all(|rule| !property.contains_key(*rule))
}
