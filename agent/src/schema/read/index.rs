//! Where things stand in a schema: its identifiers and anchors, and how large it is.

use std::collections::{BTreeMap, HashMap};

use percent_encoding::percent_decode_str;
use serde_json::Value;
use url::Url;

use super::{
    super::{Limits, error::SchemaError},
    step,
};

/// The base of a schema that names none.
const NOWHERE: &str = "schema:///";
/// How deep identifiers are looked for; deeper schemas are refused anyway.
const DEPTH: usize = 200;

/// Refuses what is too large to be looked at, without recursion of its own.
pub(super) fn weigh(source: &Value, limits: &Limits) -> Result<(), SchemaError> {
    let mut bytes = 0_usize;
    let mut open = vec![(source, 0_usize)];
    while let Some((value, depth)) = open.pop() {
        if depth > limits.depth * 3 {
            return Err(SchemaError::TooLarge { limit: limits.depth, of: "levels" });
        }
        // A number or a word of JSON takes about this much.
        bytes += 8;
        match value {
            Value::String(text) => bytes += text.len(),
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(map) => {
                bytes += map.keys().map(String::len).sum::<usize>();
                open.extend(map.values().map(|item| (item, depth + 1)));
            }
            _ => {}
        }
        if bytes > limits.bytes {
            return Err(SchemaError::TooLarge { limit: limits.bytes, of: "bytes" });
        }
    }
    Ok(())
}

/// Whether keywords beside `$ref` count: since 2019-09 they do (core, 8.2.3.1); up to draft 7 they were ignored.
pub(super) fn siblings_of_references_count(source: &Value) -> bool {
    let dialect = source.get("$schema").and_then(Value::as_str).unwrap_or_default();
    !["draft-04", "draft-05", "draft-06", "draft-07"].iter().any(|old| dialect.contains(old))
}

/// What can be referred to by name.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Places of schemas with an identifier of their own, and that identifier in full.
    bases: BTreeMap<String, Url>,
    /// The place of each identifier.
    resources: HashMap<String, String>,
    /// The place of each anchor, by its identifier in full.
    anchors: HashMap<String, String>,
}

impl Index {
    pub(super) fn new(source: &Value) -> Self {
        let mut index = Self::default();
        if let Ok(base) = Url::parse(NOWHERE) {
            index.resources.insert(base.to_string(), String::new());
            index.bases.insert(String::new(), base.clone());
            index.enter(source, "", &base, 0);
        }
        index
    }

    fn enter(&mut self, value: &Value, at: &str, base: &Url, depth: usize) {
        let Value::Object(map) = value else { return };
        if depth > DEPTH {
            return;
        }
        let mut base = base.clone();
        let id = map.get("$id").or_else(|| map.get("id")).and_then(Value::as_str);
        if let Some(id) = id {
            self.identify(id, at, &mut base);
        }
        for key in ["$anchor", "$dynamicAnchor"] {
            if let Some(anchor) = map.get(key).and_then(Value::as_str) {
                self.anchors.entry(format!("{base}#{anchor}")).or_insert_with(|| at.to_owned());
            }
        }
        for (key, child) in map {
            let place = step(at, key);
            match (key.as_str(), child) {
                (
                    "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" | "dependencies",
                    Value::Object(named),
                ) => named.iter().for_each(|(name, schema)| self.enter(schema, &step(&place, name), &base, depth + 1)),
                ("enum" | "const" | "default" | "examples" | "example" | "required" | "type", _) => {}
                (_, Value::Array(list)) => list.iter().enumerate().for_each(|(number, schema)| {
                    self.enter(schema, &format!("{place}/{number}"), &base, depth + 1);
                }),
                (_, schema) => self.enter(schema, &place, &base, depth + 1),
            }
        }
    }

    fn identify(&mut self, id: &str, at: &str, base: &mut Url) {
        // Up to draft 7 an identifier that is only a fragment was an anchor (draft-07, core, 8.2.3).
        if let Some(anchor) = id.strip_prefix('#') {
            self.anchors.entry(format!("{base}#{anchor}")).or_insert_with(|| at.to_owned());
        } else if let Ok(mut full) = base.join(id) {
            full.set_fragment(None);
            self.resources.entry(full.to_string()).or_insert_with(|| at.to_owned());
            self.bases.insert(at.to_owned(), full.clone());
            *base = full;
        }
    }

    /// The place that a reference names, which may not exist; nothing if it lies outside of the document.
    pub(super) fn resolve(&self, reference: &str, at: &str) -> Option<String> {
        let base = self.base_of(at)?;
        let mut target = base.join(reference).ok()?;
        let fragment = target.fragment().map(|fragment| percent_decode_str(fragment).decode_utf8_lossy().into_owned());
        target.set_fragment(None);
        let place = self.resources.get(target.as_str())?;
        Some(match fragment.as_deref() {
            None | Some("") => place.clone(),
            Some(pointer) if pointer.starts_with('/') => format!("{place}{pointer}"),
            // An anchor that does not exist leads nowhere, and no pointer starts without a slash.
            Some(anchor) => {
                self.anchors.get(&format!("{target}#{anchor}")).cloned().unwrap_or_else(|| format!("{place}/#{anchor}"))
            }
        })
    }

    fn base_of(&self, at: &str) -> Option<&Url> {
        let mut place = at;
        loop {
            if let Some(base) = self.bases.get(place) {
                return Some(base);
            }
            place = &place[..place.rfind('/')?];
        }
    }
}
