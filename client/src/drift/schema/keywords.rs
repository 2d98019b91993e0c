//! Classifies changes of single keywords.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{Flow, Side, compare};
use crate::drift::{Comparison, Severity, escape, keys_of_both};

/// A constraint was added or removed.
pub(super) fn added_or_removed(found: &mut Comparison, at: &str, came: bool, flow: Flow) {
    found.add(flow.severity(came), at, if came { "was added" } else { "was removed" });
}

/// Keywords with sets. More names in `required` allow fewer values; more in `enum` and `type` allow more.
pub(super) fn sets(
    found: &mut Comparison,
    at: &str,
    (old, new): (Option<&Value>, Option<&Value>),
    flow: Flow,
    more_is_narrower: bool,
) {
    let read = |value: Option<&Value>| -> Option<BTreeSet<String>> {
        value.map(|value| as_list(value).iter().map(Value::to_string).collect())
    };
    let (before, after) = (read(old), read(new));
    // Without `required`, no name is required; without `enum` or `type`, everything is allowed.
    let (before, after) = match (before, after, more_is_narrower) {
        (None, Some(_), false) => return found.add(flow.severity(true), at, "was added"),
        (Some(_), None, false) => return found.add(flow.severity(false), at, "was removed"),
        (before, after, _) => (before.unwrap_or_default(), after.unwrap_or_default()),
    };
    // Every integer is a number (JSON Schema, validation, 6.1.1).
    let covers = |set: &BTreeSet<String>, name: &String| {
        set.contains(name) || (!more_is_narrower && name == "\"integer\"" && set.contains("\"number\""))
    };
    let added: Vec<_> = after.iter().filter(|name| !covers(&before, name)).cloned().collect();
    let removed: Vec<_> = before.iter().filter(|name| !covers(&after, name)).cloned().collect();
    if !added.is_empty() {
        found.add(flow.severity(more_is_narrower), at, format!("now also lists {}", added.join(", ")));
    }
    if !removed.is_empty() {
        found.add(flow.severity(!more_is_narrower), at, format!("no longer lists {}", removed.join(", ")));
    }
    if added.is_empty() && removed.is_empty() && before.len() != after.len() {
        found.add(flow.severity(after.len() < before.len()), at, "was changed");
    }
}

/// Compares properties by name.
pub(super) fn properties(found: &mut Comparison, at: &str, old: Side<'_>, new: Side<'_>, flow: Flow, depth: usize) {
    let none = Map::new();
    let [before, after] = [old, new].map(|side| side.1.and_then(Value::as_object).unwrap_or(&none));
    for key in keys_of_both(before, after) {
        let location = format!("{at}/{}", escape(key));
        match (before.get(key), after.get(key)) {
            (Some(left), Some(right)) => compare(found, &location, left, right, flow, depth + 1),
            // A new property only affects values with a name that had no meaning, unless all names had one. `required`
            // is compared separately.
            (None, Some(right)) => {
                found.add(Severity::Compatible, &location, "was added");
                if let Some(rest @ Value::Object(_)) = old.0.get("additionalProperties") {
                    compare(found, &location, rest, right, flow, depth + 1);
                }
            }
            // Senders and readers may rely on it.
            (Some(_), None) => found.add(Severity::Breaking, &location, "was removed"),
            (None, None) => {}
        }
    }
}

/// Compares properties by pattern. `additionalProperties` determines the effect of a new one.
pub(super) fn patterns(found: &mut Comparison, at: &str, old: Side<'_>, new: Side<'_>, flow: Flow, depth: usize) {
    let none = Map::new();
    let [before, after] = [old, new].map(|side| side.1.and_then(Value::as_object).unwrap_or(&none));
    let is_open = |value: &Value| *value == Value::Bool(true) || *value == json!({});
    let added = match (old.0.get("additionalProperties"), old.0.get("unevaluatedProperties")) {
        (Some(Value::Bool(false)), None) => flow.severity(false),
        (rest, None) if rest.is_none_or(is_open) => flow.severity(true),
        _ => Severity::Breaking,
    };
    for key in keys_of_both(before, after) {
        let location = format!("{at}/{}", escape(key));
        match (before.get(key), after.get(key)) {
            (Some(left), Some(right)) => compare(found, &location, left, right, flow, depth + 1),
            (None, Some(_)) => found.add(added, &location, "was added"),
            _ => found.add(Severity::Breaking, &location, "was removed"),
        }
    }
}

/// A multiple of six is also a multiple of three.
pub(super) fn multiples(found: &mut Comparison, at: &str, (old, new): (Option<&Value>, Option<&Value>), flow: Flow) {
    let divides = |one: f64, other: f64| one > 0.0 && (other / one).fract() == 0.0;
    match (old.and_then(Value::as_f64), new.and_then(Value::as_f64)) {
        (Some(before), Some(after)) if divides(after, before) && divides(before, after) => {}
        (Some(before), Some(after)) if divides(after, before) => found.add(flow.severity(false), at, "was changed"),
        (Some(before), Some(after)) if divides(before, after) => found.add(flow.severity(true), at, "was changed"),
        (None, Some(_)) => found.add(flow.severity(true), at, "was added"),
        (Some(_), None) => found.add(flow.severity(false), at, "was removed"),
        _ => found.if_different(Severity::Breaking, at, old, new),
    }
}

/// The listed values of a schema, including `const`.
pub(super) fn values(schema: &Map<String, Value>) -> Option<Value> {
    let listed = schema.get("enum");
    let Some(one) = schema.get("const") else { return listed.cloned() };
    let allowed = listed.and_then(Value::as_array).is_none_or(|listed| listed.contains(one));
    Some(if allowed { json!([one]) } else { json!([]) })
}

/// Whether only one side lists types, and all values that the other lists have them.
pub(super) fn is_said_by_values(old: Side<'_>, new: Side<'_>) -> bool {
    let (named, other) = match (old.1, new.1) {
        (Some(types), None) => (types, new.0),
        (None, Some(types)) => (types, old.0),
        _ => return false,
    };
    let Some(Value::Array(values)) = values(other) else { return false };
    values.iter().all(|value| as_list(named).iter().any(|one| is_of_type(value, one)))
}

/// A value that may be an array or a single item, for example `type`.
pub(super) fn as_list(value: &Value) -> &[Value] {
    match value {
        Value::Array(list) => list,
        single => std::slice::from_ref(single),
    }
}

/// Whether a value has this type.
pub(super) fn is_of_type(value: &Value, name: &Value) -> bool {
    match name.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("string") => value.is_string(),
        Some("number") => value.is_number(),
        Some("integer") => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => false,
    }
}

/// Compares the limits of a range.
pub(super) fn bound(
    found: &mut Comparison,
    at: &str,
    (old, new): (Option<&Value>, Option<&Value>),
    flow: Flow,
    narrower: impl Fn(f64, f64) -> bool,
) {
    match (old.and_then(Value::as_f64), new.and_then(Value::as_f64)) {
        (Some(before), Some(after)) if before != after => {
            found.add(flow.severity(narrower(before, after)), at, format!("was {before}, is {after}"));
        }
        (None, Some(after)) => found.add(flow.severity(true), at, format!("is now {after}")),
        (Some(before), None) => found.add(flow.severity(false), at, format!("was {before}, was removed")),
        _ => found.if_different(Severity::Breaking, at, old, new),
    }
}
