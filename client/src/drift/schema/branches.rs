//! Keywords that list schemas, in no order that would say anything: `anyOf`, `oneOf`, `allOf`.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{
    Flow, followed,
    keywords::{as_list, is_of_type, values},
};
use crate::drift::{Found, Severity};

/// Longer lists are not looked through pair by pair: a server may send one that would take for ever.
const MANY: usize = 200;

/// Compares two lists of schemas.
pub(super) fn compare(
    found: &mut Found,
    (key, at): (&str, &str),
    old: &[Value],
    new: &[Value],
    flow: Flow,
    depth: usize,
) {
    let before = found.changes.len();
    let (pairs, gone, come) = matched(old, new);
    for (left, right) in &pairs {
        let place = format!("{at}/{right}");
        super::compare(found, &place, &old[*left], &new[*right], flow, depth + 1);
    }
    // Another way to fit is more; another thing to fit is less.
    let more_is_narrower = key == "allOf";
    for place in come {
        found.add(flow.severity(more_is_narrower), &format!("{at}/{place}"), "was added");
    }
    for place in gone {
        found.add(flow.severity(!more_is_narrower), &format!("{at}/{place}"), "was removed");
    }
    let matters = found.changes[before..].iter().any(|change| change.severity != Severity::Cosmetic);
    let (old_root, new_root) = (&found.roots.0, &found.roots.1);
    if key == "oneOf" && matters && !(are_apart(old, old_root) && are_apart(new, new_root)) {
        // Of two that fit none is meant, so that what one of them now allows more may be refused by both.
        found.add(Severity::Breaking, at, "was changed, and several of it may fit one value");
    }
}

/// Which of the old ones belongs to which of the new ones, which are gone, and which have come.
type Matching = (Vec<(usize, usize)>, Vec<usize>, Vec<usize>);

/// Equal ones belong together wherever they stand, then those of one kind; of the others, if as many are left on both sides,
/// each belongs to the next.
fn matched(old: &[Value], new: &[Value]) -> Matching {
    let mut places: HashMap<&Value, Vec<usize>> = HashMap::new();
    for (right, schema) in new.iter().enumerate().rev() {
        places.entry(schema).or_default().push(right);
    }
    let mut pairs = Vec::new();
    let mut gone: Vec<usize> = (0..old.len()).collect();
    gone.retain(|left| {
        let place = places.get_mut(&old[*left]).and_then(Vec::pop);
        pairs.extend(place.map(|right| (*left, right)));
        place.is_none()
    });
    let mut come: Vec<usize> = places.into_values().flatten().collect();
    come.sort_unstable();
    if gone.len().max(come.len()) <= MANY {
        gone.retain(|left| {
            let place = come.iter().position(|right| are_of_one_kind(&old[*left], &new[*right]));
            pairs.extend(place.map(|place| (*left, come.remove(place))));
            place.is_none()
        });
    }
    if gone.len() == come.len() {
        pairs.extend(gone.drain(..).zip(come.drain(..)));
    }
    (pairs, gone, come)
}

/// Whether a property of one value says that both are meant for the same.
fn are_of_one_kind(one: &Value, other: &Value) -> bool {
    let kinds =
        |schema: &Value, name: &String| schema["properties"].get(name).and_then(|kind| kind.get("const").cloned());
    let names = one["properties"].as_object();
    names
        .into_iter()
        .flat_map(Map::keys)
        .any(|name| kinds(one, name).is_some_and(|kind| Some(kind) == kinds(other, name)))
}

/// Whether no value can fit two of these schemas, as far as that is seen at a glance: by their types, by the values that they list,
/// or by those of a property that all of them require.
fn are_apart(schemas: &[Value], root: &Value) -> bool {
    let schemas: Vec<_> = schemas.iter().map(|schema| followed(schema, root).as_object()).collect();
    let few = schemas.len() <= MANY;
    few && schemas.iter().enumerate().all(|(place, one)| {
        schemas[..place].iter().all(|other| match (one, other) {
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
    // Only of objects a property tells anything.
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

/// Whether no value is listed by both, if both list values.
fn values_are_apart(one: &Map<String, Value>, other: &Map<String, Value>) -> Option<bool> {
    match (values(one), values(other)) {
        (Some(Value::Array(left)), Some(Value::Array(right))) => Some(!left.iter().any(|value| right.contains(value))),
        _ => None,
    }
}

/// What a schema says of a property, in place or by reference.
fn property<'a>(schema: &'a Map<String, Value>, name: &str, root: &'a Value) -> Option<&'a Map<String, Value>> {
    followed(schema.get("properties")?.get(name)?, root).as_object()
}
