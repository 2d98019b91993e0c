//! Arguments that a model gave for a converted schema, as the server's own schema wants them.

use serde_json::{Map, Value};

use super::{
    Limits,
    converter::{Converter, SchemaContext},
    dialect::Dialect,
    document::{Document, Node, Types},
    read::read,
    report::Report,
};

/// Takes out the nulls that stand for properties that were left out, as OpenAI's strict mode makes a model write them.
///
/// A null that the schema asks for stays. Where the schema cannot be read, nothing is changed.
#[must_use]
pub fn restore_arguments(schema: &Value, arguments: Value) -> Value {
    let limits = Limits::default();
    match read(schema, &limits, &mut Report::default()) {
        Ok(document) => restored(&document, arguments, &limits),
        Err(_) => arguments,
    }
}

pub(super) fn restored(document: &Document, mut arguments: Value, limits: &Limits) -> Value {
    let mut converter = Converter::new(document, Dialect::OpenAiStrict, limits);
    if let (Value::Object(map), Ok(union)) = (&mut arguments, converter.one_object()) {
        converter.properties_restored(&union.node, map, 0);
    }
    arguments
}

impl Converter<'_> {
    fn properties_restored(&mut self, node: &Node, map: &mut Map<String, Value>, depth: usize) {
        map.retain(|name, value| !(value.is_null() && node.property(name).is_some() && !node.requires(name)));
        for (name, value) in map {
            if let Some(property) = node.property(name) {
                self.value_restored(property, value, depth + 1);
            }
        }
    }

    fn value_restored(&mut self, node: &Node, value: &mut Value, depth: usize) {
        if depth > self.limits.depth || !(value.is_object() || value.is_array()) {
            return;
        }
        let Some(node) = self.part_for(node, value, 0) else { return };
        match value {
            Value::Object(map) => self.properties_restored(&node, map, depth),
            Value::Array(items) => {
                for (position, item) in items.iter_mut().enumerate() {
                    if let Some(schema) = node.prefix.get(position).or(node.items.as_deref()) {
                        self.value_restored(schema, item, depth + 1);
                    }
                }
            }
            _ => {}
        }
    }

    /// The one of the simple schemas that the value was written for.
    fn part_for(&mut self, node: &Node, value: &Value, followed: usize) -> Option<Node> {
        let document = self.document;
        let parts = self.alternatives(node, SchemaContext::default()).ok()?;
        let wanted = Types::from_value(value);
        let mut fallback = None;
        for part in parts {
            let part = match part.node.reference {
                Some(number) if followed <= document.definitions.len() => {
                    self.part_for(&document.definitions[number].node, value, followed + 1)
                }
                Some(_) => None,
                None => Some(part.node).filter(|part| part.types == Some(wanted)),
            };
            let Some(part) = part else { continue };
            if wanted == Types::ARRAY || value.as_object().is_some_and(|map| is_written_for(&part, map)) {
                return Some(part);
            }
            fallback.get_or_insert(part);
        }
        fallback
    }
}

/// Whether the object has just the properties of the schema, and of those with a list of values one of them.
fn is_written_for(part: &Node, map: &Map<String, Value>) -> bool {
    let named = map.keys().all(|name| part.property(name).is_some());
    named
        && part.properties.iter().all(|(name, property)| match map.get(name) {
            None => false,
            Some(Value::Null) if !part.requires(name) => true,
            Some(value) => {
                property.values.as_ref().is_none_or(|values| values.contains(value))
                    && property.types.is_none_or(|types| types.covers(Types::from_value(value)))
            }
        })
}
