//! Values of an official definition, and changed copies of them.

use serde_json::{Map, Value, json};

/// Maximum depth of generated values; deeper ones are the simplest of their type.
const MAX_DEPTH: usize = 9;
/// Maximum depth at which values are changed. Deeper parts are definitions of their own.
const MAX_CHANGED: usize = 4;

/// Which optional members a value has.
#[derive(Clone, Copy, PartialEq)]
enum Optional {
    All,
    None,
    Some,
}

/// Generates values with a fixed seed.
pub(crate) struct Generator<'s> {
    definitions: &'s Map<String, Value>,
    is_message: bool,
    state: u64,
    optional: Optional,
}

impl<'s> Generator<'s> {
    /// Generates values of some definitions. Messages get an envelope, which older definitions of them lack.
    pub(crate) fn new(definitions: &'s Map<String, Value>, is_message: bool) -> Self {
        Self { definitions, is_message, state: 0x5eed, optional: Optional::All }
    }

    /// Values of a definition: with all optional members, without them, for each alternative, and random ones.
    pub(crate) fn values(&mut self, name: &str, random: usize) -> Vec<Value> {
        let definition = &self.definitions[name];
        let alternatives = definition.get("anyOf").and_then(Value::as_array);
        let roots: Vec<&Value> = alternatives.map_or_else(|| vec![definition], |all| all.iter().collect());
        let mut values = Vec::new();
        for root in roots {
            for optional in [Optional::All, Optional::None].into_iter().chain(vec![Optional::Some; random]) {
                self.optional = optional;
                let mut value = self.value(root, 0);
                if value.get("resultType").is_some() {
                    let needs_input = name == "InputRequiredResult";
                    value["resultType"] = json!(if needs_input { "input_required" } else { "complete" });
                }
                if self.is_message && value.get("jsonrpc").is_none() {
                    value["jsonrpc"] = json!("2.0");
                    if !name.ends_with("Notification") {
                        value["id"] = json!(1);
                    }
                }
                values.push(value);
            }
        }
        values
    }

    fn random(&mut self, limit: usize) -> usize {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.state >> 33) as usize) % limit.max(1)
    }

    fn value(&mut self, schema: &'s Value, depth: usize) -> Value {
        if let Some(name) = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next()) {
            return self.value(&self.definitions[name], depth + 1);
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        let pick = |key: &str| schema.get(key).and_then(Value::as_array);
        if let Some(all) = pick("enum") {
            return all[self.random(all.len())].clone();
        }
        if let Some(all) = pick("allOf") {
            let parts: Vec<Value> = all.iter().map(|part| self.value(part, depth)).collect();
            let members = parts.into_iter().filter_map(|part| part.as_object().cloned()).flatten();
            return Value::Object(members.collect());
        }
        if let Some(all) = pick("anyOf") {
            let position = if depth > MAX_DEPTH { all.len() - 1 } else { self.random(all.len()) };
            return self.value(&all[position], depth + 1);
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => kinds[self.random(kinds.len())].as_str(),
            kind => kind.as_str(),
        };
        match kind {
            Some("object") => self.object(schema, depth),
            Some("array") => {
                let items = schema.get("items").filter(|_| depth <= MAX_DEPTH);
                items.map_or_else(|| json!([]), |items| json!([self.value(items, depth + 1)]))
            }
            Some("string") => json!(match schema["format"].as_str() {
                Some("uri") => "https://example.com/a",
                Some("uri-template") => "file:///{path}",
                Some("byte") => "aGVsbG8=",
                _ => "text",
            }),
            Some("integer") => json!(self.random(5)),
            Some("number") => json!(0.25),
            Some("boolean") => json!(true),
            Some("null") => Value::Null,
            _ => json!("anything"),
        }
    }

    fn object(&mut self, schema: &'s Value, depth: usize) -> Value {
        let is_required =
            |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
        let mut members = Map::new();
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            let is_wanted = match self.optional {
                _ if depth > MAX_DEPTH => false,
                Optional::All => true,
                Optional::None => false,
                Optional::Some => self.random(2) == 0,
            };
            if is_wanted || is_required(name) {
                members.insert(name.clone(), self.value(member, depth + 1));
            }
        }
        let others = schema.get("additionalProperties").filter(|others| others.is_object() && depth <= MAX_DEPTH);
        if let Some(others) = others.filter(|_| self.optional != Optional::None) {
            members.insert("extra".to_owned(), self.value(others, depth + 1));
        }
        Value::Object(members)
    }
}

/// Changes a value in all places, one at a time: other types, other values, a missing and an additional member, and a long
/// array. The place is a JSON Pointer.
pub(crate) fn mutations(value: &Value, judge: &mut impl FnMut(&str, &Value)) {
    let mut places = Vec::new();
    collect(value, &mut String::new(), 0, &mut places);
    for place in places {
        let original = value.pointer(&place).expect("a place in the value").clone();
        let mut changed = value.clone();
        let mut try_value = |new: Value| {
            *changed.pointer_mut(&place).expect("a place in the value") = new;
            judge(&place, &changed);
        };
        for new in [json!(null), json!(true), json!(-7), json!(1.5), json!(2.0), json!("changed"), json!([]), json!({})]
        {
            try_value(new);
        }
        match original {
            Value::String(_) => try_value(json!("not a URI {")),
            Value::Array(items) => {
                let first = items.first().cloned().unwrap_or_else(|| json!("text"));
                try_value(Value::Array(vec![first; 101]));
                try_value(json!([null]));
            }
            Value::Object(members) => {
                for name in members.keys() {
                    let mut fewer = members.clone();
                    fewer.remove(name);
                    try_value(Value::Object(fewer));
                }
                let mut more = members;
                more.insert("another".to_owned(), json!([7]));
                try_value(Value::Object(more));
            }
            _ => {}
        }
    }
}

fn collect(value: &Value, place: &mut String, depth: usize, places: &mut Vec<String>) {
    places.push(place.clone());
    if depth >= MAX_CHANGED {
        return;
    }
    let length = place.len();
    let members: Vec<(String, &Value)> = match value {
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.replace('~', "~0").replace('/', "~1"), value)).collect()
        }
        Value::Array(items) => items.iter().enumerate().map(|(position, item)| (position.to_string(), item)).collect(),
        _ => vec![],
    };
    for (name, member) in members {
        place.push('/');
        place.push_str(&name);
        collect(member, place, depth + 1, places);
        place.truncate(length);
    }
}
