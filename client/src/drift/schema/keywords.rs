//! What a change of a single keyword means.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{Flow, Side, compare};
use crate::drift::{Found, Severity, escape, keys_of_both};

/// A constraint that is new, or that is gone.
pub(super) fn came_or_went(found: &mut Found, at: &str, came: bool, flow: Flow) {
    found.add(flow.severity(came), at, if came { "was added" } else { "was removed" });
}

/// Keywords that list things. For `required` more names allow fewer values; for `enum` and `type` they allow more.
pub(super) fn sets(
    found: &mut Found,
    at: &str,
    (old, new): (Option<&Value>, Option<&Value>),
    flow: Flow,
    more_is_narrower: bool,
) {
    let read = |value: Option<&Value>| -> Option<BTreeSet<String>> {
        value.map(|value| as_list(value).iter().map(Value::to_string).collect())
    };
    let (before, after) = (read(old), read(new));
    // An absent `required` names nothing; an absent `enum` or `type` allows everything.
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

/// Properties by their names.
pub(super) fn properties(found: &mut Found, at: &str, old: Side<'_>, new: Side<'_>, flow: Flow, depth: usize) {
    let none = Map::new();
    let [before, after] = [old, new].map(|side| side.1.and_then(Value::as_object).unwrap_or(&none));
    for key in keys_of_both(before, after) {
        let place = format!("{at}/{}", escape(key));
        match (before.get(key), after.get(key)) {
            (Some(left), Some(right)) => compare(found, &place, left, right, flow, depth + 1),
            // A new property constrains only values that used a name nobody had given a meaning, unless all names had one. If it is
            // required, `required` says so.
            (None, Some(right)) => {
                found.add(Severity::Compatible, &place, "was added");
                if let Some(rest @ Value::Object(_)) = old.0.get("additionalProperties") {
                    compare(found, &place, rest, right, flow, depth + 1);
                }
            }
            // Whoever sent it, or read it, relied on it.
            (Some(_), None) => found.add(Severity::Breaking, &place, "was removed"),
            (None, None) => {}
        }
    }
}

/// Schemas for properties by the form of their names. What the others may be decides what a new one means.
pub(super) fn patterns(found: &mut Found, at: &str, old: Side<'_>, new: Side<'_>, flow: Flow, depth: usize) {
    let none = Map::new();
    let [before, after] = [old, new].map(|side| side.1.and_then(Value::as_object).unwrap_or(&none));
    let is_open = |value: &Value| *value == Value::Bool(true) || *value == json!({});
    let added = match (old.0.get("additionalProperties"), old.0.get("unevaluatedProperties")) {
        (Some(Value::Bool(false)), None) => flow.severity(false),
        (rest, None) if rest.is_none_or(is_open) => flow.severity(true),
        _ => Severity::Breaking,
    };
    for key in keys_of_both(before, after) {
        let place = format!("{at}/{}", escape(key));
        match (before.get(key), after.get(key)) {
            (Some(left), Some(right)) => compare(found, &place, left, right, flow, depth + 1),
            (None, Some(_)) => found.add(added, &place, "was added"),
            _ => found.add(Severity::Breaking, &place, "was removed"),
        }
    }
}

/// What is a multiple of six is one of three.
pub(super) fn multiples(found: &mut Found, at: &str, (old, new): (Option<&Value>, Option<&Value>), flow: Flow) {
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

/// The values that a schema lists, with `const` as a list of one.
pub(super) fn values(schema: &Map<String, Value>) -> Option<Value> {
    let listed = schema.get("enum");
    let Some(one) = schema.get("const") else { return listed.cloned() };
    let allowed = listed.and_then(Value::as_array).is_none_or(|listed| listed.contains(one));
    Some(if allowed { json!([one]) } else { json!([]) })
}

/// Whether only one side names types, and the values that the other lists are all of them.
pub(super) fn is_said_by_values(old: Side<'_>, new: Side<'_>) -> bool {
    let (named, other) = match (old.1, new.1) {
        (Some(types), None) => (types, new.0),
        (None, Some(types)) => (types, old.0),
        _ => return false,
    };
    let Some(Value::Array(values)) = values(other) else { return false };
    values.iter().all(|value| as_list(named).iter().any(|one| is_of_type(value, one)))
}

/// What may be written as a list, or as its only part alone: `type`, for one.
pub(super) fn as_list(value: &Value) -> &[Value] {
    match value {
        Value::Array(list) => list,
        single => std::slice::from_ref(single),
    }
}

/// Whether a value is of the type of this name.
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

/// The end of a range.
pub(super) fn bound(
    found: &mut Found,
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
        (Some(before), None) => found.add(flow.severity(false), at, format!("was {before}, is gone")),
        _ => found.if_different(Severity::Breaking, at, old, new),
    }
}
