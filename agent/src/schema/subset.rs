//! Writing for providers that take a small part of JSON Schema: OpenAI in strict mode, and Gemini.

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

/// Deeper than this nothing is written: more than any provider takes.
const DEPTH: usize = 40;

/// A schema that is being written.
#[derive(Debug, Default)]
pub(super) struct SubsetSchema {
    pub(super) map: Map<String, Value>,
    pub(super) remarks: DescriptionNotes,
}

impl Converter<'_> {
    /// A schema with what the dialect can say of it.
    pub(super) fn plain(&mut self, node: &Node, place: SchemaContext) -> Result<Map<String, Value>, ConversionError> {
        if self.budget == 0 || place.depth > DEPTH {
            self.lost(&node.at, "$ref", "written out, the schema becomes too large")?;
            return Ok(self.cut_off(node));
        }
        self.budget -= 1;
        let mut parts = self.alternatives(node, place)?;
        let before = parts.len();
        parts.retain(|part| part.node.reference.is_some() || part.node.types != Some(Types::NULL));
        let nullable = parts.len() < before;
        let (written, words) = match parts.as_slice() {
            [] if nullable => (self.only_null(node), node.words.clone()),
            [] => return Err(ConversionError::Never),
            [only] => (self.single(only, nullable, place)?, merge::words(&node.words, &only.node.words)),
            several => (self.several(node, several, nullable, place)?, node.words.clone()),
        };
        Ok(self.dressed(written.map, &words, written.remarks, &node.at))
    }

    /// A value of any kind, where the dialect has a way to say that.
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

    /// A value of the kind that the schema names first, and nothing more: there is no room left.
    fn cut_off(&self, node: &Node) -> Map<String, Value> {
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
            written.remarks.add("Always null.");
            self.record(&node.at, "type", "`null` became a string that may be null", Effect::Wider);
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
        place: SchemaContext,
    ) -> Result<SubsetSchema, ConversionError> {
        let mut choices: Vec<Value> = Vec::new();
        for part in parts {
            match self.single(part, false, place) {
                Ok(written) => {
                    let map = self.dressed(written.map, &part.node.words, written.remarks, &part.node.at);
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

    /// One of the simple schemas.
    pub(super) fn single(
        &mut self,
        part: &Part,
        nullable: bool,
        place: SchemaContext,
    ) -> Result<SubsetSchema, ConversionError> {
        let length = self.trail.len();
        self.trail.extend(&part.entered);
        let written = self.single_inside(&part.node, place);
        self.trail.truncate(length);
        let mut written = written?;
        if nullable {
            self.allow_null(&mut written.map);
        }
        Ok(written)
    }

    fn single_inside(&mut self, node: &Node, place: SchemaContext) -> Result<SubsetSchema, ConversionError> {
        if let Some(number) = node.reference {
            self.used.insert(number);
            let mut written = SubsetSchema::default();
            written.map.insert("$ref".into(), self.reference_to(number));
            return Ok(written);
        }
        match node.types {
            Some(Types::OBJECT) => self.object(node, place),
            Some(Types::ARRAY) => self.array(node, place),
            Some(Types::STRING) => Ok(self.string(node)),
            Some(Types::NUMBER | Types::INTEGER) => Ok(self.number(node)),
            Some(Types::BOOLEAN) => Ok(self.boolean(node)),
            _ => self.untyped(node),
        }
    }

    fn untyped(&mut self, node: &Node) -> Result<SubsetSchema, ConversionError> {
        if self.dialect == Dialect::OpenAiStrict {
            let why = "strict mode asks for a type, and a value of any type is allowed".to_owned();
            return Err(ConversionError::Unfit { at: node.at.to_string(), why });
        }
        if self.dialect == Dialect::Gemini {
            let became = "became a choice of all types, with lists one level deep";
            self.record(&node.at, "type", became, Effect::Narrower);
        }
        Ok(SubsetSchema { map: self.anything()?, remarks: DescriptionNotes::default() })
    }

    /// Lets `null` pass as well. Says whether it did not before.
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
                // A schema without a type lets everything pass.
                _ => return false,
            },
        }
        true
    }

    /// Says a list of values in words, where the dialect cannot list values of their type.
    fn describe_values(&mut self, written: &mut SubsetSchema, node: &Node, values: &[Value]) {
        written.remarks.add(&format!("One of: {}.", listed(values)));
        self.record(&node.at, "enum", "said in the description", Effect::Wider);
    }

    /// Puts a keyword, or says it in words where the dialect does not know it.
    fn put(&mut self, written: &mut SubsetSchema, node: &Node, keyword: &str, value: Value, sentence: &str) {
        if self.dialect.knows(keyword) {
            written.map.insert(keyword.into(), value);
        } else {
            written.remarks.add(sentence);
            self.record(&node.at, keyword, "said in the description", Effect::Wider);
        }
    }
}
