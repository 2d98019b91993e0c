//! Valid values for a schema.

use std::borrow::Cow;

use serde_json::{Map, Number, Value, json};

use super::text;

/// Maximum depth of generated values and of references.
const MAX_DEPTH: usize = 24;
/// Maximum number of items of a generated array.
const MAX_ITEMS: u64 = 1_000;
/// Attempts with this number or a higher one use no examples and no defaults.
const WITHOUT_EXAMPLES: usize = 4;
/// Attempts with this number or a higher one include optional properties.
pub(super) const WITH_OPTIONAL: usize = 8;
/// The attempt that includes optional properties, with numbers at their declared maximum, and booleans that are true.
pub(super) const WITH_LARGEST: usize = 12;
/// Numbers do not exceed this one to be at their maximum, so that a tool does not work for hours.
const LARGEST: f64 = 1_000.0;

/// Generates one candidate for a valid value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Generator<'s> {
    /// The document that references point into.
    pub(super) root: &'s Value,
    /// Chooses between equally suitable values.
    pub(super) seed: u64,
    /// The number of candidates before this one.
    pub(super) attempt: usize,
}

impl Generator<'_> {
    /// A value that is probably valid, if one was found.
    pub(super) fn value(&self, schema: &Value, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        let flat = self.flat(schema, depth)?;
        let largest = self.attempt == WITH_LARGEST && has_maximum(&flat);
        if let Some(given) = self.given(&flat).filter(|_| !largest) {
            return Some(given);
        }
        match type_of(&flat) {
            "object" => self.object(&flat, depth),
            "array" => self.array(&flat, least_items(&flat), depth),
            "integer" => number(&flat, true, largest),
            "number" => number(&flat, false, largest),
            "boolean" => Some(Value::Bool(self.attempt == WITH_LARGEST)),
            "null" => Some(Value::Null),
            _ => text::text(&flat).map(Value::String),
        }
    }

    /// A value that the schema names.
    fn given(&self, flat: &Map<String, Value>) -> Option<Value> {
        if let Some(value) = flat.get("const") {
            return Some(value.clone());
        }
        let plain = self.attempt == WITH_LARGEST || self.attempt % WITH_OPTIONAL < WITHOUT_EXAMPLES;
        let examples = flat.get("examples").filter(|_| plain).and_then(|examples| self.chosen(examples));
        let default = || flat.get("default").filter(|_| plain).cloned();
        let named = || flat.get("enum").and_then(|values| self.chosen(values));
        examples.or_else(default).or_else(named)
    }

    fn chosen(&self, values: &Value) -> Option<Value> {
        let values = values.as_array().filter(|values| !values.is_empty())?;
        let position = self.seed.wrapping_add(self.attempt as u64) % values.len() as u64;
        values.get(usize::try_from(position).ok()?).cloned()
    }

    fn object(&self, flat: &Map<String, Value>, depth: usize) -> Option<Value> {
        let empty = Map::new();
        let properties = flat.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let other = flat.get("additionalProperties").filter(|schema| schema.is_object()).cloned();
        let other = other.unwrap_or(Value::Bool(true));
        let mut fields = Map::new();
        for name in required(flat) {
            fields.insert(name.to_owned(), self.value(properties.get(name).unwrap_or(&other), depth + 1)?);
        }
        let least = flat.get("minProperties").and_then(Value::as_u64).unwrap_or(0);
        let wanted = |fields: &Map<String, Value>| self.attempt >= WITH_OPTIONAL || (fields.len() as u64) < least;
        for (name, schema) in properties {
            if wanted(&fields)
                && !fields.contains_key(name)
                && let Some(value) = self.value(schema, depth + 1)
            {
                fields.insert(name.clone(), value);
            }
        }
        for number in 0..least.min(MAX_ITEMS) {
            if (fields.len() as u64) < least {
                fields.insert(format!("key{number}"), self.value(&other, depth + 1)?);
            }
        }
        Some(Value::Object(fields))
    }

    /// An array with items, even if it may be empty.
    pub(super) fn filled_array(&self, flat: &Map<String, Value>) -> Option<Value> {
        let most = flat.get("maxItems").and_then(Value::as_u64).unwrap_or(u64::MAX);
        self.array(flat, least_items(flat).max(2).min(most), 1)
    }

    fn array(&self, flat: &Map<String, Value>, least: u64, depth: usize) -> Option<Value> {
        if least > MAX_ITEMS {
            return None;
        }
        // Before 2020-12 an array of schemas in `items` was what `prefixItems` is now.
        let (tuple, rest) = match (flat.get("prefixItems"), flat.get("items")) {
            (Some(Value::Array(tuple)), rest) => (tuple.as_slice(), rest),
            (_, Some(Value::Array(tuple))) => (tuple.as_slice(), flat.get("additionalItems")),
            (_, rest) => (&[][..], rest),
        };
        let unique = flat.get("uniqueItems") == Some(&Value::Bool(true));
        let mut items: Vec<Value> = Vec::new();
        for position in 0..usize::try_from(least).ok()? {
            let schema = tuple.get(position).or(rest).unwrap_or(&Value::Bool(true));
            let item = Generator { seed: self.seed.wrapping_add(position as u64), ..*self }.value(schema, depth + 1)?;
            let item = if unique && items.contains(&item) { different(&item, position)? } else { item };
            items.push(item);
        }
        Some(Value::Array(items))
    }

    /// The schema with its references and the alternatives of this attempt merged into it; `None` if it accepts nothing.
    pub(super) fn flat(&self, schema: &Value, depth: usize) -> Option<Map<String, Value>> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut flat = match schema {
            Value::Bool(true) => Map::new(),
            Value::Object(schema) => schema.clone(),
            _ => return None,
        };
        if let Some(Value::String(reference)) = flat.remove("$ref") {
            merge(&mut flat, self.flat(self.resolve(&reference)?, depth + 1)?);
        }
        for part in take_list(&mut flat, "allOf") {
            merge(&mut flat, self.flat(&part, depth + 1)?);
        }
        for key in ["anyOf", "oneOf"] {
            let branches = take_list(&mut flat, key);
            if !branches.is_empty() {
                merge(&mut flat, self.branch(branches, depth)?);
            }
        }
        Some(flat)
    }

    /// One of the alternatives. Null is the last choice, since it tests the least.
    fn branch(&self, mut branches: Vec<Value>, depth: usize) -> Option<Map<String, Value>> {
        branches.sort_by_key(|branch| branch.get("type").is_some_and(|kind| kind == "null"));
        let count = branches.len();
        branches.rotate_left(self.attempt % count);
        branches.iter().find_map(|branch| self.flat(branch, depth + 1))
    }

    fn resolve(&self, reference: &str) -> Option<&Value> {
        // An anchor or another document is beyond this module.
        let pointer = reference.strip_prefix('#')?;
        self.root.pointer(&percent_decoded(pointer))
    }
}

