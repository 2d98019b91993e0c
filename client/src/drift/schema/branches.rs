//! Keywords with unordered lists of schemas: `anyOf`, `oneOf`, `allOf`.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{
    Flow, followed,
    keywords::{as_list, is_of_type, values},
};
use crate::drift::{Comparison, Severity};

/// Longer lists are not compared pairwise, which takes quadratic time.
const MANY: usize = 200;

/// Compares two lists of schemas.
pub(super) fn compare(
    found: &mut Comparison,
    (key, at): (&str, &str),
    old: &[Value],
    new: &[Value],
    flow: Flow,
    depth: usize,
) {
    let before = found.changes.len();
    let (pairs, removed, added) = matched(old, new);
    for (left, right) in &pairs {
        let location = format!("{at}/{right}");
        super::compare(found, &location, &old[*left], &new[*right], flow, depth + 1);
    }
    // Another alternative allows more; another condition allows less.
    let more_is_narrower = key == "allOf";
    for location in added {
        found.add(flow.severity(more_is_narrower), &format!("{at}/{location}"), "was added");
    }
    for location in removed {
        found.add(flow.severity(!more_is_narrower), &format!("{at}/{location}"), "was removed");
    }
    let matters = found.changes[before..].iter().any(|change| change.severity != Severity::Cosmetic);
    let (old_root, new_root) = (&found.roots.0, &found.roots.1);
    if key == "oneOf" && matters && !(are_apart(old, old_root) && are_apart(new, new_root)) {
        // If two alternatives of `oneOf` match, the value is rejected, so that a wider alternative may reject values.
        found.add(Severity::Breaking, at, "was changed, and several alternatives may match one value");
    }
}

/// Matching pairs, removed schemas and added schemas.
type Matching = (Vec<(usize, usize)>, Vec<usize>, Vec<usize>);

/// Matches equal schemas first, then schemas of the same kind, and the rest in order if both sides have the same
/// number.
fn matched(old: &[Value], new: &[Value]) -> Matching {
    let mut locations: HashMap<&Value, Vec<usize>> = HashMap::new();
    for (right, schema) in new.iter().enumerate().rev() {
        locations.entry(schema).or_default().push(right);
    }
    let mut pairs = Vec::new();
    let mut removed: Vec<usize> = (0..old.len()).collect();
    removed.retain(|left| {
        let location = locations.get_mut(&old[*left]).and_then(Vec::pop);
        pairs.extend(location.map(|right| (*left, right)));
        location.is_none()
    });
    let mut added: Vec<usize> = locations.into_values().flatten().collect();
    added.sort_unstable();
    if removed.len().max(added.len()) <= MANY {
        removed.retain(|left| {
            let location = added.iter().position(|right| are_of_one_kind(&old[*left], &new[*right]));
            pairs.extend(location.map(|location| (*left, added.remove(location))));
            location.is_none()
        });
    }
    if removed.len() == added.len() {
        pairs.extend(removed.drain(..).zip(added.drain(..)));
    }
    (pairs, removed, added)
}

/// Whether a property with one constant identifies both as the same alternative.
fn are_of_one_kind(one: &Value, other: &Value) -> bool {
    let kinds =
        |schema: &Value, name: &String| schema["properties"].get(name).and_then(|kind| kind.get("const").cloned());
    let names = one["properties"].as_object();
    names
        .into_iter()
        .flat_map(Map::keys)
        .any(|name| kinds(one, name).is_some_and(|kind| Some(kind) == kinds(other, name)))
}

/// Whether no value can match two of these schemas, judging by their types, listed values, or those of a required
/// property.
fn are_apart(schemas: &[Value], root: &Value) -> bool {
    let schemas: Vec<_> = schemas.iter().map(|schema| followed(schema, root).as_object()).collect();
    let few = schemas.len() <= MANY;
    few && schemas.iter().enumerate().all(|(location, one)| {
        schemas[..location].iter().all(|other| match (one, other) {
            (Some(one), Some(other)) => two_are_apart(one, other, root),
            _ => false,
        })
    })
}

fn two_are_apart(one: &Map<String, Value>, other: &Map<String, Value>, root: &Value) -> bool {
    if let Some(apart) = values_are_apart(one, other) {
        return apart;
    }
    let (left, right) = (one.get("type").map(as_list), other.get("type").map(as_list));
    if let (Some(left), Some(right)) = (left, right) {
        let is_number = |one: &Value| one == "number" || one == "integer";
        let meet = |one: &Value, other: &Value| one == other || (is_number(one) && is_number(other));
        if !left.iter().any(|one| right.iter().any(|other| meet(one, other))) {
            return true;
        }
    }
    for (types, listed) in [(left, values(other)), (right, values(one))] {
        if let (Some(types), Some(Value::Array(values))) = (types, listed)
            && !values.iter().any(|value| types.iter().any(|one| is_of_type(value, one)))
        {
            return true;
        }
    }
    // Properties only apply to objects.
    let objects = [left, right].iter().all(|types| types.is_some_and(|types| *types == ["object"]));
    let required = |schema: &Map<String, Value>, name: &String| {
        schema
            .get("required")
            .and_then(Value::as_array)
            .is_some_and(|names| names.iter().any(|one| one == name.as_str()))
    };
    let names = one.get("properties").and_then(Value::as_object);
    objects
        && names.into_iter().flat_map(Map::keys).any(|name| {
            required(one, name)
                && required(other, name)
                && property(one, name, root)
                    .zip(property(other, name, root))
                    .and_then(|(one, other)| values_are_apart(one, other))
                    == Some(true)
        })
}

/// Whether the listed values are disjoint, if both list values.
fn values_are_apart(one: &Map<String, Value>, other: &Map<String, Value>) -> Option<bool> {
    match (values(one), values(other)) {
        (Some(Value::Array(left)), Some(Value::Array(right))) => Some(!left.iter().any(|value| right.contains(value))),
        _ => None,
    }
}

/// The schema of a property, inline or by reference.
fn property<'a>(schema: &'a Map<String, Value>, name: &str, root: &'a Value) -> Option<&'a Map<String, Value>> {
    followed(schema.get("properties")?.get(name)?, root).as_object()
}
