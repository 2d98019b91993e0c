//! Values made from a schema: some that it allows, and some that are off by a little. Seeded, so that a failure can be had
//! again.

use serde_json::{Map, Value, json};

/// A generator of pseudorandom numbers (xorshift64*): the same ones for the same seed everywhere.
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        usize::try_from(self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33).unwrap() % end.max(1)
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// A value that the schema will mostly allow.
pub(crate) fn instance(root: &Value, schema: &Value, dice: &mut Dice, depth: usize) -> Value {
    let Value::Object(map) = schema else { return anything(dice) };
    if depth > 7 {
        return simplest(map);
    }
    if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
        let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return match target {
            Some(target) => instance(root, target, dice, depth + 1),
            None => anything(dice),
        };
    }
    if let Some(values) = map.get("enum").and_then(Value::as_array).filter(|values| !values.is_empty()) {
        return values[dice.below(values.len())].clone();
    }
    if let Some(value) = map.get("const") {
        return value.clone();
    }
    let mut made = typed(root, map, dice, depth);
    for key in ["anyOf", "oneOf"] {
        if let Some(list) = map.get(key).and_then(Value::as_array).filter(|list| !list.is_empty()) {
            let branch = instance(root, &list[dice.below(list.len())], dice, depth + 1);
            made = joined(made, branch, map);
        }
    }
    for branch in map.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        made = joined(made, instance(root, branch, dice, depth + 1), map);
    }
    made
}

/// Two values for two schemas that both count, where they are objects; else the second one if the first came from nothing.
fn joined(one: Value, other: Value, schema: &Map<String, Value>) -> Value {
    match (one, other) {
        (Value::Object(mut one), Value::Object(other)) => {
            one.extend(other);
            Value::Object(one)
        }
        (one, other) => {
            if schema.contains_key("type") && !one.is_object() {
                one
            } else {
                other
            }
        }
    }
}

fn typed(root: &Value, map: &Map<String, Value>, dice: &mut Dice, depth: usize) -> Value {
    let kind = match map.get("type") {
        Some(Value::String(one)) => one.as_str(),
        Some(Value::Array(list)) if !list.is_empty() => list[dice.below(list.len())].as_str().unwrap(),
        _ if map.contains_key("properties") || map.contains_key("required") => "object",
        _ if map.contains_key("items") => "array",
        _ if ["anyOf", "oneOf", "allOf"].iter().any(|key| map.contains_key(*key)) => "object",
        _ => return anything(dice),
    };
    match kind {
        "object" => object(root, map, dice, depth),
        "array" => array(root, map, dice, depth),
        "string" => string(map, dice),
        "integer" => whole(map, dice).into(),
        "number" if dice.chance(50) => whole(map, dice).into(),
        "number" => json!(whole(map, dice) as f64 + 0.5),
        "boolean" => dice.chance(50).into(),
        _ => Value::Null,
    }
}

fn object(root: &Value, map: &Map<String, Value>, dice: &mut Dice, depth: usize) -> Value {
    let required: Vec<&str> =
        map.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let mut made = Map::new();
    for (name, property) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if required.contains(&name.as_str()) || dice.chance(if depth > 4 { 10 } else { 50 }) {
            made.insert(name.clone(), instance(root, property, dice, depth + 1));
        }
    }
    for name in required {
        if !made.contains_key(name) {
            made.insert(name.to_owned(), anything(dice));
        }
    }
    if let Some(rest @ Value::Object(_)) = map.get("additionalProperties")
        && dice.chance(60)
    {
        made.insert("further".into(), instance(root, rest, dice, depth + 1));
    }
    made.into()
}

fn array(root: &Value, map: &Map<String, Value>, dice: &mut Dice, depth: usize) -> Value {
    let prefix = map.get("prefixItems").or_else(|| map.get("items").filter(|items| items.is_array()));
    let mut made: Vec<Value> = prefix
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|item| instance(root, item, dice, depth + 1))
        .collect();
    let least = map.get("minItems").and_then(Value::as_u64).map_or(0, |least| usize::try_from(least).unwrap().min(6));
    let wanted = if depth > 5 { least } else { least + dice.below(3) };
    while made.len() < wanted {
        let items = map.get("items").filter(|items| items.is_object());
        made.push(match items {
            Some(items) => instance(root, items, dice, depth + 1),
            None => anything(dice),
        });
    }
    made.into()
}

