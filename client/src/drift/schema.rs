//! Decides whether a JSON Schema has become narrower or wider.
//!
//! A narrower input schema breaks callers; a wider output schema breaks readers. Changes of keywords without a known
//! order (`not`, `if` and others) are breaking in both directions. References within the schema are followed, each
//! pair once, and changes are reported at the first reference. Equivalent forms are no change: `const` and `enum`,
//! `{}` and `true`, choices in another order.

mod branches;
mod keywords;

use std::sync::Arc;

use serde_json::{Map, Value};

use self::keywords::{added_or_removed, bound, is_said_by_values, multiples, patterns, properties, sets, values};
use super::{Comparison, Severity, escape, keys_of_both};

/// The direction in which values of the schema flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// From the caller to the tool.
    In,
    /// From the tool to the caller.
    Out,
}

/// Deeper schemas are compared as a whole, because a hostile one must not exhaust the stack.
const DEPTH: usize = 64;

impl Flow {
    /// The severity of a schema that allows less (`true`) or more (`false`).
    fn severity(self, narrower: bool) -> Severity {
        if narrower == (self == Self::In) { Severity::Breaking } else { Severity::Compatible }
    }
}

/// Compares two optional schemas. A missing schema allows everything.
pub(super) fn compare_optional(found: &mut Comparison, at: &str, old: Option<&Value>, new: Option<&Value>, flow: Flow) {
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

fn compare(found: &mut Comparison, at: &str, old: &Value, new: &Value, flow: Flow, depth: usize) {
    let roots = Arc::clone(&found.roots);
    let pair = (reference(old), reference(new));
    if pair != (None, None) {
        // If only one side is a reference, the other side limits the recursion.
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
    // `true` is the empty schema; `false` allows nothing.
    let nothing = Map::new();
    let (before, after) = match (old, new) {
        (Value::Object(before), Value::Object(after)) => (before, after),
        (Value::Bool(true), Value::Object(after)) => (&nothing, after),
        (Value::Object(before), Value::Bool(true)) => (before, &nothing),
        (_, Value::Bool(false)) => return found.add(flow.severity(true), at, "was changed"),
        (Value::Bool(false), _) => return found.add(flow.severity(false), at, "was changed"),
        _ => return found.add(Severity::Breaking, at, "was changed"),
    };
    if depth > DEPTH {
        return found.add(Severity::Breaking, at, "was changed, nested too deeply for a classification");
    }
    for key in keys_of_both(before, after) {
        let location = format!("{at}/{}", escape(key));
        let (left, right) = (keyword_value(key, before.get(key)), keyword_value(key, after.get(key)));
        // The target of an unchanged reference may have changed.
        let may_differ = key == "$ref" || left.is_some_and(|value| !is_data(key) && refers(value, 0));
        if left != right || may_differ {
            let count = found.changes.len();
            keyword(found, key, &location, (before, left), (after, right), flow, depth);
            let matters = left.is_some() != right.is_some()
                || found.changes[count..].iter().any(|change| change.severity != Severity::Cosmetic);
            if matters && evaluates(key) && [before, after].iter().any(|schema| has_leftovers(schema)) {
                found.add(Severity::Breaking, &location, "was changed, and affects unevaluated properties or items");
            }
        }
    }
}

/// Whether a keyword affects `unevaluatedProperties` and `unevaluatedItems` (2020-12, core, 11).
fn evaluates(key: &str) -> bool {
    matches!(
        key,
        "allOf"
            | "anyOf"
            | "oneOf"
            | "not"
            | "if"
            | "then"
            | "else"
            | "$ref"
            | "dependentSchemas"
            | "contains"
            | "items"
            | "additionalItems"
            | "additionalProperties"
    )
}

fn has_leftovers(schema: &Map<String, Value>) -> bool {
    schema.contains_key("unevaluatedProperties") || schema.contains_key("unevaluatedItems")
}

/// The value of a keyword, unless it is the default.
fn keyword_value<'a>(key: &str, value: Option<&'a Value>) -> Option<&'a Value> {
    value.filter(|value| match (key, value) {
        ("minLength" | "minItems" | "minProperties", value) => value.as_f64() != Some(0.0),
        ("uniqueItems" | "nullable", value) => value.as_bool() != Some(false),
        ("patternProperties" | "dependentRequired" | "dependentSchemas" | "dependencies", Value::Object(map)) => {
            !map.is_empty()
        }
        _ => true,
    })
}

fn definitions_differ(roots: &(Value, Value)) -> bool {
    ["$defs", "definitions"].iter().any(|key| roots.0.get(key) != roots.1.get(key))
}

/// Keywords whose values are not schemas.
fn is_data(key: &str) -> bool {
    matches!(key, "enum" | "const" | "default" | "examples" | "$defs" | "definitions" | "$ref")
}

/// The local reference of a schema that contains only a reference and documentation.
fn reference(schema: &Value) -> Option<String> {
    let map = schema.as_object()?;
    let reference = map.get("$ref")?.as_str().filter(|reference| reference.starts_with('#'))?;
    let alone =
        map.keys().all(|key| matches!(key.as_str(), "$ref" | "title" | "description" | "$comment" | "examples"));
    alone.then(|| reference.to_owned())
}

