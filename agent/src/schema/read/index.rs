//! Identifiers and anchors of a schema, and its size.

use std::collections::{BTreeMap, HashMap};

use percent_encoding::percent_decode_str;
use serde_json::Value;
use url::Url;

use super::{
    super::{Limits, error::SchemaError},
    step,
};

/// Base URI of a schema without `$id`.
const DEFAULT_BASE: &str = "schema:///";
/// Maximum depth of identifiers; deeper schemas are rejected.
const MAX_DEPTH: usize = 200;

/// Checks depth and size without recursion.
pub(super) fn check_size(source: &Value, limits: &Limits) -> Result<(), SchemaError> {
    let mut bytes = 0_usize;
    let mut open = vec![(source, 0_usize)];
    while let Some((value, depth)) = open.pop() {
        if depth > limits.depth * 3 {
            return Err(SchemaError::TooLarge { limit: limits.depth, unit: "levels" });
        }
        // Approximate size of a number or a literal.
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
            return Err(SchemaError::TooLarge { limit: limits.bytes, unit: "bytes" });
        }
    }
    Ok(())
}

/// Whether keywords next to `$ref` apply: since 2019-09 (core, 8.2.3.1), but not up to draft 7.
pub(super) fn reference_siblings_apply(source: &Value) -> bool {
    let dialect = source.get("$schema").and_then(Value::as_str).unwrap_or_default();
    !["draft-04", "draft-05", "draft-06", "draft-07"].iter().any(|old| dialect.contains(old))
}

/// Identifiers and anchors.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Base URI of each schema with an identifier, by JSON pointer.
    bases: BTreeMap<String, Url>,
    /// JSON pointer of each identifier.
    resources: HashMap<String, String>,
    /// JSON pointer of each anchor, by absolute URI.
    anchors: HashMap<String, String>,
}

impl Index {
    pub(super) fn new(source: &Value) -> Self {
        let mut index = Self::default();
        if let Ok(base) = Url::parse(DEFAULT_BASE) {
            index.resources.insert(base.to_string(), String::new());
            index.bases.insert(String::new(), base.clone());
            index.enter(source, "", &base, 0);
        }
        index
    }

    fn enter(&mut self, value: &Value, at: &str, base: &Url, depth: usize) {
        let Value::Object(map) = value else { return };
        if depth > MAX_DEPTH {
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
            let pointer = step(at, key);
            match (key.as_str(), child) {
                (
                    "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" | "dependencies",
                    Value::Object(named),
                ) => {
                    named.iter().for_each(|(name, schema)| self.enter(schema, &step(&pointer, name), &base, depth + 1))
                }
                ("enum" | "const" | "default" | "examples" | "example" | "required" | "type", _) => {}
                (_, Value::Array(list)) => list.iter().enumerate().for_each(|(number, schema)| {
                    self.enter(schema, &format!("{pointer}/{number}"), &base, depth + 1);
                }),
                (_, schema) => self.enter(schema, &pointer, &base, depth + 1),
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

    /// The JSON pointer of a reference, which may not exist. Returns `None` for external references.
    pub(super) fn resolve(&self, reference: &str, at: &str) -> Option<String> {
        let base = self.base_of(at)?;
        let mut target = base.join(reference).ok()?;
        let fragment = target.fragment().map(|fragment| percent_decode_str(fragment).decode_utf8_lossy().into_owned());
        target.set_fragment(None);
        let resource = self.resources.get(target.as_str())?;
        Some(match fragment.as_deref() {
            None | Some("") => resource.clone(),
            Some(pointer) if pointer.starts_with('/') => format!("{resource}{pointer}"),
            // The pointer of an unknown anchor is invalid on purpose: a token after `/#` does not exist.
            Some(anchor) => self
                .anchors
                .get(&format!("{target}#{anchor}"))
                .cloned()
                .unwrap_or_else(|| format!("{resource}/#{anchor}")),
        })
    }

    fn base_of(&self, at: &str) -> Option<&Url> {
        let mut pointer = at;
        loop {
            if let Some(base) = self.bases.get(pointer) {
                return Some(base);
            }
            pointer = &pointer[..pointer.rfind('/')?];
        }
    }
}
