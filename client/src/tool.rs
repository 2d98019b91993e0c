//! Tools as servers describe them: the wire's own JSON, so that nothing a server says is lost.
//!
//! This module owns reading one page of `tools/list`. A tool that cannot be used costs only itself.

use std::{collections::HashSet, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{catalogue::cache::CacheHints, drift::Fingerprint};

/// A tool that a server offers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tool {
    wire: Map<String, Value>,
}

/// A tool that a server offers but that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectedTool {
    /// Its name, where it has one.
    pub name: Option<String>,
    /// Why it was left out.
    pub reason: String,
}

/// The tools of one server, in the order in which it lists them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolList {
    /// Those that can be used. No two share a name.
    pub tools: Vec<Arc<Tool>>,
    /// Those that were left out.
    pub rejected: Vec<RejectedTool>,
    /// How many pages were read.
    pub pages: usize,
    /// What the server said about keeping the list.
    #[serde(skip)]
    pub hints: CacheHints,
}

impl Tool {
    /// Reads a tool.
    ///
    /// # Errors
    /// If it has no usable name or no usable input schema. An output schema that makes no sense is taken off the tool
    /// instead, and returned as the second value: the tool itself can still be called.
    pub fn read(value: Value) -> Result<(Self, Option<RejectedTool>), RejectedTool> {
        let Value::Object(mut wire) = value else {
            return Err(RejectedTool { name: None, reason: "the tool is not an object".into() });
        };
        let name = wire.get("name").and_then(Value::as_str).map(str::to_owned);
        let refuse = |reason: &str| RejectedTool { name: name.clone(), reason: reason.into() };
        if name.is_none() {
            return Err(refuse("the tool has no name"));
        }
        // The specification prescribes an object schema with `type: "object"` at its root (2024-11-05, tools).
        match wire.get("inputSchema") {
            Some(Value::Object(schema)) => {
                if schema.get("type").is_some_and(|kind| kind != "object") {
                    return Err(refuse("the type of `inputSchema` is not `object`"));
                }
            }
            Some(_) => return Err(refuse("`inputSchema` is not an object")),
            None => return Err(refuse("the tool has no `inputSchema`")),
        }
        let odd_output = wire.get("outputSchema").is_some_and(|schema| !schema.is_object());
        let complaint = odd_output.then(|| {
            wire.remove("outputSchema");
            refuse("`outputSchema` is not an object; the tool is kept without it")
        });
        Ok((Self { wire }, complaint))
    }

    /// The name, as the server knows it.
    #[must_use]
    pub fn name(&self) -> &str {
        self.text("name").unwrap_or_default()
    }

    /// The title for people.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.text("title")
    }

    /// The description for models.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.text("description")
    }

    /// The schema of the arguments.
    #[must_use]
    pub fn input_schema(&self) -> Option<&Map<String, Value>> {
        self.wire.get("inputSchema")?.as_object()
    }

    /// The schema of the structured result.
    #[must_use]
    pub fn output_schema(&self) -> Option<&Map<String, Value>> {
        self.wire.get("outputSchema")?.as_object()
    }

    /// The annotations: hints, never promises.
    #[must_use]
    pub fn annotations(&self) -> Option<&Map<String, Value>> {
        self.wire.get("annotations")?.as_object()
    }

    /// Everything that the server said about it.
    #[must_use]
    pub fn wire(&self) -> &Map<String, Value> {
        &self.wire
    }

    /// A short stand-in for everything a caller relies on: see [`crate::drift`].
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self)
    }

    fn text(&self, field: &str) -> Option<&str> {
        self.wire.get(field)?.as_str()
    }
}

/// Collects the tools of several pages.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    list: ToolList,
    names: HashSet<String>,
}

impl Collector {
    /// Takes the items of one page, at most `room` of them, and returns those that were left out.
    pub(crate) fn take_page(&mut self, items: Vec<Value>, room: usize) -> Vec<RejectedTool> {
        self.list.pages += 1;
        let mut rejected = Vec::new();
        for item in items.into_iter().take(room) {
            match Tool::read(item) {
                Ok((tool, complaint)) => {
                    rejected.extend(complaint);
                    // The first one keeps the name: a later page must not replace a tool that was already seen.
                    if self.names.insert(tool.name().to_owned()) {
                        self.list.tools.push(Arc::new(tool));
                    } else {
                        let reason = "the server lists another tool of this name before it".into();
                        rejected.push(RejectedTool { name: Some(tool.name().to_owned()), reason });
                    }
                }
                Err(reason) => rejected.push(reason),
            }
        }
        self.list.rejected.extend(rejected.iter().cloned());
        rejected
    }

    /// Takes the hints of a page, after its items.
    pub(crate) fn take_hints(&mut self, hints: CacheHints) {
        self.list.hints = if self.list.pages > 1 { self.list.hints.joined(hints) } else { hints };
    }

    pub(crate) fn finish(self) -> ToolList {
        self.list
    }
}

impl ToolList {
    /// The tool of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Tool>> {
        self.tools.iter().find(|tool| tool.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_bad_tool_costs_only_itself() {
        let mut collector = Collector::default();
        let rejected = collector.take_page(
            vec![
                json!({"name": "good", "inputSchema": {"type": "object"}, "x-unknown": [1]}),
                json!({"name": "no-schema"}),
                json!({"inputSchema": {}}),
                json!("text"),
                json!({"name": "listed", "inputSchema": {"type": "array"}}),
                json!({"name": "odd-output", "inputSchema": {}, "outputSchema": "string"}),
                json!({"name": "good", "inputSchema": {"type": "object"}, "description": "an impostor"}),
            ],
            100,
        );
        let list = collector.finish();
        let names: Vec<_> = list.tools.iter().map(|tool| tool.name()).collect();
        assert_eq!(names, ["good", "odd-output"]);
        assert_eq!(list.get("good").unwrap().wire()["x-unknown"], json!([1]));
        assert_eq!(list.get("good").unwrap().description(), None);
        assert_eq!(list.get("odd-output").unwrap().output_schema(), None);
        assert_eq!(rejected.len(), 6);
        assert_eq!(list.rejected, rejected);
    }

    #[test]
    fn takes_no_more_than_there_is_room_for() {
        let mut collector = Collector::default();
        let items = (0..5).map(|n| json!({"name": n.to_string(), "inputSchema": {}})).collect();
        assert!(collector.take_page(items, 3).is_empty());
        assert_eq!(collector.finish().tools.len(), 3);
    }
}
