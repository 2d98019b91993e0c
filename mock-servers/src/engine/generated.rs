//! Generated items: pure functions of a number.

use serde_json::{Map, Value, json};

use crate::script::{Generate, GenerateSchema};

/// Limits of a generated schema, so that a typing error in a script does not exhaust the memory.
const MAX_DEPTH: usize = 32;
const MAX_WIDTH: usize = 1_000;
const MAX_DESCRIPTION: usize = 1 << 20;

/// The description of the item with this number.
pub(crate) fn description(kind: &str, number: usize, generate: &Generate) -> String {
    let mut text = format!("Made-up {kind} number {number}.");
    let length = generate.description_chars.unwrap_or_default().min(MAX_DESCRIPTION);
    while text.len() < length {
        text.push_str(" It does nothing, and says so at length, because real descriptions are long too.");
    }
    text
}

/// An input schema of this size: nested objects with strings, numbers, enums and arrays.
pub(crate) fn schema(number: usize, size: GenerateSchema) -> Value {
    let mut schema = object(number, 1, size);
    schema["description"] = format!("The arguments of made-up tool number {number}.").into();
    schema
}

fn object(number: usize, level: usize, size: GenerateSchema) -> Value {
    let mut properties = Map::new();
    for position in 0..size.width.clamp(1, MAX_WIDTH) {
        let name = format!("field_{level}_{position}");
        properties.insert(name, property(number + position, level));
    }
    if level < size.depth.min(MAX_DEPTH) {
        properties.insert(format!("nested_{level}"), object(number, level + 1, size));
    }
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn property(kind: usize, level: usize) -> Value {
    let description = format!("Field on level {level}.");
    match kind % 5 {
        0 => json!({ "type": "string", "description": description, "maxLength": 1000 }),
        1 => json!({ "type": "integer", "description": description, "minimum": 0 }),
        2 => json!({ "type": "string", "description": description, "enum": ["first", "second", "third"] }),
        3 => json!({ "type": "array", "description": description, "items": { "type": "number" } }),
        _ => json!({ "type": "boolean", "description": description, "default": false }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth(schema: &Value) -> usize {
        let properties = schema["properties"].as_object().into_iter().flatten();
        1 + properties.map(|(_, property)| depth(property)).max().unwrap_or_default()
    }

    #[test]
    fn makes_schemas_of_the_size_that_is_wanted() {
        let schema = schema(7, GenerateSchema { depth: 4, width: 6 });
        assert_eq!(depth(&schema), 5, "four objects and what the innermost holds");
        assert_eq!(schema["properties"].as_object().unwrap().len(), 7);
        assert!(jsonschema::meta::is_valid(&schema));
        let deepest = super::schema(0, GenerateSchema { depth: usize::MAX, width: 1 });
        assert_eq!(depth(&deepest), MAX_DEPTH + 1);
    }

    #[test]
    fn makes_descriptions_as_long_as_wanted() {
        let generate = Generate { description_chars: Some(1000), ..Generate::default() };
        assert!((1000..1100).contains(&description("tool", 3, &generate).len()));
        assert_eq!(description("tool", 3, &Generate::default()), "Made-up tool number 3.");
    }
}