/// Resolves a local reference.
fn followed<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    reference(schema).and_then(|reference| root.pointer(&reference[1..])).unwrap_or(schema)
}

/// Whether a schema contains a reference.
fn refers(schema: &Value, depth: usize) -> bool {
    match schema {
        _ if depth > DEPTH => true,
        Value::Object(map) => map.contains_key("$ref") || map.values().any(|value| refers(value, depth + 1)),
        Value::Array(list) => list.iter().any(|value| refers(value, depth + 1)),
        _ => false,
    }
}

/// A schema, and the value of the current keyword.
type Side<'a> = (&'a Map<String, Value>, Option<&'a Value>);

fn keyword(found: &mut Comparison, key: &str, at: &str, old: Side<'_>, new: Side<'_>, flow: Flow, depth: usize) {
    match key {
        "title" | "description" | "examples" | "$comment" | "deprecated" | "$schema" | "$id" => {
            found.if_different(Severity::Cosmetic, at, old.1, new.1);
        }
        "default" | "format" => found.if_different(Severity::Compatible, at, old.1, new.1),
        "required" => sets(found, at, (old.1, new.1), flow, true),
        // `const` is an `enum` with one value; a change of both is reported once.
        "enum" if old.0.get("const") != new.0.get("const") => {}
        "const" | "enum" => sets(found, at, (values(old.0).as_ref(), values(new.0).as_ref()), flow, false),
        "type" if is_said_by_values(old, new) => found.if_different(Severity::Cosmetic, at, old.1, new.1),
        "type" => sets(found, at, (old.1, new.1), flow, false),
        "properties" => properties(found, at, old, new, flow, depth),
        "patternProperties" => patterns(found, at, old, new, flow, depth),
        "multipleOf" => multiples(found, at, (old.1, new.1), flow),
        "contains" if !(old.0.contains_key("maxContains") || new.0.contains_key("maxContains")) => {
            if let (Some(left), Some(right)) = (old.1, new.1) {
                compare(found, at, left, right, flow, depth + 1);
            } else {
                added_or_removed(found, at, old.1.is_none(), flow);
            }
        }
        // `items` applies to the remaining items, so another number shifts all of them.
        "prefixItems" => match (old.1.and_then(Value::as_array), new.1.and_then(Value::as_array)) {
            (Some(left), Some(right)) if left.len() == right.len() => {
                for (number, (left, right)) in left.iter().zip(right).enumerate() {
                    compare(found, &format!("{at}/{number}"), left, right, flow, depth + 1);
                }
            }
            _ => found.if_different(Severity::Breaking, at, old.1, new.1),
        },
        "items" | "additionalProperties" | "propertyNames" | "additionalItems" => {
            let everything = Value::Bool(true);
            compare(found, at, old.1.unwrap_or(&everything), new.1.unwrap_or(&everything), flow, depth + 1);
        }
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
            bound(found, at, (old.1, new.1), flow, |old, new| new < old);
        }
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
            bound(found, at, (old.1, new.1), flow, |old, new| new > old);
        }
        "anyOf" | "oneOf" | "allOf" => {
            if let (Some(Value::Array(left)), Some(Value::Array(right))) = (old.1, new.1) {
                branches::compare(found, (key, at), left, right, flow, depth);
            } else {
                added_or_removed(found, at, old.1.is_none(), flow);
            }
        }
        "$ref" => references(found, at, (old.1, new.1), flow, depth),
        // Definitions matter where they are referenced.
        "$defs" | "definitions" => found.if_different(Severity::Cosmetic, at, old.1, new.1),
        _ => match (old.1, new.1) {
            (None, Some(_)) if is_constraint(key) => found.add(flow.severity(true), at, "was added"),
            (Some(_), None) if is_constraint(key) => found.add(flow.severity(false), at, "was removed"),
            (left, right) if is_constraint(key) => {
                found.if_different(Severity::Breaking, at, left, right);
                // The value is equal, but its references may have changed.
                if left == right && left.is_some_and(|value| refers(value, 0)) && definitions_differ(&found.roots) {
                    found.add(Severity::Breaking, at, "refers to a definition that may have changed");
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
        "pattern"
            | "uniqueItems"
            | "contains"
            | "not"
            | "if"
            | "then"
            | "else"
            | "$dynamicRef"
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

/// References next to other keywords, which are allowed since 2019-09. External references are compared as strings.
fn references(
    found: &mut Comparison,
    at: &str,
    (old, new): (Option<&Value>, Option<&Value>),
    flow: Flow,
    depth: usize,
) {
    let roots = Arc::clone(&found.roots);
    let target = |side: Option<&Value>, root: &Value| {
        side.and_then(Value::as_str).and_then(|text| root.pointer(text.strip_prefix('#')?)).cloned()
    };
    match (target(old, &roots.0), target(new, &roots.1)) {
        (Some(left), Some(right)) => {
            let pair = [old, new].map(|side| side.and_then(Value::as_str).map(str::to_owned));
            if found.followed.insert(pair.into()) {
                compare(found, at, &left, &right, flow, depth + 1);
            }
        }
        _ if old.is_none() => found.add(flow.severity(true), at, "was added"),
        _ if new.is_none() => found.add(flow.severity(false), at, "was removed"),
        _ => found.if_different(Severity::Breaking, at, old, new),
    }
}
