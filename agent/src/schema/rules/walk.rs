//! The rules that JSON Schema cannot express: totals of a schema, references, and lists that must match.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{Recursion, Rules, Violation};

/// Keywords whose values are schemas, arrays of schemas, or objects of schemas.
const SCHEMAS: [&str; 10] = [
    "items",
    "additionalProperties",
    "propertyNames",
    "contains",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedProperties",
    "unevaluatedItems",
];
const LISTS: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];
const NAMED: [&str; 4] = ["properties", "patternProperties", "dependentSchemas", "$defs"];

#[derive(Debug, Default)]
struct Walk {
    properties: usize,
    levels: usize,
    letters: usize,
    values: usize,
    /// Referring definition (`None`: the root), reference, and whether it is in an optional property.
    references: Vec<(Option<String>, String, bool)>,
}

#[derive(Debug, Clone, Copy)]
struct Here<'a> {
    owner: Option<&'a str>,
    level: usize,
    optional: bool,
}

pub(super) fn walk(rules: &Rules, schema: &Value, found: &mut Vec<Violation>) {
    let mut walk = Walk::default();
    let at = rules.parameters.clone();
    walk.schema(rules, schema, &at, Here { owner: None, level: 0, optional: false }, found);
    let limits = rules.limits;
    for (number, limit, what) in [
        (walk.properties, limits.properties, "properties"),
        (walk.levels, limits.object_levels, "levels of objects"),
        (walk.letters, limits.letters, "characters of names and values"),
        (walk.values, limits.values, "values in lists"),
    ] {
        if limit.is_some_and(|limit| number > limit) {
            found.push(Violation { at: at.clone(), what: format!("{number} {what}") });
        }
    }
    walk.references(rules, schema, &at, found);
}

impl Walk {
    fn schema(&mut self, rules: &Rules, schema: &Value, at: &str, mut here: Here<'_>, found: &mut Vec<Violation>) {
        let Value::Object(map) = schema else { return };
        if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
            self.references.push((here.owner.map(str::to_owned), reference.to_owned(), here.optional));
        }
        self.count(rules, map, at, found);
        let properties = map.get("properties").and_then(Value::as_object);
        if properties.is_some() {
            here.level += 1;
            self.levels = self.levels.max(here.level);
        }
        lists_match(rules, map, at, found);
        let required: BTreeSet<&str> =
            map.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        for (key, value) in map {
            let path = format!("{at}/{key}");
            match value {
                Value::Object(_) if SCHEMAS.contains(&key.as_str()) => {
                    let optional = here.optional || key == "additionalProperties";
                    self.schema(rules, value, &path, Here { optional, ..here }, found);
                }
                Value::Array(list) if LISTS.contains(&key.as_str()) => {
                    for (number, one) in list.iter().enumerate() {
                        self.schema(rules, one, &format!("{path}/{number}"), here, found);
                    }
                }
                Value::Object(named) if NAMED.contains(&key.as_str()) => {
                    for (name, one) in named {
                        let inside = match key.as_str() {
                            "$defs" => Here { owner: Some(name), level: 0, optional: false },
                            "properties" => Here { optional: !required.contains(name.as_str()), ..here },
                            _ => Here { optional: true, ..here },
                        };
                        self.schema(rules, one, &format!("{path}/{name}"), inside, found);
                    }
                }
                _ => {}
            }
        }
    }

    fn count(&mut self, rules: &Rules, map: &Map<String, Value>, at: &str, found: &mut Vec<Violation>) {
        let length = |text: &str| text.chars().count();
        for key in ["properties", "$defs"] {
            if let Some(Value::Object(named)) = map.get(key) {
                self.letters += named.keys().map(|name| length(name)).sum::<usize>();
                self.properties += if key == "properties" { named.len() } else { 0 };
            }
        }
        if let Some(Value::Array(values)) = map.get("enum") {
            let letters = values.iter().filter_map(Value::as_str).map(length).sum::<usize>();
            self.values += values.len();
            self.letters += letters;
            if let (Some(long), Some(limit)) = (rules.limits.long_list_values, rules.limits.long_list_letters)
                && values.len() > long
                && letters > limit
            {
                let what = format!("{} values of {letters} characters together", values.len());
                found.push(Violation { at: format!("{at}/enum"), what });
            }
        }
    }

    fn references(&self, rules: &Rules, schema: &Value, at: &str, found: &mut Vec<Violation>) {
        if rules.recursion == Recursion::None && !self.references.is_empty() {
            found.push(Violation { at: at.to_owned(), what: "references are not supported".into() });
            return;
        }
        let mut edges: BTreeMap<Option<&str>, Vec<(&str, bool)>> = BTreeMap::new();
        for (owner, reference, optional) in &self.references {
            let target = reference.strip_prefix("#/$defs/");
            match target.filter(|name| schema.pointer(&format!("/$defs/{name}")).is_some()) {
                Some(name) => edges.entry(owner.as_deref()).or_default().push((name, *optional)),
                None => found.push(Violation { at: at.to_owned(), what: format!("`{reference}` cannot be resolved") }),
            }
        }
        if rules.recursion != Recursion::InOptionalProperties {
            return;
        }
        // A definition must not reach itself through required properties only.
        for start in edges.keys().filter_map(|owner| *owner) {
            let mut seen = BTreeSet::new();
            let mut open = vec![start];
            while let Some(one) = open.pop() {
                let required = edges.get(&Some(one)).into_iter().flatten().filter(|(_, optional)| !optional);
                open.extend(required.map(|(name, _)| *name).filter(|name| seen.insert(*name)));
            }
            if seen.contains(start) {
                let what = "refers to itself through a required property".to_owned();
                found.push(Violation { at: format!("{at}/$defs/{start}"), what });
            }
        }
    }
}

fn lists_match(rules: &Rules, map: &Map<String, Value>, at: &str, found: &mut Vec<Violation>) {
    let names = |key: &str| -> BTreeSet<&str> {
        match map.get(key) {
            Some(Value::Object(named)) => named.keys().map(String::as_str).collect(),
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
            _ => BTreeSet::new(),
        }
    };
    let (described, required) = (names("properties"), names("required"));
    if rules.all_required {
        for name in described.difference(&required) {
            found.push(Violation { at: format!("{at}/required"), what: format!("`{name}` is missing") });
        }
    }
    if rules.required_is_described {
        for name in required.difference(&described) {
            found.push(Violation { at: format!("{at}/required"), what: format!("`{name}` is not a property") });
        }
    }
}
