//! Reads single keywords.

use serde_json::{Map, Number, Value};

use super::{
    super::{
        document::{Bound, Condition, Contains, Node, Range, Types},
        error::SchemaError,
        report::Effect,
    },
    Reader, malformed, step,
};

impl Reader<'_> {
    /// Reads one keyword. [`Self::combined`] reads keywords that depend on each other.
    pub(super) fn keyword(
        &mut self,
        node: &mut Node,
        key: &str,
        value: &Value,
        depth: usize,
        annotations_only: bool,
    ) -> Result<(), SchemaError> {
        if annotation(node, key, value) || is_structure(key) {
            return Ok(());
        }
        if annotations_only {
            self.report.add(
                &node.at,
                key,
                "dropped",
                "up to draft 7, keywords next to `$ref` are ignored",
                Effect::Equal,
            );
            return Ok(());
        }
        let known = self.logic(node, key, value, depth)?
            || self.objects_keyword(node, key, value, depth)?
            || self.arrays_keyword(node, key, value, depth)?
            || self.scalars_keyword(node, key, value)?;
        if !known {
            self.report.add(&node.at, key, "dropped", "unknown keyword", Effect::Equal);
        }
        Ok(())
    }

    fn logic(&mut self, node: &mut Node, key: &str, value: &Value, depth: usize) -> Result<bool, SchemaError> {
        match key {
            "type" => self.types(node, value)?,
            "enum" => {
                let Value::Array(values) = value else { return Err(malformed(&node.at, key, "an array")) };
                restrict(node, values);
            }
            "const" => restrict(node, std::slice::from_ref(value)),
            "allOf" => node.all_of.extend(self.list(node, key, value, depth)?),
            "anyOf" => node.any_of.extend(self.list(node, key, value, depth)?),
            "oneOf" => node.one_of.extend(self.list(node, key, value, depth)?),
            "not" => node.not = Some(self.child(node, key, value, depth)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn types(&mut self, node: &mut Node, value: &Value) -> Result<(), SchemaError> {
        let names: Vec<&Value> = match value {
            Value::String(_) => vec![value],
            Value::Array(list) if !list.is_empty() => list.iter().collect(),
            _ => return Err(malformed(&node.at, "type", "a type or an array of types")),
        };
        let mut types = Types::default();
        for name in names {
            let Value::String(name) = name else {
                return Err(malformed(&node.at, "type", "a type or an array of types"));
            };
            // Draft 3 defines it (5.1), and some schemas still contain it.
            if name == "any" {
                types = Types::all();
                self.report.add(&node.at, "type", "dropped", "`any` exists only in draft 3", Effect::Wider);
                continue;
            }
            let Some(one) = Types::named(name) else {
                return Err(SchemaError::UnknownType { at: node.at.to_string(), name: name.clone() });
            };
            types = types.with(one);
        }
        node.types = (types != Types::all()).then_some(types);
        Ok(())
    }

    fn objects_keyword(
        &mut self,
        node: &mut Node,
        key: &str,
        value: &Value,
        depth: usize,
    ) -> Result<bool, SchemaError> {
        match key {
            "properties" => node.properties = self.named(node, key, value, depth)?,
            "patternProperties" => node.patterns = self.named(node, key, value, depth)?,
            "dependentSchemas" => node.dependent_schemas.extend(self.named(node, key, value, depth)?),
            "additionalProperties" => node.additional = Some(self.child(node, key, value, depth)?),
            "propertyNames" => node.names = Some(self.child(node, key, value, depth)?),
            "unevaluatedProperties" => node.unevaluated_properties = Some(self.child(node, key, value, depth)?),
            "required" if value.is_boolean() => {
                let why = "the boolean form exists only in draft 3";
                self.report.add(&node.at, key, "dropped", why, Effect::Wider);
            }
            "required" => node.required = strings(node, key, value)?,
            "dependentRequired" => {
                let Value::Object(map) = value else { return Err(malformed(&node.at, key, "an object")) };
                for (name, needed) in map {
                    node.dependent_required.push((name.clone(), strings(node, key, needed)?));
                }
            }
            "dependencies" => self.dependencies(node, value, depth)?,
            "minProperties" => node.property_count.min = Some(count(node, key, value)?),
            "maxProperties" => node.property_count.max = Some(count(node, key, value)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Up to draft 7 one keyword had the meaning of `dependentRequired` and `dependentSchemas`.
    fn dependencies(&mut self, node: &mut Node, value: &Value, depth: usize) -> Result<(), SchemaError> {
        let Value::Object(map) = value else { return Err(malformed(&node.at, "dependencies", "an object")) };
        let at = step(&node.at, "dependencies");
        for (name, needed) in map {
            match needed {
                Value::Array(_) => node.dependent_required.push((name.clone(), strings(node, "dependencies", needed)?)),
                // Draft 3 allowed a single name.
                Value::String(one) => node.dependent_required.push((name.clone(), vec![one.clone()])),
                schema => {
                    let child = self.node(schema, &step(&at, name), depth + 1)?;
                    node.dependent_schemas.push((name.clone(), child));
                }
            }
        }
        Ok(())
    }

    fn arrays_keyword(&mut self, node: &mut Node, key: &str, value: &Value, depth: usize) -> Result<bool, SchemaError> {
        match (key, value) {
            // Before 2020-12 an array in `items` had the meaning of `prefixItems`, and `additionalItems` described the rest.
            ("items", Value::Array(_)) | ("prefixItems", _) => node.prefix = self.list(node, key, value, depth)?,
            ("items", _) => node.items = Some(self.child(node, key, value, depth)?),
            ("additionalItems", _) => {}
            ("unevaluatedItems", _) => node.unevaluated_items = Some(self.child(node, key, value, depth)?),
            ("uniqueItems", Value::Bool(unique)) => node.unique = *unique,
            ("uniqueItems", _) => return Err(malformed(&node.at, key, "a boolean")),
            ("minItems", _) => node.item_count.min = Some(count(node, key, value)?),
            ("maxItems", _) => node.item_count.max = Some(count(node, key, value)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn scalars_keyword(&mut self, node: &mut Node, key: &str, value: &Value) -> Result<bool, SchemaError> {
        match key {
            "minLength" => node.length.min = Some(count(node, key, value)?),
            "maxLength" => node.length.max = Some(count(node, key, value)?),
            "pattern" => {
                let Value::String(pattern) = value else { return Err(malformed(&node.at, key, "a string")) };
                node.pattern = Some(pattern.clone());
            }
            "format" => node.format = value.as_str().map(str::to_owned),
            "multipleOf" => match number(node, key, value)? {
                positive if positive.as_f64().is_some_and(|float| float > 0.0) => node.multiple_of = Some(positive),
                _ => return Err(malformed(&node.at, key, "a number above zero")),
            },
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Reads the keywords that depend on each other.
    pub(super) fn combined(
        &mut self,
        node: &mut Node,
        map: &Map<String, Value>,
        depth: usize,
    ) -> Result<(), SchemaError> {
        node.low = bound(node, map, ["minimum", "exclusiveMinimum"], |one, other| one > other)?;
        node.high = bound(node, map, ["maximum", "exclusiveMaximum"], |one, other| one < other)?;
        if let (Some(rest), Some(Value::Array(_))) = (map.get("additionalItems"), map.get("items")) {
            node.items = Some(self.child(node, "additionalItems", rest, depth)?);
        }
        if let Some(contained) = map.get("contains") {
            let mut wanted = Range { min: Some(1), max: None };
            for (key, end) in [("minContains", &mut wanted.min), ("maxContains", &mut wanted.max)] {
                if let Some(value) = map.get(key) {
                    *end = Some(count(node, key, value)?);
                }
            }
            let contained = *self.child(node, "contains", contained, depth)?;
            node.contains = Some(Box::new(Contains { node: contained, count: wanted }));
        }
        if let Some(when) = map.get("if") {
            let when = *self.child(node, "if", when, depth)?;
            let mut branch = |key: &str| map.get(key).map(|branch| self.child(node, key, branch, depth)).transpose();
            let (then, otherwise) = (branch("then")?.map(|one| *one), branch("else")?.map(|one| *one));
            if then.is_some() || otherwise.is_some() {
                node.condition = Some(Box::new(Condition { when, then, otherwise }));
            }
        }
        self.nullable(node, map);
        Ok(())
    }

    /// Reads `nullable` of OpenAPI 3.0 (3.0.3, Schema Object), which extends a `type`.
    fn nullable(&mut self, node: &mut Node, map: &Map<String, Value>) {
        let Some(types) = node.types.filter(|_| map.get("nullable") == Some(&Value::Bool(true))) else { return };
        if types.covers(Types::NULL) {
            return;
        }
        node.types = Some(types.with(Types::NULL));
        if let Some(values) = node.values.as_mut().filter(|values| !values.contains(&Value::Null)) {
            values.push(Value::Null);
        }
        let why = "keyword of OpenAPI 3.0, not of JSON Schema";
        self.report.add(&node.at, "nullable", "became a type `null`", why, Effect::Wider);
    }

    fn child(&mut self, node: &Node, key: &str, value: &Value, depth: usize) -> Result<Box<Node>, SchemaError> {
        Ok(Box::new(self.node(value, &step(&node.at, key), depth + 1)?))
    }

    fn list(&mut self, node: &Node, key: &str, value: &Value, depth: usize) -> Result<Vec<Node>, SchemaError> {
        let Value::Array(list) = value else { return Err(malformed(&node.at, key, "an array of schemas")) };
        let at = step(&node.at, key);
        list.iter().enumerate().map(|(number, item)| self.node(item, &format!("{at}/{number}"), depth + 1)).collect()
    }

    fn named(
        &mut self,
        node: &Node,
        key: &str,
        value: &Value,
        depth: usize,
    ) -> Result<Vec<(String, Node)>, SchemaError> {
        let Value::Object(map) = value else { return Err(malformed(&node.at, key, "an object of schemas")) };
        let at = step(&node.at, key);
        map.iter().map(|(name, item)| Ok((name.clone(), self.node(item, &step(&at, name), depth + 1)?))).collect()
    }
}

/// Reads annotations.
fn annotation(node: &mut Node, key: &str, value: &Value) -> bool {
    match (key, value) {
        ("title", Value::String(text)) => node.annotations.title = Some(text.clone()),
        ("description", Value::String(text)) => node.annotations.description = Some(text.clone()),
        ("default", value) => node.annotations.default = Some(value.clone()),
        ("examples", Value::Array(list)) => node.annotations.examples.extend(list.iter().take(8).cloned()),
        ("example", value) => node.annotations.examples.push(value.clone()),
        _ => return false,
    }
    true
}

/// Keywords that [`Reader::combined`] or the index read, and containers.
fn is_structure(key: &str) -> bool {
    matches!(
        key,
        "$schema"
            | "$id"
            | "id"
            | "$anchor"
            | "$dynamicAnchor"
            | "$recursiveAnchor"
            | "$vocabulary"
            | "$comment"
            | "$defs"
            | "definitions"
            | "$ref"
            | "$dynamicRef"
            | "$recursiveRef"
            | "minimum"
            | "maximum"
            | "exclusiveMinimum"
            | "exclusiveMaximum"
            | "contains"
            | "minContains"
            | "maxContains"
            | "if"
            | "then"
            | "else"
            | "nullable"
    )
}

fn restrict(node: &mut Node, values: &[Value]) {
    let mut kept: Vec<Value> = Vec::new();
    for value in values {
        let both = node.values.as_ref().is_none_or(|known| known.contains(value));
        if both && !kept.contains(value) {
            kept.push(value.clone());
        }
    }
    node.values = Some(kept);
}

/// One end of a range of numbers. In draft 4 the exclusive keyword is a boolean modifier of the other.
fn bound(
    node: &Node,
    map: &Map<String, Value>,
    [plain, exclusive]: [&str; 2],
    tighter: impl Fn(f64, f64) -> bool,
) -> Result<Option<Bound>, SchemaError> {
    let flag = map.get(exclusive).and_then(Value::as_bool).unwrap_or(false);
    let one = match map.get(plain) {
        Some(value) => Some(Bound { value: number(node, plain, value)?, exclusive: flag }),
        None => None,
    };
    let other = match map.get(exclusive) {
        Some(value) if !value.is_boolean() => Some(Bound { value: number(node, exclusive, value)?, exclusive: true }),
        _ => None,
    };
    Ok(match (one, other) {
        (Some(one), Some(other)) => Some(if tighter(one.as_f64(), other.as_f64()) { one } else { other }),
        (one, other) => one.or(other),
    })
}

fn number(node: &Node, key: &str, value: &Value) -> Result<Number, SchemaError> {
    match value {
        Value::Number(number) => Ok(number.clone()),
        _ => Err(malformed(&node.at, key, "a number")),
    }
}

fn count(node: &Node, key: &str, value: &Value) -> Result<u64, SchemaError> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, not negative, and in range")]
    let whole = |float: f64| (float.fract() == 0.0 && (0.0..9.0e15).contains(&float)).then_some(float as u64);
    let counted = value.as_u64().or_else(|| value.as_f64().and_then(whole));
    counted.ok_or_else(|| malformed(&node.at, key, "a non-negative integer"))
}

fn strings(node: &Node, key: &str, value: &Value) -> Result<Vec<String>, SchemaError> {
    let wanted = "an array of strings";
    let Value::Array(list) = value else { return Err(malformed(&node.at, key, wanted)) };
    let mut names: Vec<String> = Vec::new();
    for item in list {
        let Value::String(name) = item else { return Err(malformed(&node.at, key, wanted)) };
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    Ok(names)
}
