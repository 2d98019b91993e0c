//! Merges two schemas into one that accepts their intersection.
//!
//! Nested schemas are joined with `allOf` and resolved later, so merging never recurses.

use std::sync::Arc;

use serde_json::{Number, Value};

use super::document::{Annotations, Bound, Node, Types};

/// The intersection of two schemas without references or alternatives. Keywords that cannot be merged are added to
/// `conflicts`, and the first schema's value stays.
pub(super) fn both(one: &Node, other: &Node, conflicts: &mut Vec<&'static str>) -> Node {
    if one.never || other.never {
        return Node::never(&one.at);
    }
    let mut node = one.clone();
    node.annotations = annotations(&one.annotations, &other.annotations);
    node.types = match (one.types, other.types) {
        (Some(left), Some(right)) => Some(left.and(right)),
        (left, right) => left.or(right),
    };
    if let (Some(left), Some(right)) = (&one.values, &other.values) {
        node.values = Some(left.iter().filter(|value| right.contains(value)).cloned().collect());
    } else if one.values.is_none() {
        node.values.clone_from(&other.values);
    }
    let nothing = node.types.is_some_and(Types::is_empty) || node.values.as_ref().is_some_and(Vec::is_empty);
    if nothing {
        return Node::never(&one.at);
    }
    scalars(&mut node, other, conflicts);
    arrays(&mut node, one, other, conflicts);
    objects(&mut node, one, other, conflicts);
    logic(&mut node, other, conflicts);
    let impossible = node.required.iter().any(|name| node.property(name).is_some_and(|property| property.never));
    if impossible { Node::never(&one.at) } else { node }
}

/// The annotations of the first schema, completed by those of the other.
pub(super) fn annotations(one: &Annotations, other: &Annotations) -> Annotations {
    Annotations {
        title: one.title.clone().or_else(|| other.title.clone()),
        description: one.description.clone().or_else(|| other.description.clone()),
        default: one.default.clone().or_else(|| other.default.clone()),
        examples: if one.examples.is_empty() { other.examples.clone() } else { one.examples.clone() },
    }
}

fn scalars(node: &mut Node, other: &Node, conflicts: &mut Vec<&'static str>) {
    node.format = node.format.take().or_else(|| other.format.clone());
    node.length = node.length.and(other.length);
    node.low = tighter(node.low.take(), other.low.as_ref(), |left, right| left > right);
    node.high = tighter(node.high.take(), other.high.as_ref(), |left, right| left < right);
    match (&node.multiple_of, &other.multiple_of) {
        (Some(left), Some(right)) if left != right => match common_multiple(left, right) {
            Some(common) => node.multiple_of = Some(common),
            None => conflicts.push("multipleOf"),
        },
        (None, Some(right)) => node.multiple_of = Some(right.clone()),
        _ => {}
    }
    match (&node.pattern, &other.pattern) {
        (Some(left), Some(right)) if left != right => conflicts.push("pattern"),
        (None, Some(right)) => node.pattern = Some(right.clone()),
        _ => {}
    }
}

fn tighter(one: Option<Bound>, other: Option<&Bound>, is_tighter: impl Fn(f64, f64) -> bool) -> Option<Bound> {
    match (one, other) {
        (Some(one), Some(other)) => {
            let (left, right) = (one.as_f64(), other.as_f64());
            #[expect(clippy::float_cmp, reason = "equal bounds differ in whether they are exclusive")]
            let same = left == right;
            Some(if is_tighter(right, left) || (same && other.exclusive) { other.clone() } else { one })
        }
        (one, other) => one.or_else(|| other.cloned()),
    }
}

fn common_multiple(one: &Number, other: &Number) -> Option<Number> {
    let (left, right) = (one.as_u64()?, other.as_u64()?);
    let (mut large, mut small) = (left.max(right), left.min(right));
    while small != 0 {
        (large, small) = (small, large % small);
    }
    (left / large).checked_mul(right).map(Number::from)
}

fn arrays(node: &mut Node, one: &Node, other: &Node, conflicts: &mut Vec<&'static str>) {
    let item = |schema: &Node, position: usize| -> Option<Node> {
        schema.prefix.get(position).cloned().or_else(|| schema.items.as_deref().cloned())
    };
    node.prefix = (0..one.prefix.len().max(other.prefix.len()))
        .map(|position| joined(item(one, position), item(other, position)).unwrap_or_else(|| Node::any(&one.at)))
        .collect();
    node.items = joined(one.items.as_deref().cloned(), other.items.as_deref().cloned()).map(Box::new);
    node.item_count = one.item_count.and(other.item_count);
    node.unique |= other.unique;
    match (&node.contains, &other.contains) {
        (Some(left), Some(right)) if left != right => conflicts.push("contains"),
        (None, Some(right)) => node.contains = Some(right.clone()),
        _ => {}
    }
    node.unevaluated_items = boxed(node.unevaluated_items.take(), other.unevaluated_items.as_deref());
}

