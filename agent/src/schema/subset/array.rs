//! Lists.

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
    pub(super) fn array(&mut self, node: &Node, place: SchemaContext) -> Result<SubsetSchema, ConversionError> {
        let mut written = SubsetSchema::default();
        written.map.insert("type".into(), "array".into());
        if let Some(values) = &node.values {
            self.lost(&node.at, "enum", "a list among the allowed values")?;
            written.remarks.add(&format!("One of: {}.", super::listed(values)));
        }
        let end = if node.prefix.is_empty() {
            self.items(&mut written, node, place)?
        } else {
            self.positions(&mut written, node, place)?
        };
        // What may not be there is a matter of how many there are.
        let count = node.item_count.and(Range { min: None, max: end });
        if let Some(min) = count.min {
            self.put(&mut written, node, "minItems", min.into(), "");
        }
        if let Some(max) = count.max {
            self.put(&mut written, node, "maxItems", max.into(), "");
        }
        if node.unique {
            self.put(&mut written, node, "uniqueItems", true.into(), "No item twice.");
        }
        if node.contains.is_some() {
            self.record(&node.at, "contains", "dropped", Effect::Wider);
        }
        Ok(written)
    }

    /// The items of a list, and how many there may be at most where that follows from them.
    fn items(
        &mut self,
        written: &mut SubsetSchema,
        node: &Node,
        place: SchemaContext,
    ) -> Result<Option<u64>, ConversionError> {
        let mut end = None;
        let items = match &node.items {
            Some(items) => match self.plain(items, place.inside()) {
                Err(ConversionError::Never) => {
                    end = Some(0);
                    self.stand_in()?
                }
                other => other?,
            },
            None if self.dialect == Dialect::OpenAiStrict => {
                let why = "strict mode asks for `items`, and items of any kind are allowed".to_owned();
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

    /// Items that there are none of.
    fn stand_in(&mut self) -> Result<Map<String, Value>, ConversionError> {
        if self.dialect == Dialect::OpenAiStrict {
            return Err(ConversionError::Unfit { at: String::new(), why: "a list that must be empty".into() });
        }
        Ok(Map::from_iter([("type".to_owned(), "string".into())]))
    }

    /// Lists whose items have a meaning each.
    fn positions(
        &mut self,
        written: &mut SubsetSchema,
        node: &Node,
        place: SchemaContext,
    ) -> Result<Option<u64>, ConversionError> {
        if self.dialect == Dialect::OpenAiStrict {
            let why = "`prefixItems` is not supported".to_owned();
            return Err(ConversionError::Unfit { at: node.at.to_string(), why });
        }
        let mut positions: Vec<Value> = Vec::new();
        let mut end = None;
        for item in &node.prefix {
            match self.plain(item, place.inside()) {
                // Nothing can stand there, so the list ends before.
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
            Some(items) => match self.plain(items, place.inside()) {
                Err(ConversionError::Never) => {
                    end = Some(positions.len() as u64);
                    None
                }
                items => Some(items?),
            },
        };
        if positions.is_empty() {
            written.map.insert("items".into(), self.stand_in()?.into());
            return Ok(end);
        }
        if self.dialect == Dialect::GeminiJson {
            written.map.insert("prefixItems".into(), positions.into());
            written.map.extend(rest.map(|rest| ("items".to_owned(), rest.into())));
            return Ok(end);
        }
        // Without positions, each item may be what any of them may be.
        let said: Vec<String> = positions.iter().map(super::super::annotations::shown).collect();
        written.remarks.add(&format!("The items are, in this order: {}.", said.join(", ")));
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
