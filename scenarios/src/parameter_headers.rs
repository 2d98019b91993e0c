//! Parameters of tools that a client repeats in HTTP headers (2026-07-28, basic/transports/streamable-http, custom headers from
//! tool parameters): the annotations in input schemas, and the forms of header values.

use std::{collections::BTreeSet, sync::LazyLock};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use regex::Regex;
use serde_json::Value;

// RFC 9110, 5.6.2: the characters of a token.
static TOKEN: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$").expect("a constant, tested"));

/// The keyword in a schema.
pub(crate) const ANNOTATION: &str = "x-mcp-header";
/// Maximum depth of a schema that is searched.
const MAX_DEPTH: usize = 32;
/// Largest integer that JavaScript represents exactly, and so the largest allowed one (schema extension).
const MAX_INTEGER: i64 = (1 << 53) - 1;

/// An annotated parameter.
#[derive(Debug, Clone)]
pub(crate) struct MirroredParameter {
    /// The names of the properties that lead to it.
    pub(crate) path: Vec<String>,
    /// The name of the header, in lower case.
    pub(crate) header: String,
    /// The schema of the parameter.
    pub(crate) schema: Value,
}

impl MirroredParameter {
    /// The value of the parameter in the arguments of a call.
    pub(crate) fn argument<'a>(&self, arguments: &'a Value) -> Option<&'a Value> {
        self.path.iter().try_fold(arguments, |value, name| value.get(name))
    }

    /// The text that the header must have for a value, before it is encoded. `None` if the value does not have the type of the
    /// parameter, so that the revision has no rule for it.
    pub(crate) fn text(&self, value: &Value) -> Option<String> {
        match (self.schema.get("type")?.as_str()?, value) {
            ("string", Value::String(text)) => Some(text.clone()),
            ("boolean", Value::Bool(flag)) => Some(flag.to_string()),
            ("integer", Value::Number(number)) => {
                let integer = number.as_i64().filter(|integer| (-MAX_INTEGER..=MAX_INTEGER).contains(integer))?;
                Some(integer.to_string())
            }
            _ => None,
        }
    }
}

/// The annotated parameters of an input schema that only `properties` lead to.
pub(crate) fn mirrored(schema: &Value) -> Vec<MirroredParameter> {
    let mut found = Vec::new();
    collect(schema, &mut Vec::new(), &mut found, MAX_DEPTH);
    found
}

fn collect(schema: &Value, path: &mut Vec<String>, found: &mut Vec<MirroredParameter>, depth: usize) {
    let Some(depth) = depth.checked_sub(1) else { return };
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    for (name, property) in properties {
        path.push(name.clone());
        if let Some(header) = property.get(ANNOTATION).and_then(Value::as_str) {
            let header = format!("mcp-param-{}", header.to_ascii_lowercase());
            found.push(MirroredParameter { path: path.clone(), header, schema: property.clone() });
        }
        collect(property, path, found, depth);
        path.pop();
    }
}

/// Whether a schema has an annotation anywhere.
pub(crate) fn has_annotation(schema: &Value) -> bool {
    contains(schema, MAX_DEPTH)
}

fn contains(schema: &Value, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    match schema {
        Value::Object(members) => {
            members.contains_key(ANNOTATION) || members.values().any(|member| contains(member, depth))
        }
        Value::Array(items) => items.iter().any(|item| contains(item, depth)),
        _ => false,
    }
}

/// The first annotation that violates the constraints (schema extension). A client rejects such a tool.
pub(crate) fn annotation_fault(schema: &Value) -> Option<String> {
    fault(schema, true, &mut BTreeSet::new(), MAX_DEPTH)
}

/// `reachable` says whether only `properties` lead to the schema.
fn fault(schema: &Value, reachable: bool, names: &mut BTreeSet<String>, depth: usize) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    let members = schema.as_object()?;
    if let Some(name) = members.get(ANNOTATION) {
        let kind = members.get("type").and_then(Value::as_str);
        let Some(name) = name.as_str().filter(|name| TOKEN.is_match(name)) else {
            let name: String = name.to_string().chars().take(100).collect();
            return Some(format!("the header name is {name}"));
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
            properties.values().find_map(|property| fault(property, reachable, names, depth))
        }
        (_, Value::Array(items)) => items.iter().find_map(|item| fault(item, false, names, depth)),
        ("$defs" | "definitions" | "patternProperties" | "dependentSchemas", Value::Object(schemas)) => {
            schemas.values().find_map(|schema| fault(schema, false, names, depth))
        }
        (_, member) => fault(member, false, names, depth),
    })
}

/// The headers of a call, by name (client behavior).
pub(crate) fn headers(parameters: &[MirroredParameter], arguments: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    let header = |parameter: &MirroredParameter| {
        // A value of another type violates the schema. Its header cannot be wrong, so it has the value too.
        Some((parameter.header.clone(), encode(&text(parameter.argument(arguments)?)?)))
    };
    parameters.iter().filter_map(header).collect()
}

/// Encodes a header value (value encoding).
pub(crate) fn encode(value: &str) -> String {
    let plain = value.bytes().all(|byte| (0x20..=0x7e).contains(&byte));
    let padded = value.starts_with(' ') || value.ends_with(' ');
    let marked = value.starts_with("=?base64?") && value.ends_with("?=");
    if plain && !padded && !marked { value.to_owned() } else { in_base64(value) }
}

/// The Base64 form of a header value.
pub(crate) fn in_base64(value: &str) -> String {
    format!("=?base64?{}?=", STANDARD.encode(value))
}

/// Decodes a header value (value encoding). `None` if it is invalid Base64.
pub(crate) fn decoded(value: &str) -> Option<String> {
    let Some(encoded) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Some(value.to_owned());
    };
    String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_the_parameters_that_properties_lead_to() {
        let schema = json!({ "type": "object", "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "place": { "type": "object", "properties": { "zone/a": { "type": "integer", "x-mcp-header": "Zone" } } },
            "list": { "type": "array", "items": { "type": "string", "x-mcp-header": "Item" } },
        } });
        let parameters = mirrored(&schema);
        let names: Vec<_> = parameters.iter().map(|one| one.header.as_str()).collect();
        assert_eq!(names.len(), 2, "{names:?}");
        let arguments = json!({ "region": " eu ", "place": { "zone/a": -7 } });
        let mut sent = headers(&parameters, &arguments);
        sent.sort();
        let expected = [("mcp-param-region", "=?base64?IGV1IA==?="), ("mcp-param-zone", "-7")];
        assert_eq!(sent, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert!(headers(&parameters, &json!({ "region": null })).is_empty());
        assert!(annotation_fault(&schema).unwrap_or_default().contains("`Item` is not reachable"));
    }

    #[test]
    fn encodes_the_examples_of_the_specification() {
        for (value, header) in [
            ("us-west1", "us-west1"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ] {
            assert_eq!(encode(value), header);
            assert_eq!(decoded(header).as_deref(), Some(value));
        }
    }

    #[test]
    fn only_values_of_the_type_have_a_text() {
        let text = |kind: &str, value: Value| {
            let schema = json!({ "type": kind, "x-mcp-header": "A" });
            MirroredParameter { path: vec![], header: String::new(), schema }.text(&value)
        };
        assert_eq!(text("integer", json!(42)).as_deref(), Some("42"));
        assert_eq!(text("boolean", json!(true)).as_deref(), Some("true"));
        for (kind, value) in [("integer", json!("a")), ("integer", json!(1.5)), ("integer", json!(1_i64 << 53))] {
            assert_eq!(text(kind, value), None);
        }
    }
}
