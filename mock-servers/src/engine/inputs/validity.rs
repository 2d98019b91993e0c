//! What the client must declare before it is asked, and whether its answer is one.

use serde_json::{Value, json};

/// The capability that a question needs beyond those declared, as an object of client capabilities; none if nothing is
/// missing (2026-07-28, multi round-trip requests, server requirements; elicitation and sampling, capabilities).
pub(crate) fn required_capability(method: &str, params: Option<&Value>, declared: &Value) -> Option<Value> {
    let param = |name: &str| params.and_then(|params| params.get(name));
    let area = method.split('/').next().unwrap_or_default();
    // Whoever declares nothing can still be asked whether it lives, and what nobody knows.
    if !matches!(area, "elicitation" | "sampling" | "roots") {
        return None;
    }
    let has = |name: &str| declared.get(area).is_some_and(|area| area.get(name).is_some());
    let whole = || declared.get(area).is_some_and(Value::is_object);
    let (holds, required) = match method {
        "elicitation/create" if param("mode").and_then(Value::as_str) == Some("url") => {
            (has("url"), json!({ "elicitation": { "url": {} } }))
        }
        // An object with nothing in it means the form mode alone.
        "elicitation/create" if whole() && has("url") => (has("form"), json!({ "elicitation": { "form": {} } })),
        "sampling/createMessage" if param("tools").is_some() || param("toolChoice").is_some() => {
            (has("tools"), json!({ "sampling": { "tools": {} } }))
        }
        _ => (whole(), json!({ area: {} })),
    };
    (!holds).then_some(required)
}

/// What is wrong with an answer to this question; nothing if it is one.
pub(crate) fn flaw(question: &Value, answer: &Value) -> Option<String> {
    if !answer.is_object() {
        return Some("it is no object".into());
    }
    match question.get("method").and_then(Value::as_str) {
        Some("elicitation/create") => elicitation_flaw(question, answer),
        Some("sampling/createMessage") => sampling_flaw(answer),
        Some("roots/list") => {
            let roots = answer.get("roots").and_then(Value::as_array);
            let good =
                roots.is_some_and(|roots| roots.iter().all(|root| root.get("uri").is_some_and(Value::is_string)));
            (!good).then(|| "`roots` is no list of objects with a `uri`".into())
        }
        _ => None,
    }
}

/// Form data must hold to the schema that was asked for; only an accepted form has any.
fn elicitation_flaw(question: &Value, answer: &Value) -> Option<String> {
    match answer.get("action").and_then(Value::as_str) {
        Some("accept") => {}
        Some("decline" | "cancel") => return None,
        _ => return Some("`action` is none of accept, decline and cancel".into()),
    }
    let schema = question.pointer("/params/requestedSchema")?;
    // A script may ask with a schema that is none: then there is nothing to hold an answer to.
    let validator = jsonschema::validator_for(schema).ok()?;
    let nothing = json!({});
    let content = answer.get("content").unwrap_or(&nothing);
    validator.validate(content).err().map(|error| format!("`content` does not match the requested schema: {error}"))
}

fn sampling_flaw(answer: &Value) -> Option<String> {
    let role = answer.get("role").and_then(Value::as_str);
    if !matches!(role, Some("assistant" | "user")) {
        return Some("`role` is neither assistant nor user".into());
    }
    if !answer.get("model").is_some_and(Value::is_string) {
        return Some("`model` is no string".into());
    }
    let content = answer.get("content").is_some_and(|content| content.is_object() || content.is_array());
    (!content).then(|| "`content` is no content block".into())
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
