//! Inserts values of earlier steps into parameters: `{{$.steps[0].items[0].uri}}`.

use serde_json::{Map, Value, json};
use serde_json_path::JsonPath;

/// Replaces all placeholders in the parameters.
///
/// # Errors
/// The first placeholder without a value.
pub(super) fn fill(params: &Map<String, Value>, steps: &[Value]) -> Result<Map<String, Value>, String> {
    let root = json!({ "steps": steps });
    params.iter().map(|(name, value)| Ok((name.clone(), fill_value(value, &root)?))).collect()
}

fn fill_value(value: &Value, root: &Value) -> Result<Value, String> {
    match value {
        Value::String(text) => match path_in(text) {
            Some(path) => find(path, root),
            None => Ok(value.clone()),
        },
        Value::Array(items) => items.iter().map(|item| fill_value(item, root)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, field)| Ok((name.clone(), fill_value(field, root)?)));
            fields.collect::<Result<Map<_, _>, String>>().map(Value::Object)
        }
        other => Ok(other.clone()),
    }
}

/// The JSONPath of a string that is a single placeholder.
fn path_in(text: &str) -> Option<&str> {
    text.strip_prefix("{{")?.strip_suffix("}}").map(str::trim).filter(|path| path.starts_with('$'))
}

fn find(path: &str, root: &Value) -> Result<Value, String> {
    let parsed = JsonPath::parse(path).map_err(|cause| format!("`{path}` is not a JSONPath: {cause}"))?;
    let found = parsed.query(root).first().cloned();
    found.ok_or_else(|| format!("the server has no value at `{path}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(params: Value) -> Result<Value, String> {
        let steps = [json!({ "items": [{ "uri": "a:1", "size": 3 }, { "uri": "a:2" }] }), Value::Null];
        fill(params.as_object().expect("an object"), &steps).map(Value::Object)
    }

    #[test]
    fn takes_the_first_value_that_the_path_finds_with_its_type() {
        let params =
            json!({ "uri": "{{$.steps[0].items[1].uri}}", "deep": [{ "size": "{{ $.steps[0].items[*].size }}" }] });
        assert_eq!(filled(params), Ok(json!({ "uri": "a:2", "deep": [{ "size": 3 }] })));
    }

    #[test]
    fn leaves_every_other_string_alone() {
        let params = json!({ "a": "{{arguments.text}}", "b": "x {{$.steps[0]}}" });
        assert_eq!(filled(params.clone()), Ok(params));
    }

    #[test]
    fn says_which_path_finds_nothing() {
        let error = filled(json!({ "uri": "{{$.steps[1].items[0].uri}}" })).expect_err("step 1 has no value");
        assert!(error.contains("$.steps[1].items[0].uri"), "{error}");
    }
}
