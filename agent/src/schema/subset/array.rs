//! Arrays.

use serde_json::{Map, Value};

use super::{
    super::{
        converter::{ConversionError, Converter, SchemaContext},
        dialect::Dialect,
        document::{Node, Range},
        report::Effect,
    },
    SubsetSchema,
};

impl Converter<'_> {
    pub(super) fn array(&mut self, node: &Node, context: SchemaContext) -> Result<SubsetSchema, ConversionError> {
        let mut written = SubsetSchema::default();
        written.map.insert("type".into(), "array".into());
        if let Some(values) = &node.values {
            self.drop_keyword(&node.at, "enum", "an array among the accepted values")?;
            written.notes.add(&format!("One of: {}.", super::listed(values)));
        }
        let end = if node.prefix.is_empty() {
            self.items(&mut written, node, context)?
        } else {
            self.positions(&mut written, node, context)?
        };
        // Positions that accept no value limit the number of items.
        let count = node.item_count.and(Range { min: None, max: end });
        if let Some(min) = count.min {
            self.put(&mut written, node, "minItems", min.into(), "");
        }
        if let Some(max) = count.max {
            self.put(&mut written, node, "maxItems", max.into(), "");
        }
        if node.unique {
            self.put(&mut written, node, "uniqueItems", true.into(), "Items are unique.");
        }
        if node.contains.is_some() {
            self.record(&node.at, "contains", "dropped", Effect::Wider);
        }
        Ok(written)
    }

    /// Writes `items`; returns the maximum number of items if it follows from them.
    fn items(
        &mut self,
        written: &mut SubsetSchema,
        node: &Node,
        context: SchemaContext,
    ) -> Result<Option<u64>, ConversionError> {
        let mut end = None;
        let items = match &node.items {
            Some(items) => match self.subset(items, context.inside()) {
                Err(ConversionError::Never) => {
                    end = Some(0);
                    self.placeholder()?
                }
                other => other?,
            },
            None if self.dialect == Dialect::OpenAiStrict => {
                let why = "strict mode requires `items`, and the schema accepts any items".to_owned();
                return Err(ConversionError::Unfit { at: node.at.to_string(), why });
            }
            None if self.dialect == Dialect::GeminiJson => return Ok(None),
            None => {
                self.record(&node.at, "items", "added, with a choice of all types", Effect::Narrower);
                self.anything()?
            }
        };
        written.map.insert("items".into(), items.into());
        Ok(end)
    }

    /// A placeholder for the items of an array that must be empty.
    fn placeholder(&mut self) -> Result<Map<String, Value>, ConversionError> {
        if self.dialect == Dialect::OpenAiStrict {
            return Err(ConversionError::Unfit { at: String::new(), why: "an array that must be empty".into() });
        }
        Ok(Map::from_iter([("type".to_owned(), "string".into())]))
    }

    /// Writes `prefixItems`; returns the maximum number of items if it follows from them.
    fn positions(
        &mut self,
        written: &mut SubsetSchema,
        node: &Node,
        context: SchemaContext,
    ) -> Result<Option<u64>, ConversionError> {
        if self.dialect == Dialect::OpenAiStrict {
            let why = "`prefixItems` is not supported".to_owned();
            return Err(ConversionError::Unfit { at: node.at.to_string(), why });
        }
        let mut positions: Vec<Value> = Vec::new();
        let mut end = None;
        for item in &node.prefix {
            match self.subset(item, context.inside()) {
                // No value is accepted at this position, so the array ends before it.
                Err(ConversionError::Never) => {
                    end = Some(positions.len() as u64);
                    break;
                }
                item => positions.push(item?.into()),
            }
        }
        let rest = match node.items.as_deref() {
            _ if end.is_some() => None,
            None => Some(self.anything()?),
            Some(items) => match self.subset(items, context.inside()) {
                Err(ConversionError::Never) => {
                    end = Some(positions.len() as u64);
                    None
                }
                items => Some(items?),
            },
        };
        if positions.is_empty() {
            written.map.insert("items".into(), self.placeholder()?.into());
            return Ok(end);
        }
        if self.dialect == Dialect::GeminiJson {
            written.map.insert("prefixItems".into(), positions.into());
            written.map.extend(rest.map(|rest| ("items".to_owned(), rest.into())));
            return Ok(end);
        }
        // Without positions, each item may match any of the schemas.
        let shown: Vec<String> = positions.iter().map(super::super::annotations::shown).collect();
        written.notes.add(&format!("Items in this order: {}.", shown.join(", ")));
        let mut choices: Vec<Value> = Vec::new();
        for choice in positions.into_iter().chain(rest.map(Value::Object)) {
            if !choices.contains(&choice) {
                choices.push(choice);
            }
        }
        let items = match choices.len() {
            1 => choices.swap_remove(0),
            _ => serde_json::json!({ "anyOf": choices }),
        };
        written.map.insert("items".into(), items);
        self.record(&node.at, "prefixItems", "became `items`, in any order", Effect::Wider);
        Ok(end)
    }
}
