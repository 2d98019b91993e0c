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
        place: SchemaContext,
    ) -> Result<SubsetSchema, ConversionError> {
        let mut written = SubsetSchema::default();
        written.map.insert("type".into(), "object".into());
        if let Some(values) = &node.values {
            self.lost(&node.at, "enum", "an object among the allowed values")?;
            written.remarks.add(&format!("One of: {}.", super::listed(values)));
        }
        if self.dialect == Dialect::OpenAiStrict {
            fits_strict(node, place)?;
        }
        let (properties, required) = self.properties(node, place)?;
        // Gemini has refused empty ones for an object.
        if !properties.is_empty() || self.dialect != Dialect::Gemini {
            written.map.insert("properties".into(), properties.into());
        }
        if !required.is_empty() || self.dialect == Dialect::OpenAiStrict {
            written.map.insert("required".into(), required.into());
        }
        self.rest(&mut written, node, place)?;
        self.counts(&mut written, node);
        for (name, needed) in &node.dependent_required {
            let needed: Vec<String> = needed.iter().map(|name| format!("`{name}`")).collect();
            written.remarks.add(&format!("With `{name}` give {}.", needed.join(" and ")));
        }
        if !node.dependent_required.is_empty() {
            self.lost(&node.at, "dependentRequired", "`dependentRequired` is not supported")?;
        }
        Ok(written)
    }

    fn properties(
        &mut self,
        node: &Node,
        place: SchemaContext,
    ) -> Result<(Map<String, Value>, Vec<String>), ConversionError> {
        let strict = self.dialect == Dialect::OpenAiStrict;
        let wanted: HashSet<&str> = node.required.iter().map(String::as_str).collect();
        let mut properties = Map::new();
        let mut required = Vec::new();
        for (name, property) in &node.properties {
            let optional = !wanted.contains(name.as_str());
            let mut map = match self.plain(property, SchemaContext { depth: place.depth + 1, optional }) {
                Ok(map) => map,
                Err(ConversionError::Never) if optional => {
                    let effect = if node.is_closed() || strict { Effect::Equal } else { Effect::Wider };
                    self.record(&property.at, name, "left out: nothing is allowed there", effect);
                    continue;
                }
                Err(trouble) => return Err(trouble),
            };
            if strict && optional {
                self.stand_in_for_absence(&mut map, property);
            }
            if strict || !optional {
                required.push(name.clone());
            }
            properties.insert(name.clone(), map.into());
        }
        for name in &node.required {
            if !properties.contains_key(name) {
                if strict {
                    let why = format!("`{name}` is required and not described");
                    return Err(ConversionError::Unfit { at: node.at.to_string(), why });
                }
                self.record(&node.at, "required", format!("`{name}` was added to `properties`"), Effect::Equal);
                let rest = node.additional.clone().unwrap_or_default();
                properties.insert(
                    name.clone(),
                    self.plain(&rest, SchemaContext { depth: place.depth + 1, optional: false })?.into(),
                );
                required.push(name.clone());
            }
        }
        Ok((properties, required))
    }

    /// In strict mode a property that may be left out is one that may be null.
    fn stand_in_for_absence(&mut self, map: &mut Map<String, Value>, property: &Node) {
        if self.allow_null(map) {
            self.record(&property.at, "required", "added: null stands for what is left out", Effect::Equal);
        } else if property.words.default == Some(Value::Null) {
            self.record(&property.at, "required", "added: null is the default anyway", Effect::Equal);
        } else {
            let became = "added: null stands for what is left out, and can no longer be said itself";
            self.record(&property.at, "required", became, Effect::Narrower);
        }
    }

    /// What holds for properties that are not named.
    fn rest(&mut self, written: &mut SubsetSchema, node: &Node, place: SchemaContext) -> Result<(), ConversionError> {
        match self.dialect {
            Dialect::OpenAiStrict => {
                written.map.insert("additionalProperties".into(), false.into());
                if node.additional.is_none() {
                    self.record(&node.at, "additionalProperties", "added as `false`", Effect::Narrower);
                }
            }
            Dialect::GeminiJson => {
                if let Some(rest) = &node.additional {
                    let inside = SchemaContext { depth: place.depth + 1, optional: true };
                    let rest = match self.plain(rest, inside) {
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
                    let sentence = match self.plain(rest, place.inside()) {
                        Ok(rest) => format!("Further properties: {}", shown(&Value::Object(rest))),
                        Err(_) => "Further properties.".to_owned(),
                    };
                    written.remarks.add(&sentence);
                    self.record(&node.at, "additionalProperties", "said in the description", Effect::Wider);
                }
                _ => {}
            },
        }
        if !node.patterns.is_empty() {
            for (pattern, _) in &node.patterns {
                written.remarks.add(&format!("Further properties have names that match {pattern}"));
            }
            if self.dialect == Dialect::GeminiJson && node.is_closed() {
                written.map.shift_remove("additionalProperties");
                self.record(&node.at, "additionalProperties", "dropped", Effect::Wider);
            }
            self.record(&node.at, "patternProperties", "said in the description", Effect::Wider);
        }
        Ok(())
    }

    fn counts(&mut self, written: &mut SubsetSchema, node: &Node) {
        if let Some(names) = &node.names {
            if let Some(pattern) = &names.pattern {
                written.remarks.add(&format!("Names match {pattern}"));
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

/// Whether strict mode can say this object without taking from it what makes it one.
fn fits_strict(node: &Node, place: SchemaContext) -> Result<(), ConversionError> {
    let unfit = |why: &str| Err(ConversionError::Unfit { at: node.at.to_string(), why: why.to_owned() });
    if !node.patterns.is_empty() {
        return unfit("`patternProperties` is not supported");
    }
    if node.additional.as_ref().is_some_and(|rest| !rest.never) {
        return unfit("further properties are allowed, which strict mode does not know");
    }
    if node.properties.is_empty() && node.additional.is_none() && place.depth > 0 {
        return unfit("an object of any content, which strict mode does not know");
    }
    Ok(())
}
