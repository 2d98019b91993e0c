//! What has changed between two lists of tools, and whether a caller who knows the old one has to care.
//!
//! Pure. Three severities: *breaking* (a call that was right may now be wrong, or may now do something that the user was
//! not told about), *compatible* (old calls stay right), *cosmetic* (words only). What cannot be judged is breaking.

mod schema;
#[cfg(test)]
mod tests;

use std::{collections::HashSet, fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::tool::Tool;

/// How much a change matters to a caller who knows the old list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Words only.
    Cosmetic,
    /// Old calls stay right.
    Compatible,
    /// A call that was right may now be wrong.
    Breaking,
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The tool.
    pub tool: String,
    /// How much it matters.
    pub severity: Severity,
    /// The place inside the tool, as a JSON pointer; empty for the tool itself.
    pub at: String,
    /// What happened there.
    pub what: String,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.at.is_empty() { f.write_str(&self.what) } else { write!(f, "{}: {}", self.at, self.what) }
    }
}

/// All differences between two lists.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    /// The differences, by tool.
    pub changes: Vec<Change>,
}

impl Drift {
    /// Compares two lists. Their order does not matter.
    #[must_use]
    pub fn between(old: &[Arc<Tool>], new: &[Arc<Tool>]) -> Self {
        let find = |list: &'_ [Arc<Tool>]| -> std::collections::BTreeMap<String, Arc<Tool>> {
            list.iter().map(|tool| (tool.name().to_owned(), Arc::clone(tool))).collect()
        };
        let (old, new) = (find(old), find(new));
        let mut changes = Vec::new();
        for (name, tool) in &old {
            match new.get(name) {
                Some(successor) => changes.extend(compare(tool, successor)),
                None => changes.push(whole(name, Severity::Breaking, "the tool is gone")),
            }
        }
        for name in new.keys().filter(|name| !old.contains_key(*name)) {
            changes.push(whole(name, Severity::Compatible, "the tool is new"));
        }
        Self { changes }
    }

    /// Whether nothing has changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The gravest severity among the changes.
    #[must_use]
    pub fn severity(&self) -> Option<Severity> {
        self.changes.iter().map(|change| change.severity).max()
    }

    /// The changes of this severity.
    pub fn of(&self, severity: Severity) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(move |change| change.severity == severity)
    }
}

fn whole(tool: &str, severity: Severity, what: &str) -> Change {
    Change { tool: tool.to_owned(), severity, at: String::new(), what: what.to_owned() }
}

/// All differences between two states of one tool.
#[must_use]
pub fn compare(old: &Tool, new: &Tool) -> Vec<Change> {
    let mut found = Found { tool: old.name().to_owned(), changes: Vec::new(), ..Found::default() };
    for key in keys_of_both(old.wire(), new.wire()) {
        let (before, after) = (old.wire().get(key), new.wire().get(key));
        match key.as_str() {
            "inputSchema" => schema::compare_optional(&mut found, "/inputSchema", before, after, schema::Flow::In),
            "outputSchema" => schema::compare_optional(&mut found, "/outputSchema", before, after, schema::Flow::Out),
            "annotations" => compare_annotations(&mut found, old, new),
            "name" => {}
            "title" | "description" | "icons" | "_meta" => {
                found.if_different(Severity::Cosmetic, &format!("/{key}"), before, after);
            }
            _ => found.if_different(Severity::Compatible, &format!("/{}", escape(key)), before, after),
        }
    }
    found.changes
}

/// Hints decide whether a user is asked. One that now promises less than the user was told is a breaking change: a tool
/// that was approved as read-only must not become a destructive one unnoticed.
fn compare_annotations(found: &mut Found, old: &Tool, new: &Tool) {
    // The values that count where a hint is absent (2025-03-26, schema, `ToolAnnotations`).
    const HINTS: [(&str, bool, bool); 4] = [
        // Name, default, and the value that is safe for the user.
        ("readOnlyHint", false, true),
        ("destructiveHint", true, false),
        ("idempotentHint", false, true),
        ("openWorldHint", true, false),
    ];
    let empty = Map::new();
    let (before, after) = (old.annotations().unwrap_or(&empty), new.annotations().unwrap_or(&empty));
    for key in keys_of_both(before, after) {
        let at = format!("/annotations/{}", escape(key));
        let (left, right) = (before.get(key), after.get(key));
        let Some((_, default, safe)) = HINTS.iter().find(|(name, ..)| name == key) else {
            found.if_different(Severity::Cosmetic, &at, left, right);
            continue;
        };
        let value = |hint: Option<&Value>| hint.and_then(Value::as_bool).unwrap_or(*default);
        if value(left) != value(right) {
            let severity = if value(left) == *safe { Severity::Breaking } else { Severity::Compatible };
            found.add(severity, &at, format!("was {}, is {}", value(left), value(right)));
        }
    }
}

/// The changes of one tool, while they are being found.
#[derive(Debug, Default)]
struct Found {
    tool: String,
    changes: Vec<Change>,
    /// The two schemas that are being compared, in which references are looked up.
    roots: Arc<(Value, Value)>,
    /// The pairs of references that were followed.
    followed: HashSet<(Option<String>, Option<String>)>,
}

impl Found {
    fn add(&mut self, severity: Severity, at: &str, what: impl Into<String>) {
        self.changes.push(Change { tool: self.tool.clone(), severity, at: at.to_owned(), what: what.into() });
    }

    fn if_different(&mut self, severity: Severity, at: &str, old: Option<&Value>, new: Option<&Value>) {
        if old != new {
            let what = match (old, new) {
                (None, _) => "was added",
                (_, None) => "was removed",
                _ => "was changed",
            };
            self.add(severity, at, what);
        }
    }
}

fn keys_of_both<'a>(old: &'a Map<String, Value>, new: &'a Map<String, Value>) -> Vec<&'a String> {
    old.keys().chain(new.keys().filter(|key| !old.contains_key(*key))).collect()
}

/// A key as a step of a JSON pointer (RFC 6901).
fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// A short stand-in for a tool as a caller has seen it. Two tools with one fingerprint are the same to every caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of a tool: the hash of everything but the words, with the keys of all objects in order.
    #[must_use]
    pub fn of(tool: &Tool) -> Self {
        let mut hasher = Sha256::new();
        for field in ["name", "inputSchema", "outputSchema", "annotations"] {
            let mut text = String::new();
            canonical(tool.wire().get(field).unwrap_or(&Value::Null), &mut text);
            hasher.update((text.len() as u64).to_be_bytes());
            hasher.update(text.as_bytes());
        }
        Self(hasher.finalize().into())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<_> = map.keys().collect();
            keys.sort();
            out.push('{');
            for key in keys {
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                canonical(&map[key], out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                canonical(item, out);
                out.push(',');
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}
