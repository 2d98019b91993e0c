//! What two schemas both allow, as one schema.
//!
//! Only the keywords of the schemas themselves are looked at: schemas inside of them are joined with `allOf`, and whoever
//! reads them next resolves that. So this never recurses, whatever a schema says.

use std::sync::Arc;

use serde_json::{Number, Value};

use super::document::{Annotations, Bound, Node, Types};

/// What both allow. Neither has a reference or a list of alternatives left. Keywords that cannot be said together in one
/// schema are told, and those of the first one stay.
pub(super) fn both(one: &Node, other: &Node, conflicts: &mut Vec<&'static str>) -> Node {
    if one.never || other.never {
        return Node::never(&one.at);
    }
    let mut node = one.clone();
    node.words = words(&one.words, &other.words);
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

/// The words of the first one, and of the other one where the first says nothing.
pub(super) fn words(one: &Annotations, other: &Annotations) -> Annotations {
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
            #[expect(clippy::float_cmp, reason = "equal bounds are told apart by whether they are exclusive")]
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
    // Which names a pattern matches is not found out here, so what stands beside it cannot be said for sure.
    let unsure = |schema: &Node, beside: &Node| {
        let closer = schema.additional.is_some() || beside.additional.is_some();
        !schema.patterns.is_empty() && (closer || !beside.properties.is_empty())
    };
    if one.patterns != other.patterns && (unsure(one, other) || unsure(other, one)) {
        conflicts.push("patternProperties");
    }
    let rest = |schema: &Node| schema.additional.as_deref().filter(|_| schema.patterns.is_empty()).cloned();
    let mut properties: Vec<(String, Node)> = Vec::new();
    for (name, property) in &one.properties {
        let beside = other.property(name).cloned().or_else(|| rest(other));
        properties.extend(joined(Some(property.clone()), beside).map(|both| (name.clone(), both)));
    }
    for (name, property) in other.properties.iter().filter(|(name, _)| one.property(name).is_none()) {
        properties.extend(joined(Some(property.clone()), rest(one)).map(|both| (name.clone(), both)));
    }
    node.properties = properties;
    node.additional = boxed(node.additional.take(), other.additional.as_deref());
    node.required.extend(other.required.iter().filter(|name| !one.requires(name)).cloned());
    // A closed schema refuses what the other one asks for.
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

/// Two schemas inside of others as one, to be resolved by whoever reads it. A missing one allows everything.
fn joined(one: Option<Node>, other: Option<Node>) -> Option<Node> {
    Some(match (one, other) {
        (Some(one), Some(other)) if one == other || other.is_any() => one,
        (Some(one), Some(other)) if one.is_any() => Node { words: words(&one.words, &other.words), ..other },
        (Some(one), Some(other)) if one.never || other.never => Node::never(&one.at),
        (Some(one), Some(other)) => {
            let (at, words) = (Arc::clone(&one.at), words(&one.words, &other.words));
            Node { words, all_of: vec![one, other], ..Node::any(&at) }
        }
        (one, other) => return one.or(other),
    })
}

/// Whether no value is allowed by both, as far as that can be told at a glance.
pub(super) fn are_apart(one: &Node, other: &Node) -> bool {
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
    // A property that both ask for and that has other values in each tells objects apart.
    let told_apart = one.required.iter().filter(|name| other.requires(name)).any(|name| {
        let values = |node: &Node| node.property(name).and_then(|property| property.values.clone());
        match (values(one), values(other)) {
            (Some(left), Some(right)) => !left.iter().any(|value: &Value| right.contains(value)),
            _ => false,
        }
    });
    let objects = types(one) == Some(Types::OBJECT) && types(other) == Some(Types::OBJECT);
    (objects && told_apart) || closed_to(one, other) || closed_to(other, one)
}

fn types(node: &Node) -> Option<Types> {
    let of_values = node
        .values
        .as_ref()
        .map(|values| values.iter().fold(Types::default(), |types, value| types.with(Types::from_value(value))));
    match (node.types, of_values) {
        (Some(types), Some(of_values)) => Some(types.and(of_values)),
        (types, of_values) => types.or(of_values),
    }
}