fn objects(node: &mut Node, one: &Node, other: &Node, conflicts: &mut Vec<&'static str>) {
    // Patterns are not matched against names here, so other keywords next to them may conflict.
    let unsure = |schema: &Node, next: &Node| {
        let closer = schema.additional.is_some() || next.additional.is_some();
        !schema.patterns.is_empty() && (closer || !next.properties.is_empty())
    };
    if one.patterns != other.patterns && (unsure(one, other) || unsure(other, one)) {
        conflicts.push("patternProperties");
    }
    let rest = |schema: &Node| schema.additional.as_deref().filter(|_| schema.patterns.is_empty()).cloned();
    let mut properties: Vec<(String, Node)> = Vec::new();
    for (name, property) in &one.properties {
        let next = other.property(name).cloned().or_else(|| rest(other));
        properties.extend(joined(Some(property.clone()), next).map(|both| (name.clone(), both)));
    }
    for (name, property) in other.properties.iter().filter(|(name, _)| one.property(name).is_none()) {
        properties.extend(joined(Some(property.clone()), rest(one)).map(|both| (name.clone(), both)));
    }
    node.properties = properties;
    node.additional = boxed(node.additional.take(), other.additional.as_deref());
    node.required.extend(other.required.iter().filter(|name| !one.requires(name)).cloned());
    // A closed schema rejects properties that only the other requires.
    let missing = |name: &String| node.property(name).is_none();
    if node.is_closed() && node.patterns.is_empty() && other.patterns.is_empty() {
        let refused: Vec<String> = node.required.iter().filter(|name| missing(name)).cloned().collect();
        node.properties.extend(refused.into_iter().map(|name| (name, Node::never(&one.at))));
    }
    for (pattern, schema) in &other.patterns {
        if let Some((_, known)) = node.patterns.iter_mut().find(|(known, _)| known == pattern) {
            *known = joined(Some(known.clone()), Some(schema.clone())).unwrap_or_default();
        } else {
            node.patterns.push((pattern.clone(), schema.clone()));
        }
    }
    node.names = boxed(node.names.take(), other.names.as_deref());
    node.property_count = one.property_count.and(other.property_count);
    node.dependent_required.extend(other.dependent_required.iter().cloned());
    node.dependent_schemas.extend(other.dependent_schemas.iter().cloned());
    node.unevaluated_properties = boxed(node.unevaluated_properties.take(), other.unevaluated_properties.as_deref());
}

fn logic(node: &mut Node, other: &Node, conflicts: &mut Vec<&'static str>) {
    node.not = match (node.not.take(), &other.not) {
        (Some(one), Some(right)) if one != *right => {
            Some(Box::new(Node { any_of: vec![(*one).clone(), (**right).clone()], ..Node::any(&one.at) }))
        }
        (one, right) => one.or_else(|| right.clone()),
    };
    match (&node.condition, &other.condition) {
        (Some(left), Some(right)) if left != right => conflicts.push("if"),
        (None, Some(right)) => node.condition = Some(right.clone()),
        _ => {}
    }
}

fn boxed(one: Option<Box<Node>>, other: Option<&Node>) -> Option<Box<Node>> {
    joined(one.map(|node| *node), other.cloned()).map(Box::new)
}

/// Joins two nested schemas, to be resolved later. A missing one accepts every value.
fn joined(one: Option<Node>, other: Option<Node>) -> Option<Node> {
    Some(match (one, other) {
        (Some(one), Some(other)) if one == other || other.is_any() => one,
        (Some(one), Some(other)) if one.is_any() => {
            Node { annotations: annotations(&one.annotations, &other.annotations), ..other }
        }
        (Some(one), Some(other)) if one.never || other.never => Node::never(&one.at),
        (Some(one), Some(other)) => {
            let (at, annotations) = (Arc::clone(&one.at), annotations(&one.annotations, &other.annotations));
            Node { annotations, all_of: vec![one, other], ..Node::any(&at) }
        }
        (one, other) => return one.or(other),
    })
}

/// Whether the schemas obviously accept no common value.
pub(super) fn are_disjoint(one: &Node, other: &Node) -> bool {
    if one.never || other.never {
        return true;
    }
    if let (Some(left), Some(right)) = (types(one), types(other))
        && left.and(right).is_empty()
    {
        return true;
    }
    if let (Some(left), Some(right)) = (&one.values, &other.values) {
        return !left.iter().any(|value| right.contains(value));
    }
    let closed_to = |closed: &Node, other: &Node| {
        closed.is_closed()
            && closed.patterns.is_empty()
            && other.required.iter().any(|name| closed.property(name).is_none())
            && types(closed) == Some(Types::OBJECT)
            && types(other) == Some(Types::OBJECT)
    };
    // A property that both require with different values distinguishes the objects.
    let distinct = one.required.iter().filter(|name| other.requires(name)).any(|name| {
        let values = |node: &Node| node.property(name).and_then(|property| property.values.clone());
        match (values(one), values(other)) {
            (Some(left), Some(right)) => !left.iter().any(|value: &Value| right.contains(value)),
            _ => false,
        }
    });
    let objects = types(one) == Some(Types::OBJECT) && types(other) == Some(Types::OBJECT);
    (objects && distinct) || closed_to(one, other) || closed_to(other, one)
}

fn types(node: &Node) -> Option<Types> {
    let value_types = node
        .values
        .as_ref()
        .map(|values| values.iter().fold(Types::default(), |types, value| types.with(Types::from_value(value))));
    match (node.types, value_types) {
        (Some(types), Some(value_types)) => Some(types.and(value_types)),
        (types, value_types) => types.or(value_types),
    }
}
