//! Writes out what a schema leaves open: types, `additionalProperties: false`, and types instead of boolean schemas.
//!
//! For providers with nearly all of JSON Schema ([`Options::explicit`](super::Options)). Strict mode and the subsets of other
//! providers have rules of their own.

use super::{
    document::{Document, Node, Types},
    report::{Effect, Report},
};

const RULE: &str = "explicit schemas were requested";

/// Completes all schemas of a document.
pub(super) fn make_explicit(document: &mut Document, report: &mut Report) {
    // Several schemas may apply to an object of a definition. Then none of them knows all properties.
    let is_shared =
        has_combination(&document.root) || document.definitions.iter().any(|one| has_combination(&one.node));
    let mut writer = Writer { report };
    writer.node(&mut document.root, true);
    for definition in &mut document.definitions {
        writer.node(&mut definition.node, !is_shared);
    }
}

/// Whether a schema applies together with another one.
fn combines(node: &Node) -> bool {
    !node.all_of.is_empty()
        || !node.one_of.is_empty()
        || node.not.is_some()
        || node.condition.is_some()
        || !node.dependent_schemas.is_empty()
}

fn has_combination(node: &Node) -> bool {
    combines(node) || children(node).any(has_combination)
}

/// The schemas of parts of the value, and the alternatives.
fn children(node: &Node) -> impl Iterator<Item = &Node> {
    let boxed = [&node.items, &node.additional, &node.names, &node.unevaluated_items, &node.unevaluated_properties];
    let named = node.properties.iter().chain(&node.patterns).map(|(_, child)| child);
    named.chain(&node.prefix).chain(&node.any_of).chain(boxed.into_iter().flatten().map(|child| &**child))
}

struct Writer<'r> {
    report: &'r mut Report,
}

impl Writer<'_> {
    /// Completes a schema. `closed`: no other schema applies to the same value.
    fn node(&mut self, node: &mut Node, closed: bool) {
        let closed = closed && !combines(node) && (node.any_of.is_empty() || node.properties.is_empty());
        self.write_type(node);
        self.remove_impossible(node);
        if closed {
            self.close(node);
        }
        for (_, child) in node.properties.iter_mut().chain(&mut node.patterns) {
            self.node(child, closed);
        }
        for child in node.prefix.iter_mut().chain(&mut node.any_of) {
            self.node(child, closed);
        }
        for child in [&mut node.items, &mut node.additional].into_iter().flatten() {
            // `false` has a meaning of its own in these keywords.
            if !child.never {
                self.node(child, closed);
            }
        }
    }

    /// Infers the type from the values and keywords. A schema that accepts every value gets all types.
    fn write_type(&mut self, node: &mut Node) {
        if node.types.is_some() || node.never {
            return;
        }
        let has_values = node.values.is_some();
        let of_values = node.values.iter().flatten().map(Types::from_value).fold(Types::default(), Types::with);
        let of_keywords = node.types_of_keywords();
        let (types, effect) = if node.is_any() {
            (Types::all(), Effect::Equal)
        } else if has_values && !of_values.is_empty() {
            (of_values, Effect::Equal)
        } else if node.reference.is_none() && !of_keywords.is_empty() {
            (of_keywords, Effect::Narrower)
        } else {
            return;
        };
        node.types = Some(types);
        self.report.add(&node.at, "type", "inferred", RULE, effect);
    }

    /// Removes optional properties that accept no value.
    fn remove_impossible(&mut self, node: &mut Node) {
        let Node { properties, required, .. } = node;
        properties.retain(|(name, child)| {
            let removed = child.never && !required.contains(name);
            if removed {
                self.report.add(&child.at, "properties", "property without values removed", RULE, Effect::Wider);
            }
            !removed
        });
    }

    /// Adds `additionalProperties: false`. An object without properties is a map, except at the root.
    fn close(&mut self, node: &mut Node) {
        let is_object = node.types.is_some_and(|types| types.covers(Types::OBJECT));
        let is_open = node.additional.is_none() && node.unevaluated_properties.is_none() && node.patterns.is_empty();
        let has_properties = !node.properties.is_empty() || (node.at.is_empty() && node.any_of.is_empty());
        if is_object && is_open && has_properties && node.reference.is_none() {
            node.additional = Some(Box::new(Node::never(&node.at)));
            self.report.add(&node.at, "additionalProperties", "added", RULE, Effect::Narrower);
        }
    }
}
