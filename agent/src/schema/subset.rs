//! Writes schemas for providers that support a subset of JSON Schema: OpenAI in strict mode, and Gemini.

mod array;
mod object;
mod scalar;

use serde_json::{Map, Value, json};

use super::{
    alternatives::Part,
    annotations::{DescriptionNotes, listed},
    converter::{ConversionError, Converter, SchemaContext},
    dialect::Dialect,
    document::{Node, Types},
    merge,
    report::Effect,
};

/// Maximum depth of written schemas; no provider supports more.
const MAX_DEPTH: usize = 40;

/// A schema during writing.
#[derive(Debug, Default)]
pub(super) struct SubsetSchema {
    pub(super) map: Map<String, Value>,
    pub(super) notes: DescriptionNotes,
}

impl Converter<'_> {
    /// Writes a schema with the supported keywords.
    pub(super) fn subset(
        &mut self,
        node: &Node,
        context: SchemaContext,
    ) -> Result<Map<String, Value>, ConversionError> {
        if self.budget == 0 || context.depth > MAX_DEPTH {
            self.drop_keyword(&node.at, "$ref", "the inlined schema is too large")?;
            return Ok(self.type_only(node));
        }
        self.budget -= 1;
        let mut parts = self.alternatives(node, context)?;
        let before = parts.len();
        parts.retain(|part| part.node.reference.is_some() || part.node.types != Some(Types::NULL));
        let nullable = parts.len() < before;
        let (written, annotations) = match parts.as_slice() {
            [] if nullable => (self.only_null(node), node.annotations.clone()),
            [] => return Err(ConversionError::Never),
            [only] => {
                (self.single(only, nullable, context)?, merge::annotations(&node.annotations, &only.node.annotations))
            }
            several => (self.several(node, several, nullable, context)?, node.annotations.clone()),
        };
        Ok(self.annotate(written.map, &annotations, written.notes, &node.at))
    }

    /// A schema that accepts every value, as far as the dialect supports it.
    pub(super) fn anything(&mut self) -> Result<Map<String, Value>, ConversionError> {
        let any = match self.dialect {
            Dialect::Gemini => json!({ "anyOf": [
                { "type": "string" },
                { "type": "number" },
                { "type": "boolean" },
                { "type": "object" },
                { "type": "array", "items": { "anyOf": [
                    { "type": "string" },
                    { "type": "number" },
                    { "type": "boolean" },
                    { "type": "object" },
                ] } },
            ], "nullable": true }),
            _ => json!({}),
        };
        match any {
            Value::Object(map) => Ok(map),
            _ => Err(ConversionError::Never),
        }
    }

    /// Only the first type of a schema, because the budget is exhausted.
    fn type_only(&self, node: &Node) -> Map<String, Value> {
        let target = node.reference.map_or(node, |number| &self.document.definitions[number].node);
        let types = target.types.unwrap_or_else(|| target.types_of_keywords());
        let first = types.names().find(|name| *name != "null").unwrap_or("object");
        let mut map = Map::from_iter([("type".to_owned(), first.into())]);
        if first == "array" {
            map.insert("items".into(), json!({ "type": "object" }));
        }
        if types.covers(Types::NULL) {
            self.allow_null(&mut map);
        }
        map
    }

    fn only_null(&mut self, node: &Node) -> SubsetSchema {
        let mut written = SubsetSchema::default();
        if self.dialect == Dialect::Gemini {
            written.map.insert("type".into(), "string".into());
            written.map.insert("nullable".into(), true.into());
            written.notes.add("Always null.");
            self.record(&node.at, "type", "`null` became a nullable string", Effect::Wider);
        } else {
            written.map.insert("type".into(), "null".into());
        }
        written
    }

    fn several(
        &mut self,
        node: &Node,
        parts: &[Part],
        nullable: bool,
        context: SchemaContext,
    ) -> Result<SubsetSchema, ConversionError> {
        let mut choices: Vec<Value> = Vec::new();
        for part in parts {
            match self.single(part, false, context) {
                Ok(written) => {
                    let map = self.annotate(written.map, &part.node.annotations, written.notes, &part.node.at);
                    let choice = Value::Object(map);
                    if !choices.contains(&choice) {
                        choices.push(choice);
                    }
                }
                Err(ConversionError::Never) => {}
                Err(unfit) => return Err(unfit),
            }
        }
        if choices.is_empty() {
            return if nullable { Ok(self.only_null(node)) } else { Err(ConversionError::Never) };
        }
        let mut written = SubsetSchema::default();
        if nullable && self.dialect != Dialect::Gemini {
            choices.push(json!({ "type": "null" }));
        }
        written.map.insert("anyOf".into(), choices.into());
        if nullable && self.dialect == Dialect::Gemini {
            written.map.insert("nullable".into(), true.into());
        }
        Ok(written)
    }

    /// Writes a simple schema.
    pub(super) fn single(
        &mut self,
        part: &Part,
        nullable: bool,
        context: SchemaContext,
    ) -> Result<SubsetSchema, ConversionError> {
        let length = self.inlining.len();
        self.inlining.extend(&part.inlined);
        let written = self.single_inside(&part.node, context);
        self.inlining.truncate(length);
        let mut written = written?;
        if nullable {
            self.allow_null(&mut written.map);
        }
        Ok(written)
    }

    fn single_inside(&mut self, node: &Node, context: SchemaContext) -> Result<SubsetSchema, ConversionError> {
        if let Some(number) = node.reference {
            self.used.insert(number);
            let mut written = SubsetSchema::default();
            written.map.insert("$ref".into(), self.reference_to(number));
            return Ok(written);
        }
        match node.types {
            Some(Types::OBJECT) => self.object(node, context),
            Some(Types::ARRAY) => self.array(node, context),
            Some(Types::STRING) => Ok(self.string(node)),
            Some(Types::NUMBER | Types::INTEGER) => Ok(self.number(node)),
            Some(Types::BOOLEAN) => Ok(self.boolean(node)),
            _ => self.untyped(node),
        }
    }

    fn untyped(&mut self, node: &Node) -> Result<SubsetSchema, ConversionError> {
        if self.dialect == Dialect::OpenAiStrict {
            let why = "strict mode requires a type, and the schema accepts any type".to_owned();
            return Err(ConversionError::Unfit { at: node.at.to_string(), why });
        }
        if self.dialect == Dialect::Gemini {
            let became = "became a choice of all types, with arrays one level deep";
            self.record(&node.at, "type", became, Effect::Narrower);
        }
        Ok(SubsetSchema { map: self.anything()?, notes: DescriptionNotes::default() })
    }

    /// Accepts `null` too. Returns whether it was not accepted before.
    pub(super) fn allow_null(&self, map: &mut Map<String, Value>) -> bool {
        let null = json!({ "type": "null" });
        if self.dialect == Dialect::Gemini {
            return map.insert("nullable".into(), true.into()).is_none();
        }
        if let Some(Value::Array(values)) = map.get_mut("enum")
            && !values.contains(&Value::Null)
        {
            values.push(Value::Null);
        }
        if map.contains_key("$ref") {
            let whole = Value::Object(std::mem::take(map));
            map.insert("anyOf".into(), Value::Array(vec![whole, null]));
            return true;
        }
        match map.get_mut("type") {
            Some(Value::Array(types)) if types.contains(&"null".into()) => return false,
            Some(Value::Array(types)) => types.push("null".into()),
            Some(one) if *one == "null" => return false,
            Some(one) => *one = json!([one.take(), "null"]),
            None => match map.get_mut("anyOf") {
                Some(Value::Array(choices)) if choices.contains(&null) => return false,
                Some(Value::Array(choices)) => choices.push(null),
                // A schema without a type accepts every value.
                _ => return false,
            },
        }
        true
    }

    /// Lists values in the description if the dialect does not support `enum` for their type.
    fn describe_values(&mut self, written: &mut SubsetSchema, node: &Node, values: &[Value]) {
        written.notes.add(&format!("One of: {}.", listed(values)));
        self.record(&node.at, "enum", "moved to the description", Effect::Wider);
    }

    /// Writes a keyword, or describes it if the dialect does not support it.
    fn put(&mut self, written: &mut SubsetSchema, node: &Node, keyword: &str, value: Value, sentence: &str) {
        if self.dialect.supports(keyword) {
            written.map.insert(keyword.into(), value);
        } else {
            written.notes.add(sentence);
            self.record(&node.at, keyword, "moved to the description", Effect::Wider);
        }
    }
}
