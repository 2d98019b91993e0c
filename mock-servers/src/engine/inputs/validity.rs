//! Required client capabilities, and validation of the client's responses.

use serde_json::{Value, json};

/// The capability that a request needs beyond the declared ones, as an object of client capabilities; `None` if all are
/// declared (2026-07-28, multi round-trip requests, server requirements; elicitation and sampling, capabilities).
pub(crate) fn required_capability(method: &str, params: Option<&Value>, declared: &Value) -> Option<Value> {
    let param = |name: &str| params.and_then(|params| params.get(name));
    let area = method.split('/').next().unwrap_or_default();
    // Pings, and methods that do not exist, need no capability.
    if !matches!(area, "elicitation" | "sampling" | "roots") {
        return None;
    }
    let has = |name: &str| declared.get(area).is_some_and(|area| area.get(name).is_some());
    let whole = || declared.get(area).is_some_and(Value::is_object);
    let (contains_all, required) = match method {
        "elicitation/create" if param("mode").and_then(Value::as_str) == Some("url") => {
            (has("url"), json!({ "elicitation": { "url": {} } }))
        }
        // An empty object declares only the form mode.
        "elicitation/create" if whole() && has("url") => (has("form"), json!({ "elicitation": { "form": {} } })),
        "sampling/createMessage" if param("tools").is_some() || param("toolChoice").is_some() => {
            (has("tools"), json!({ "sampling": { "tools": {} } }))
        }
        _ => (whole(), json!({ area: {} })),
    };
    (!contains_all).then_some(required)
}

/// The problem of a response to this request; `None` if it is valid.
pub(crate) fn response_error(input_request: &Value, answer: &Value) -> Option<String> {
    if !answer.is_object() {
        return Some("it is not an object".into());
    }
    match input_request.get("method").and_then(Value::as_str) {
        Some("elicitation/create") => elicitation_error(input_request, answer),
        Some("sampling/createMessage") => sampling_error(answer),
        Some("roots/list") => {
            let roots = answer.get("roots").and_then(Value::as_array);
            let good =
                roots.is_some_and(|roots| roots.iter().all(|root| root.get("uri").is_some_and(Value::is_string)));
            (!good).then(|| "`roots` is not an array of objects with a `uri`".into())
        }
        _ => None,
    }
}

/// Validates form data against the requested schema; only an accepted form has data.
fn elicitation_error(input_request: &Value, answer: &Value) -> Option<String> {
    match answer.get("action").and_then(Value::as_str) {
        Some("accept") => {}
        Some("decline" | "cancel") => return None,
        _ => return Some("`action` is not accept, decline or cancel".into()),
    }
    let schema = input_request.pointer("/params/requestedSchema")?;
    // An invalid schema of a script is not checked.
    let validator = jsonschema::validator_for(schema).ok()?;
    let nothing = json!({});
    let content = answer.get("content").unwrap_or(&nothing);
    validator.validate(content).err().map(|error| format!("`content` does not match the requested schema: {error}"))
}

fn sampling_error(answer: &Value) -> Option<String> {
    let role = answer.get("role").and_then(Value::as_str);
    if !matches!(role, Some("assistant" | "user")) {
        return Some("`role` is neither assistant nor user".into());
    }
    if !answer.get("model").is_some_and(Value::is_string) {
        return Some("`model` is not a string".into());
    }
    let content = answer.get("content").is_some_and(|content| content.is_object() || content.is_array());
    (!content).then(|| "`content` is not a content block".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_a_capability_needs_one() {
        let required = |method, declared| required_capability(method, None, &declared);
        assert_eq!(required("ping", json!({})), None);
        assert_eq!(required("no/such", Value::Null), None);
        assert_eq!(required("roots/list", json!({})), Some(json!({ "roots": {} })));
        assert_eq!(required("roots/list", json!({ "roots": {} })), None);
    }
}