fn string(map: &Map<String, Value>, dice: &mut Dice) -> Value {
    match map.get("format").and_then(Value::as_str) {
        Some("uuid") => return "6f2b1c1e-3f1d-4a53-9a1b-0d1c2b3a4f5e".into(),
        Some("date-time") => return "2026-11-22T10:00:00Z".into(),
        Some("date") => return "2026-11-22".into(),
        Some("uri" | "url") => return "https://example.test/a".into(),
        _ => {}
    }
    let pool = ["a", "", "abc", "x-1", "2026-11-22", "https://example.test/a", "ein längerer Text, mit Satzzeichen"];
    let least = map.get("minLength").and_then(Value::as_u64).unwrap_or(0);
    let most = map.get("maxLength").and_then(Value::as_u64).unwrap_or(u64::MAX);
    let fits = |text: &&str| (least..=most).contains(&(text.chars().count() as u64));
    let fitting: Vec<&str> = pool.into_iter().filter(fits).collect();
    if fitting.is_empty() || dice.chance(10) {
        return "y".repeat(usize::try_from(least.min(200)).unwrap()).into();
    }
    fitting[dice.below(fitting.len())].into()
}

fn whole(map: &Map<String, Value>, dice: &mut Dice) -> i64 {
    let end = |keys: [&str; 2]| keys.iter().find_map(|key| map.get(*key)?.as_f64()).map(|end| end as i64);
    let low = end(["minimum", "exclusiveMinimum"]).unwrap_or(-2);
    let high = end(["maximum", "exclusiveMaximum"]).unwrap_or_else(|| low.saturating_add(100));
    match dice.below(6) {
        0 => low,
        1 => high,
        _ => low.saturating_add(dice.below(7) as i64),
    }
}

fn simplest(map: &Map<String, Value>) -> Value {
    match map.get("type").and_then(Value::as_str) {
        Some("object") => json!({}),
        Some("array") => json!([]),
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        Some("string") => json!("a"),
        _ => Value::Null,
    }
}

fn anything(dice: &mut Dice) -> Value {
    let pool = [json!("text"), json!(7), json!(1.5), json!(true), json!(null), json!({"k": 1}), json!(["i"])];
    pool[dice.below(pool.len())].clone()
}

/// The value with one thing changed somewhere.
pub(crate) fn mutated(value: &Value, dice: &mut Dice) -> Value {
    let mut value = value.clone();
    change(&mut value, dice, true);
    value
}

fn change(value: &mut Value, dice: &mut Dice, root: bool) {
    match value {
        Value::Object(map) if !map.is_empty() && dice.chance(60) => {
            let name = map.keys().nth(dice.below(map.len())).unwrap().clone();
            change(map.get_mut(&name).unwrap(), dice, false);
        }
        Value::Object(map) => match dice.below(3) {
            0 if !map.is_empty() => {
                let name = map.keys().nth(dice.below(map.len())).unwrap().clone();
                map.shift_remove(&name);
            }
            1 => drop(map.insert("unheard-of".into(), anything(dice))),
            _ if root => drop(map.insert("more".into(), anything(dice))),
            _ => *value = anything(dice),
        },
        Value::Array(items) if !items.is_empty() && dice.chance(60) => {
            let position = dice.below(items.len());
            change(&mut items[position], dice, false);
        }
        Value::Array(items) => match dice.below(3) {
            0 => items.push(anything(dice)),
            1 => drop(items.pop()),
            _ => *value = anything(dice),
        },
        Value::String(text) if dice.chance(60) => match dice.below(3) {
            0 => text.clear(),
            1 => text.push('!'),
            _ => *text = "z".repeat(300),
        },
        Value::Number(number) if dice.chance(60) => {
            let float = number.as_f64().unwrap_or_default();
            *value = [json!(-1), json!(float + 0.25), json!(1_000_000_000)][dice.below(3)].clone();
        }
        _ => *value = anything(dice),
    }
}
