//! Whether a JSON Schema has become narrower or wider.
//!
//! What narrows an input schema breaks callers; what widens an output schema breaks readers. Keywords that this module
//! does not know how to order (`not`, `if` and the like) break either way when they change. References inside of the
//! schema are followed, each pair of them once: where a schema stands is no matter, and what it says is told at the first
//! place that refers to it.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::{Map, Value};

use super::{Found, Severity, escape, keys_of_both};

/// Which way values that the schema describes travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// From the caller to the tool.
    In,
    /// From the tool to the caller.
    Out,
}

/// Schemas deeper than this are compared as a whole: a hostile one must not exhaust the stack.
const DEPTH: usize = 64;

impl Flow {
    /// The severity of a schema that now allows less (`true`) or more (`false`).
    fn severity(self, narrower: bool) -> Severity {
        if narrower == (self == Self::In) { Severity::Breaking } else { Severity::Compatible }
    }
}

/// Compares two schemas of which either may be missing. A missing schema allows everything.
pub(super) fn compare_optional(found: &mut Found, at: &str, old: Option<&Value>, new: Option<&Value>, flow: Flow) {
    match (old, new) {
        (Some(old), Some(new)) if old != new => {
            found.roots = Arc::new((old.clone(), new.clone()));
            found.followed.clear();
            compare(found, at, old, new, flow, 0);
        }
        (Some(_), Some(_)) => {}
        (None, Some(_)) => found.add(flow.severity(true), at, "was added"),
        (Some(_), None) => found.add(flow.severity(false), at, "was removed"),
        (None, None) => {}
    }
}

fn compare(found: &mut Found, at: &str, old: &Value, new: &Value, flow: Flow, depth: usize) {
    let roots = Arc::clone(&found.roots);
    let pair = (reference(old), reference(new));
    if pair != (None, None) {
        // Where one side says in place what the other refers to, the way ends with the former.
        if pair.0.is_some() && pair.1.is_some() && !found.followed.insert(pair) {
            return;
        }
        let (left, right) = (followed(old, &roots.0), followed(new, &roots.1));
        if !std::ptr::eq(left, old) || !std::ptr::eq(right, new) {
            return compare(found, at, left, right, flow, depth + 1);
        }
    }
    if old == new && !refers(old, 0) {
        return;
    }
    let (Value::Object(before), Value::Object(after)) = (old, new) else {
        // `true` is the schema that allows everything, `false` the one that allows nothing.
        let severity = match (old, new) {
            (Value::Bool(true), _) | (_, Value::Bool(false)) => flow.severity(true),
            (Value::Bool(false), _) | (_, Value::Bool(true)) => flow.severity(false),
            _ => Severity::Breaking,
        };
        return found.add(severity, at, "was changed");
    };
    if depth > DEPTH {
        return found.add(Severity::Breaking, at, "was changed, too deep inside to say how");
    }
    for key in keys_of_both(before, after) {
        let place = format!("{at}/{}", escape(key));
        let (left, right) = (before.get(key), after.get(key));
        let same = left == right && !left.is_some_and(|value| key != "$defs" && refers(value, 0));
        if !same && !is_data(key) || left != right {
            keyword(found, key, &place, (before, left), (after, right), flow, depth);
        }
    }
}

fn same_length(old: Option<&Value>, new: Option<&Value>) -> bool {
    let length = |side: Option<&Value>| side.and_then(Value::as_array).map(Vec::len);
    length(old).is_some() && length(old) == length(new)
}

fn definitions_differ(roots: &(Value, Value)) -> bool {
    ["$defs", "definitions"].iter().any(|key| roots.0.get(key) != roots.1.get(key))
}

/// Keywords whose values are no schemas, whatever is in them.
fn is_data(key: &str) -> bool {
    matches!(key, "enum" | "const" | "default" | "examples" | "$defs" | "definitions" | "$ref")
}

/// What a schema refers to inside of its own document, if it does nothing else but say words.
fn reference(schema: &Value) -> Option<String> {
    let map = schema.as_object()?;
    let reference = map.get("$ref")?.as_str().filter(|reference| reference.starts_with('#'))?;
    let alone =
        map.keys().all(|key| matches!(key.as_str(), "$ref" | "title" | "description" | "$comment" | "examples"));
    alone.then(|| reference.to_owned())
}

/// The schema itself, or what it refers to.
fn followed<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    reference(schema).and_then(|reference| root.pointer(&reference[1..])).unwrap_or(schema)
}

/// Whether there is a reference anywhere inside.
fn refers(schema: &Value, depth: usize) -> bool {
    match schema {
        _ if depth > DEPTH => true,
        Value::Object(map) => map.contains_key("$ref") || map.values().any(|value| refers(value, depth + 1)),
        Value::Array(list) => list.iter().any(|value| refers(value, depth + 1)),
        _ => false,
    }
}

