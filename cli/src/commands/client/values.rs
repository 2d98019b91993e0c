//! Parses user input as the JSON type that a schema requires.

use anyhow::{anyhow, bail};
use serde_json::{Map, Value};

/// Parses `NAME=VALUE` pairs as arguments of a tool, according to its schema.
pub(crate) fn arguments(
    pairs: &[(String, String)],
    schema: Option<&Map<String, Value>>,
) -> anyhow::Result<Map<String, Value>> {
    let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
    let mut arguments = Map::new();
    for (name, text) in pairs {
        let property = properties.and_then(|properties| properties.get(name));
        let value = read(text, property).map_err(|problem| anyhow!("argument `{name}`: {problem}"))?;
        if arguments.insert(name.clone(), value).is_some() {
            bail!("argument `{name}` is given twice");
        }
    }
    Ok(arguments)
}

/// Parses text as a value of this schema. If the schema allows several types, JSON is parsed and other text is a string.
pub(crate) fn read(text: &str, schema: Option<&Value>) -> Result<Value, String> {
    let types = types(schema);
    let json = serde_json::from_str::<Value>(text).ok();
    let fits = |value: &Value| types.is_empty() || types.iter().any(|kind| is(value, kind));
    match json {
        // `123` is a string if the schema requires a string.
        Some(Value::String(_)) | None if types.is_empty() || types.contains(&"string") => Ok(text.into()),
        Some(value) if fits(&value) && !(types.contains(&"string") && types.len() == 1) => Ok(value),
        _ if types.contains(&"string") => Ok(text.into()),
        _ => Err(format!("`{text}` is not of type {}", types.join(" or "))),
    }
}

fn types(schema: Option<&Value>) -> Vec<&str> {
    match schema.and_then(|schema| schema.get("type")) {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn is(value: &Value, kind: &str) -> bool {
    match kind {
        // 1.0 is an integer (JSON Schema 2020-12, validation, section 6.1.1).
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        "string" => value.is_string(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_becomes_what_the_schema_asks_for() {
        for (text, schema, value) in [
            ("7", json!({"type": "integer"}), json!(7)),
            ("7", json!({"type": "string"}), json!("7")),
            ("\"7\"", json!({"type": "string"}), json!("\"7\"")),
            ("7", json!({"type": ["integer", "string"]}), json!(7)),
            ("seven", json!({"type": ["integer", "string"]}), json!("seven")),
            ("7.5", json!({"type": ["integer", "string"]}), json!("7.5")),
            ("true", json!({"type": "boolean"}), json!(true)),
            ("[1, 2]", json!({"type": "array"}), json!([1, 2])),
            ("{\"a\": 1}", json!({}), json!({"a": 1})),
            ("a", json!({}), json!("a")),
            ("null", json!(true), json!(null)),
            ("\"a\"", json!({}), json!("\"a\"")),
        ] {
            assert_eq!(read(text, Some(&schema)), Ok(value), "{text} {schema}");
        }
        for (text, kind) in
            [("a", "integer"), ("1.5", "integer"), ("yes", "boolean"), ("{}", "array"), ("\"1\"", "number")]
        {
            assert!(read(text, Some(&json!({ "type": kind }))).is_err(), "{text} {kind}");
        }
    }
}