fn least_items(flat: &Map<String, Value>) -> u64 {
    flat.get("minItems").and_then(Value::as_u64).unwrap_or(0)
}

fn percent_decoded(text: &str) -> Cow<'_, str> {
    if text.contains('%') { Cow::Owned(text.replace("%24", "$").replace("%25", "%")) } else { Cow::Borrowed(text) }
}

fn take_list(schema: &mut Map<String, Value>, key: &str) -> Vec<Value> {
    match schema.remove(key) {
        Some(Value::Array(parts)) => parts,
        _ => Vec::new(),
    }
}

/// The required properties.
pub(super) fn required(flat: &Map<String, Value>) -> impl Iterator<Item = &str> {
    flat.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// The types that a schema allows; none if it names none.
pub(super) fn types(flat: &Map<String, Value>) -> Vec<&str> {
    match flat.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => vec![],
    }
}

/// The type of the value to generate: the first that is not null, or the one that the other keywords are about.
pub(super) fn type_of(flat: &Map<String, Value>) -> &str {
    let named = types(flat);
    if let Some(kind) = named.iter().find(|kind| **kind != "null").or(named.first()) {
        return kind;
    }
    let has = |keys: &[&str]| keys.iter().any(|key| flat.contains_key(*key));
    if has(&["properties", "required", "minProperties", "additionalProperties"]) {
        "object"
    } else if has(&["items", "prefixItems", "minItems", "uniqueItems"]) {
        "array"
    } else if has(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]) {
        "number"
    } else {
        "string"
    }
}

/// Adds the keywords of a schema to another one, so that a value of the result is valid for both.
fn merge(into: &mut Map<String, Value>, from: Map<String, Value>) {
    for (key, value) in from {
        let Some(old) = into.get(&key).cloned() else {
            into.insert(key, value);
            continue;
        };
        if let Some(both) = combined(&key, old, value) {
            into.insert(key, both);
        }
    }
}