type Side<'a> = (&'a Map<String, Value>, Option<&'a Value>);

fn keyword(found: &mut Found, key: &str, at: &str, old: Side<'_>, new: Side<'_>, flow: Flow, depth: usize) {
    match key {
        "title" | "description" | "examples" | "$comment" | "deprecated" | "$schema" | "$id" => {
            found.if_different(Severity::Cosmetic, at, old.1, new.1);
        }
        "default" | "format" => found.if_different(Severity::Compatible, at, old.1, new.1),
        "required" => sets(found, at, (old.1, new.1), flow, true),
        "enum" | "type" => sets(found, at, (old.1, new.1), flow, false),
        "properties" => properties(found, at, old, new, flow, depth),
        "items" | "additionalProperties" | "propertyNames" | "contains" | "additionalItems" => {
            let everything = Value::Bool(true);
            compare(found, at, old.1.unwrap_or(&everything), new.1.unwrap_or(&everything), flow, depth + 1);
        }
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
            bound(found, at, (old.1, new.1), flow, |old, new| new < old);
        }
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
            bound(found, at, (old.1, new.1), flow, |old, new| new > old);
        }
        "anyOf" | "oneOf" | "allOf" | "prefixItems" if same_length(old.1, new.1) => {
            // Branch by branch: what one of them now allows less or more, the whole does.
            let branches = |side: Option<&Value>| side.and_then(Value::as_array).cloned().unwrap_or_default();
            for (number, (left, right)) in branches(old.1).iter().zip(&branches(new.1)).enumerate() {
                compare(found, &format!("{at}/{number}"), left, right, flow, depth + 1);
            }
        }
        // What is in them matters where something refers to it.
        "$defs" | "definitions" => found.if_different(Severity::Cosmetic, at, old.1, new.1),
        _ => match (old.1, new.1) {
            (None, Some(_)) if is_constraint(key) => found.add(flow.severity(true), at, "was added"),
            (Some(_), None) if is_constraint(key) => found.add(flow.severity(false), at, "was removed"),
            (left, right) if is_constraint(key) => {
                found.if_different(Severity::Breaking, at, left, right);
                // The same words, which may mean something else now.
                if left == right && left.is_some_and(|value| refers(value, 0)) && definitions_differ(&found.roots) {
                    found.add(Severity::Breaking, at, "refers to what may have changed");
                }
            }
            // Unknown keywords are annotations (JSON Schema 2020-12, core, 6.5).
            (left, right) => found.if_different(Severity::Cosmetic, at, left, right),
        },
    }
}

fn is_constraint(key: &str) -> bool {
    matches!(
        key,
        "const"
            | "pattern"
            | "multipleOf"
            | "uniqueItems"
            | "anyOf"
            | "oneOf"
            | "allOf"
            | "not"
            | "if"
            | "then"
            | "else"
            | "$ref"
            | "$dynamicRef"
            | "prefixItems"
            | "patternProperties"
            | "dependentRequired"
            | "dependentSchemas"
            | "dependencies"
            | "unevaluatedProperties"
            | "unevaluatedItems"
            | "minContains"
            | "maxContains"
            | "nullable"
    )
}

/// Keywords that list things. For `required` more names allow fewer values; for `enum` and `type` they allow more.
fn sets(found: &mut Found, at: &str, (old, new): (Option<&Value>, Option<&Value>), flow: Flow, more_is_narrower: bool) {
    let read = |value: Option<&Value>| -> Option<BTreeSet<String>> {
        match value? {
            Value::Array(items) => Some(items.iter().map(Value::to_string).collect()),
            single => Some(BTreeSet::from([single.to_string()])),
        }
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

fn properties(found: &mut Found, at: &str, old: Side<'_>, new: Side<'_>, flow: Flow, depth: usize) {
    let empty = Map::new();
    let read = |side: Side<'_>| side.1.and_then(Value::as_object).cloned();
    let (before, after) = (read(old).unwrap_or_else(|| empty.clone()), read(new).unwrap_or(empty));
    for key in keys_of_both(&before, &after) {
        let place = format!("{at}/{}", escape(key));
        match (before.get(key), after.get(key)) {
            (Some(left), Some(right)) => compare(found, &place, left, right, flow, depth + 1),
            // A new property constrains only values that used a name nobody had given a meaning. If it is required,
            // `required` says so.
            (None, Some(_)) => found.add(Severity::Compatible, &place, "was added"),
            // Whoever sent it, or read it, relied on it.
            (Some(_), None) => found.add(Severity::Breaking, &place, "was removed"),
            (None, None) => {}
        }
    }
}

fn bound(
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
