//! Small values for forms and simple schemas.

use serde_json::{Map, Value, json};

use super::ArgumentGenerator;

/// A value that a schema permits, with the required members of objects. What a user would enter, if the schema is simple.
pub(crate) fn sample(schema: &Value) -> Value {
    let plain = plain(schema);
    let Ok(generator) = ArgumentGenerator::new(Some(schema)) else { return plain };
    if generator.strict.is_valid(&plain) {
        return plain;
    }
    generator.valid(0).map_or(plain, Value::Object)
}

fn plain(schema: &Value) -> Value {
    let first = |key: &str| schema.get(key).and_then(Value::as_array).and_then(|items| items.first());
    let fixed = schema.get("const").or_else(|| schema.get("default")).or_else(|| first("enum"));
    if let Some(value) = fixed {
        return value.clone();
    }
    if let Some(choice) = first("oneOf").or_else(|| first("anyOf")) {
        return plain(choice);
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("integer") => schema.get("minimum").cloned().unwrap_or_else(|| json!(1)),
        Some("number") => schema.get("minimum").cloned().unwrap_or_else(|| json!(0.5)),
        Some("boolean") => json!(true),
        Some("array") => {
            let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(1).min(10);
            (0..least).map(|_| plain(&schema["items"])).collect()
        }
        Some("null") => Value::Null,
        Some("string") => json!(sample_text(schema)),
        _ => {
            let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            let members = required.filter_map(Value::as_str);
            members.map(|name| (name.to_owned(), plain(&schema["properties"][name]))).collect::<Map<_, _>>().into()
        }
    }
}

fn sample_text(schema: &Value) -> String {
    let text = match schema.get("format").and_then(Value::as_str) {
        Some("email") => "workbench@example.com",
        Some("uri") => "https://example.com/workbench",
        Some("date") => "2026-07-28",
        Some("date-time") => "2026-07-28T12:00:00Z",
        _ => "workbench",
    };
    let limit = |key: &str| schema.get(key).and_then(Value::as_u64).and_then(|limit| usize::try_from(limit).ok());
    let least = limit("minLength").unwrap_or(0).min(1_000);
    let padded = format!("{text:x<least$}");
    padded.chars().take(limit("maxLength").unwrap_or(usize::MAX)).collect()
}
