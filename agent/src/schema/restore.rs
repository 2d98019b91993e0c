//! Converts arguments for a converted schema back to the server's schema.

use serde_json::{Map, Value};

use super::{
    Limits,
    converter::{Converter, SchemaContext},
    dialect::Dialect,
    document::{Document, Node, Types},
    read::read,
    report::Report,
};

/// Removes nulls that represent absent properties in OpenAI's strict mode.
///
/// A null that the schema requires stays. If the schema is invalid, the arguments are unchanged.
#[must_use]
pub fn restore_arguments(schema: &Value, arguments: Value) -> Value {
    let limits = Limits::default();
    match read(schema, &limits, &mut Report::default()) {
        Ok(document) => restore(&document, arguments, &limits),
        Err(_) => arguments,
    }
}

pub(super) fn restore(document: &Document, mut arguments: Value, limits: &Limits) -> Value {
    let mut converter = Converter::new(document, Dialect::OpenAiStrict, limits);
    if let (Value::Object(map), Ok(union)) = (&mut arguments, converter.root_object()) {
        converter.restore_properties(&union.node, map, 0);
    }
    arguments
}

impl Converter<'_> {
    fn restore_properties(&mut self, node: &Node, map: &mut Map<String, Value>, depth: usize) {
        map.retain(|name, value| !(value.is_null() && node.property(name).is_some() && !node.requires(name)));
        for (name, value) in map {
            if let Some(property) = node.property(name) {
                self.restore_value(property, value, depth + 1);
            }
        }
    }

    fn restore_value(&mut self, node: &Node, value: &mut Value, depth: usize) {
        if depth > self.limits.depth || !(value.is_object() || value.is_array()) {
            return;
        }
        let Some(node) = self.part_for(node, value, 0) else { return };
        match value {
            Value::Object(map) => self.restore_properties(&node, map, depth),
            Value::Array(items) => {
                for (position, item) in items.iter_mut().enumerate() {
                    if let Some(schema) = node.prefix.get(position).or(node.items.as_deref()) {
                        self.restore_value(schema, item, depth + 1);
                    }
                }
            }
            _ => {}
        }
    }

    /// The simple schema that the value matches.
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
            if wanted == Types::ARRAY || value.as_object().is_some_and(|map| matches_properties(&part, map)) {
                return Some(part);
            }
            fallback.get_or_insert(part);
        }
        fallback
    }
}

/// Whether the object has exactly the properties of the schema, with accepted values.
fn matches_properties(part: &Node, map: &Map<String, Value>) -> bool {
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
