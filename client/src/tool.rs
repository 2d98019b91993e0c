//! Tools as servers describe them. The original JSON is kept, so that unknown fields are not lost.
//!
//! Reads one page of `tools/list`. An invalid tool is omitted and does not affect the others.

use std::{
    collections::HashSet,
    sync::{Arc, OnceLock},
};

use jsonschema::{ReferencingError, Validator, error::ValidationErrorKind};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{catalog::hints::CacheHints, fingerprint::Fingerprint, validation};

/// A tool of a server.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tool {
    wire: Map<String, Value>,
    /// Computed once, because each call compares it.
    #[serde(skip)]
    fingerprint: OnceLock<Fingerprint>,
    /// The compiled output schema, or why results cannot be checked by it. `None` if its fault is of another kind.
    #[serde(skip)]
    output: OnceLock<Option<Result<Validator, String>>>,
}

impl PartialEq for Tool {
    fn eq(&self, other: &Self) -> bool {
        self.wire == other.wire
    }
}

/// A tool that was omitted because it is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectedTool {
    /// The name, if it has one.
    pub name: Option<String>,
    /// The reason.
    pub reason: String,
}

/// The tools of one server, in the server's order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolList {
    /// The valid tools, with distinct names.
    pub tools: Vec<Arc<Tool>>,
    /// The omitted tools.
    pub rejected: Vec<RejectedTool>,
    /// Number of pages.
    pub pages: usize,
    /// Caching hints of the server.
    #[serde(skip)]
    pub hints: CacheHints,
}

impl Tool {
    /// Reads a tool.
    ///
    /// # Errors
    /// If it has no usable name or no usable input schema. An invalid output schema is removed instead, and returned
    /// as the second value, because the tool can still be called.
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
        Ok((Self { wire, fingerprint: OnceLock::new(), output: OnceLock::new() }, complaint))
    }

    /// The server's name of the tool.
    #[must_use]
    pub fn name(&self) -> &str {
        self.text("name").unwrap_or_default()
    }

    /// The title for users.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.text("title")
    }

    /// The description for models.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.text("description")
    }

    /// The input schema.
    #[must_use]
    pub fn input_schema(&self) -> Option<&Map<String, Value>> {
        self.wire.get("inputSchema")?.as_object()
    }

    /// The output schema.
    #[must_use]
    pub fn output_schema(&self) -> Option<&Map<String, Value>> {
        self.wire.get("outputSchema")?.as_object()
    }

    /// Where and how structured content violates the output schema, or why it cannot be checked: an unsupported dialect is an
    /// error (2025-11-25 and 2026-07-28, basic#implementation-requirements), and a schema whose reference cannot be resolved is
    /// rejected (2026-07-28, basic#ref-resolution). `None` also without a schema, or if it has another fault.
    pub(crate) fn output_violation(&self, content: &Value) -> Option<String> {
        let compile = || {
            let schema = self.wire.get("outputSchema").filter(|schema| schema.is_object())?;
            match validation::options().build(schema) {
                Ok(validator) => Some(Ok(validator)),
                Err(error) => match error.kind() {
                    ValidationErrorKind::Referencing(ReferencingError::UnknownSpecification { specification }) => {
                        Some(Err(format!("the dialect `{specification}` is not supported")))
                    }
                    ValidationErrorKind::Referencing(reason) => Some(Err(reason.to_string())),
                    _ => None,
                },
            }
        };
        match self.output.get_or_init(compile).as_ref()? {
            Ok(validator) => {
                let error = validator.validate(content).err()?;
                Some(format!("{}: {}", error.instance_path(), error.masked()))
            }
            Err(reason) => Some(format!("it cannot be checked: {reason}")),
        }
    }

    /// The annotations, which are hints only.
    #[must_use]
    pub fn annotations(&self) -> Option<&Map<String, Value>> {
        self.wire.get("annotations")?.as_object()
    }

    /// The complete definition from the server.
    #[must_use]
    pub fn wire(&self) -> &Map<String, Value> {
        &self.wire
    }

    /// A hash of everything that a caller relies on.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        *self.fingerprint.get_or_init(|| Fingerprint::new(&self.wire))
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
    /// Adds the items of one page, at most `room` of them, and returns the omitted ones.
    pub(crate) fn take_page(&mut self, items: Vec<Value>, room: usize) -> Vec<RejectedTool> {
        self.list.pages += 1;
        let mut rejected = Vec::new();
        for item in items.into_iter().take(room) {
            match Tool::read(item) {
                Ok((tool, complaint)) => {
                    rejected.extend(complaint);
                    // The first one keeps the name: a later page must not replace an earlier tool.
                    if self.names.insert(tool.name().to_owned()) {
                        self.list.tools.push(Arc::new(tool));
                    } else {
                        let reason = "an earlier tool has the same name".into();
                        rejected.push(RejectedTool { name: Some(tool.name().to_owned()), reason });
                    }
                }
                Err(reason) => rejected.push(reason),
            }
        }
        self.list.rejected.extend(rejected.iter().cloned());
        rejected
    }

    /// Merges the hints of a page.
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
    fn an_invalid_tool_does_not_affect_others() {
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
    fn stops_at_the_item_limit() {
        let mut collector = Collector::default();
        let items = (0..5).map(|n| json!({"name": n.to_string(), "inputSchema": {}})).collect();
        assert!(collector.take_page(items, 3).is_empty());
        assert_eq!(collector.finish().tools.len(), 3);
    }

    #[test]
    fn structured_content_is_checked_by_the_output_schema() {
        let violation = |schema: Value, content: Value| {
            let tool = json!({"name": "t", "inputSchema": {}, "outputSchema": schema});
            Tool::read(tool).unwrap().0.output_violation(&content)
        };
        let schema = || json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        assert_eq!(violation(schema(), json!({"n": 1, "more": true})), None);
        assert_eq!(violation(schema(), json!({"n": "1"})).unwrap(), "/n: value is not of type \"integer\"");
        assert!(violation(schema(), json!({})).is_some());
        // 2026-07-28 has schemas of any type.
        assert!(violation(json!({"type": "array", "items": {"type": "number"}}), json!([1, "2"])).is_some());
        assert_eq!(violation(json!({"type": "array", "items": {"type": "number"}}), json!([1, 2])), None);
        // `format` is an annotation in 2020-12.
        assert_eq!(violation(json!({"properties": {"at": {"format": "date-time"}}}), json!({"at": "noon"})), None);
        // An unknown dialect, and references that are not resolved.
        for unusable in [
            json!({"$schema": "https://example.com/dialect", "required": ["n"]}),
            json!({"$ref": "https://example.com/schema"}),
            json!({"$ref": "file:///etc/hostname"}),
            json!({"properties": {"n": {"$ref": "#/$defs/missing"}}}),
        ] {
            let reason = violation(unusable.clone(), json!({})).unwrap_or_default();
            assert!(reason.starts_with("it cannot be checked: "), "{unusable}: {reason}");
        }
        // These cannot be compiled.
        for odd in [json!({"properties": {"n": {"pattern": "^(?!no)"}}}), json!({"type": "whatever"})] {
            assert_eq!(violation(odd.clone(), json!({})), None, "{odd}");
        }
        // Schemas that refer to themselves end.
        for endless in [json!({"$ref": "#"}), json!({"allOf": [{"$ref": "#"}]}), json!({"not": {"$ref": "#"}})] {
            let _ = violation(endless, json!({"n": 1}));
        }
    }
}