/// The combination of two values of one keyword; `None` keeps the first.
fn combined(key: &str, old: Value, new: Value) -> Option<Value> {
    match (key, old, new) {
        ("properties" | "$defs" | "definitions", Value::Object(mut old), Value::Object(new)) => {
            for (name, schema) in new {
                match old.remove(&name) {
                    Some(first) => old.insert(name, json!({ "allOf": [first, schema] })),
                    None => old.insert(name, schema),
                };
            }
            Some(Value::Object(old))
        }
        ("required", Value::Array(mut old), Value::Array(new)) => {
            old.extend(new);
            Some(Value::Array(old))
        }
        ("enum" | "type", old, new) => {
            let list = |value| if let Value::Array(values) = value { values } else { vec![value] };
            let (old, new) = (list(old), list(new));
            let both = |value: &Value| new.contains(value) || (value == "number" && new.contains(&json!("integer")));
            let narrow =
                |value: Value| if value == "number" && !new.contains(&value) { json!("integer") } else { value };
            Some(Value::Array(old.into_iter().filter(both).map(narrow).collect()))
        }
        ("minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties", old, new) => {
            (new.as_f64() > old.as_f64()).then_some(new)
        }
        ("maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties", old, new) => {
            (new.as_f64() < old.as_f64()).then_some(new)
        }
        _ => None,
    }
}

/// Another value of the same type.
fn different(item: &Value, position: usize) -> Option<Value> {
    match item {
        Value::String(text) => Some(json!(format!("{text}{position}"))),
        Value::Number(number) => Some(json!(number.as_i64()? + i64::try_from(position).ok()?)),
        Value::Bool(flag) => Some(json!(!flag)),
        _ => None,
    }
}

/// Whether a schema of numbers declares a maximum, and not the values.
fn has_maximum(flat: &Map<String, Value>) -> bool {
    let has = |key: &str| flat.contains_key(key);
    (has("maximum") || has("exclusiveMaximum")) && !has("enum") && !has("const")
}

/// A number that satisfies the keywords. 1 is preferred, as 0 often means "no limit"; or the largest one up to [`LARGEST`].
fn number(flat: &Map<String, Value>, integer: bool, largest: bool) -> Option<Value> {
    let limit = |key: &str| flat.get(key).and_then(Value::as_f64);
    let step = limit("multipleOf").or(integer.then_some(1.0));
    let least = [limit("minimum"), limit("exclusiveMinimum")].into_iter().flatten().reduce(f64::max);
    let most = [limit("maximum"), limit("exclusiveMaximum")].into_iter().flatten().reduce(f64::min);
    let allowed = |number: &f64| {
        limit("minimum").is_none_or(|least| *number >= least)
            && limit("maximum").is_none_or(|most| *number <= most)
            && limit("exclusiveMinimum").is_none_or(|least| *number > least)
            && limit("exclusiveMaximum").is_none_or(|most| *number < most)
            && limit("multipleOf").is_none_or(|step| (number / step).fract() == 0.0)
            && (!integer || number.fract() == 0.0)
    };
    let size = step.unwrap_or(0.5);
    let mut candidates = if largest { Vec::new() } else { vec![1.0, 0.0, size] };
    if let Some(most) = most.filter(|_| largest).map(|most| most.min(LARGEST)) {
        candidates.extend([(most / size).floor() * size, ((most / size).ceil() - 1.0) * size]);
    }
    if let Some(least) = least {
        candidates.extend([(least / size).ceil() * size, ((least / size).floor() + 1.0) * size]);
    }
    if let Some(most) = most {
        candidates.extend([(most / size).floor() * size, ((most / size).ceil() - 1.0) * size]);
    }
    if let (Some(least), Some(most)) = (least, most) {
        candidates.push(f64::midpoint(least, most));
    }
    candidates.into_iter().find(allowed).and_then(json_number)
}

/// A number as JSON, without a fraction if it has none.
fn json_number(number: f64) -> Option<Value> {
    // Integers up to 2^53 are exact.
    if number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0 {
        return format!("{number:.0}").parse::<i64>().ok().map(Value::from);
    }
    Number::from_f64(number).map(Value::Number)
}
