//! Compares two tool lists, and classifies each change for callers that know the old list.
//!
//! Pure. Severities: *breaking* (valid calls may fail or do something that the user did not approve), *compatible*
//! (old calls remain valid), *cosmetic* (documentation only). Changes that cannot be classified are breaking.

mod schema;
#[cfg(test)]
mod tests;

use std::{collections::HashSet, fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::tool::Tool;

/// The severity of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Documentation only.
    Cosmetic,
    /// Old calls remain valid.
    Compatible,
    /// Valid calls may now fail.
    Breaking,
}

/// A change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The tool.
    pub tool: String,
    /// The severity.
    pub severity: Severity,
    /// The location in the tool, as a JSON pointer; empty for the tool itself.
    pub at: String,
    /// The description of the change.
    pub what: String,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.at.is_empty() { f.write_str(&self.what) } else { write!(f, "{}: {}", self.at, self.what) }
    }
}

/// The changes between two lists.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    /// The changes, ordered by tool.
    pub changes: Vec<Change>,
}

impl Drift {
    /// Compares two lists, regardless of their order.
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
                None => changes.push(tool_change(name, Severity::Breaking, "the tool was removed")),
            }
        }
        for name in new.keys().filter(|name| !old.contains_key(*name)) {
            changes.push(tool_change(name, Severity::Compatible, "the tool was added"));
        }
        Self { changes }
    }

    /// Whether there are no changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The highest severity.
    #[must_use]
    pub fn severity(&self) -> Option<Severity> {
        self.changes.iter().map(|change| change.severity).max()
    }

    /// The changes with this severity.
    pub fn with_severity(&self, severity: Severity) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(move |change| change.severity == severity)
    }
}

fn tool_change(tool: &str, severity: Severity, what: &str) -> Change {
    Change { tool: tool.to_owned(), severity, at: String::new(), what: what.to_owned() }
}

/// Compares two versions of a tool.
#[must_use]
pub fn compare(old: &Tool, new: &Tool) -> Vec<Change> {
    let mut found = Comparison { tool: old.name().to_owned(), changes: Vec::new(), ..Comparison::default() };
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

/// Hints determine whether the user is asked. A weaker promise is a breaking change: a tool that was approved as
/// read-only must not become destructive unnoticed.
fn compare_annotations(found: &mut Comparison, old: &Tool, new: &Tool) {
    // The defaults of missing hints (2025-03-26, schema, `ToolAnnotations`).
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

/// Collects the changes of a tool.
#[derive(Debug, Default)]
struct Comparison {
    tool: String,
    changes: Vec<Change>,
    /// The two root schemas, for resolving references.
    roots: Arc<(Value, Value)>,
    /// The pairs of references that were followed.
    followed: HashSet<(Option<String>, Option<String>)>,
}

impl Comparison {
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

/// Escapes a key for a JSON pointer (RFC 6901).
fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
