//! Objects.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{
    super::{
        annotations::shown,
        converter::{ConversionError, Converter, SchemaContext},
        dialect::Dialect,
        document::Node,
        report::Effect,
    },
    SubsetSchema,
};

impl Converter<'_> {
    pub(in super::super) fn object(
        &mut self,
        node: &Node,
        context: SchemaContext,
    ) -> Result<SubsetSchema, ConversionError> {
        let mut written = SubsetSchema::default();
        written.map.insert("type".into(), "object".into());
        if let Some(values) = &node.values {
            self.drop_keyword(&node.at, "enum", "an object among the accepted values")?;
            written.notes.add(&format!("One of: {}.", super::listed(values)));
        }
        if self.dialect == Dialect::OpenAiStrict {
            fits_strict(node, context)?;
        }
        let (properties, required) = self.properties(node, context)?;
        // Gemini rejects empty `properties`.
        if !properties.is_empty() || self.dialect != Dialect::Gemini {
            written.map.insert("properties".into(), properties.into());
        }
        if !required.is_empty() || self.dialect == Dialect::OpenAiStrict {
            written.map.insert("required".into(), required.into());
        }
        self.rest(&mut written, node, context)?;
        self.counts(&mut written, node);
        for (name, needed) in &node.dependent_required {
            let needed: Vec<String> = needed.iter().map(|name| format!("`{name}`")).collect();
            written.notes.add(&format!("`{name}` requires {}.", needed.join(" and ")));
        }
        if !node.dependent_required.is_empty() {
            self.drop_keyword(&node.at, "dependentRequired", "`dependentRequired` is not supported")?;
        }
        Ok(written)
    }

    fn properties(
        &mut self,
        node: &Node,
        context: SchemaContext,
    ) -> Result<(Map<String, Value>, Vec<String>), ConversionError> {
        let strict = self.dialect == Dialect::OpenAiStrict;
        let wanted: HashSet<&str> = node.required.iter().map(String::as_str).collect();
        let mut properties = Map::new();
        let mut required = Vec::new();
        for (name, property) in &node.properties {
            let optional = !wanted.contains(name.as_str());
            let mut map = match self.subset(property, SchemaContext { depth: context.depth + 1, optional }) {
                Ok(map) => map,
                Err(ConversionError::Never) if optional => {
                    let effect = if node.is_closed() || strict { Effect::Equal } else { Effect::Wider };
                    self.record(&property.at, name, "dropped, because it accepts no value", effect);
                    continue;
                }
                Err(error) => return Err(error),
            };
            if strict && optional {
                self.allow_null_for_absent(&mut map, property);
            }
            if strict || !optional {
                required.push(name.clone());
            }
            properties.insert(name.clone(), map.into());
        }
        for name in &node.required {
            if !properties.contains_key(name) {
                if strict {
                    let why = format!("`{name}` is required and is not a property");
                    return Err(ConversionError::Unfit { at: node.at.to_string(), why });
                }
                self.record(&node.at, "required", format!("`{name}` was added to `properties`"), Effect::Equal);
                let rest = node.additional.clone().unwrap_or_default();
                properties.insert(
                    name.clone(),
                    self.subset(&rest, SchemaContext { depth: context.depth + 1, optional: false })?.into(),
                );
                required.push(name.clone());
            }
        }
        Ok((properties, required))
    }

    /// Accepts null for an optional property, because strict mode requires all properties.
    fn allow_null_for_absent(&mut self, map: &mut Map<String, Value>, property: &Node) {
        if self.allow_null(map) {
            self.record(&property.at, "required", "added: null means absent", Effect::Equal);
        } else if property.annotations.default == Some(Value::Null) {
            self.record(&property.at, "required", "added: null is the default", Effect::Equal);
        } else {
            let became = "added: null means absent, so the value null cannot be sent";
            self.record(&property.at, "required", became, Effect::Narrower);
        }
    }

    /// Writes the rules for additional properties.
    fn rest(&mut self, written: &mut SubsetSchema, node: &Node, context: SchemaContext) -> Result<(), ConversionError> {
        match self.dialect {
            Dialect::OpenAiStrict => {
                written.map.insert("additionalProperties".into(), false.into());
                if node.additional.is_none() {
                    self.record(&node.at, "additionalProperties", "added as `false`", Effect::Narrower);
                }
            }
            Dialect::GeminiJson => {
                if let Some(rest) = &node.additional {
                    let inside = SchemaContext { depth: context.depth + 1, optional: true };
                    let rest = match self.subset(rest, inside) {
                        Err(ConversionError::Never) => false.into(),
                        other => Value::Object(other?),
                    };
                    written.map.insert("additionalProperties".into(), rest);
                }
            }
            _ => match &node.additional {
                Some(rest) if rest.never => {
                    self.record(&node.at, "additionalProperties", "dropped", Effect::Wider);
                }
                Some(rest) if !rest.is_any() => {
                    let sentence = match self.subset(rest, context.inside()) {
                        Ok(rest) => format!("Additional properties: {}", shown(&Value::Object(rest))),
                        Err(_) => "Additional properties.".to_owned(),
                    };
                    written.notes.add(&sentence);
                    self.record(&node.at, "additionalProperties", "moved to the description", Effect::Wider);
                }
                _ => {}
            },
        }
        if !node.patterns.is_empty() {
            for (pattern, _) in &node.patterns {
                written.notes.add(&format!("Names of additional properties match {pattern}"));
            }
            if self.dialect == Dialect::GeminiJson && node.is_closed() {
                written.map.shift_remove("additionalProperties");
                self.record(&node.at, "additionalProperties", "dropped", Effect::Wider);
            }
            self.record(&node.at, "patternProperties", "moved to the description", Effect::Wider);
        }
        Ok(())
    }

    fn counts(&mut self, written: &mut SubsetSchema, node: &Node) {
        if let Some(names) = &node.names {
            if let Some(pattern) = &names.pattern {
                written.notes.add(&format!("Names match {pattern}"));
            }
            self.record(&node.at, "propertyNames", "dropped", Effect::Wider);
        }
        let count = node.property_count;
        if let Some(min) = count.min {
            self.put(written, node, "minProperties", min.into(), &format!("At least {min} properties."));
        }
        if let Some(max) = count.max {
            self.put(written, node, "maxProperties", max.into(), &format!("At most {max} properties."));
        }
    }
}

/// Checks whether strict mode supports this object.
fn fits_strict(node: &Node, context: SchemaContext) -> Result<(), ConversionError> {
    let unfit = |why: &str| Err(ConversionError::Unfit { at: node.at.to_string(), why: why.to_owned() });
    if !node.patterns.is_empty() {
        return unfit("`patternProperties` is not supported");
    }
    if node.additional.as_ref().is_some_and(|rest| !rest.never) {
        return unfit("strict mode does not support additional properties");
    }
    if node.properties.is_empty() && node.additional.is_none() && context.depth > 0 {
        return unfit("strict mode does not support objects with arbitrary properties");
    }
    Ok(())
}
