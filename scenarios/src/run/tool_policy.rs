//! Which tools of a server under test may be called.

use globset::{Glob, GlobSet, GlobSetBuilder};
use serde_json::Value;

/// The tools that the workbench may call. The default permits those whose annotation `readOnlyHint` is true.
#[derive(Debug, Clone, Default)]
pub struct ToolPolicy {
    all: bool,
    names: GlobSet,
    values: Vec<String>,
}

impl ToolPolicy {
    /// The policy for the values of `--call-tools`: `all`, or globs on tool names. Each value adds to the default.
    ///
    /// A tool whose annotation `destructiveHint` is true is permitted only by a glob that matches its name.
    ///
    /// # Errors
    /// If a value is not a glob.
    pub fn parse<T: AsRef<str>>(values: &[T]) -> Result<Self, globset::Error> {
        let mut names = GlobSetBuilder::new();
        let mut all = false;
        for value in values {
            match value.as_ref() {
                "all" => all = true,
                glob => {
                    names.add(Glob::new(glob)?);
                }
            }
        }
        let values = values.iter().map(|value| value.as_ref().to_owned()).collect();
        Ok(Self { all, names: names.build()?, values })
    }

    /// The values that it was made from.
    pub(super) fn values(&self) -> &[String] {
        &self.values
    }

    /// Whether a tool, as listed by the server, may be called.
    ///
    /// # Errors
    /// The reason why not.
    pub(crate) fn permits(&self, tool: &Value) -> Result<(), &'static str> {
        let hint = |name: &str| tool.get("annotations").and_then(|hints| hints.get(name)).and_then(Value::as_bool);
        if tool.get("name").and_then(Value::as_str).is_some_and(|name| self.names.is_match(name)) {
            return Ok(());
        }
        // The hint is meaningful only for tools that are not read-only (2025-03-26, schema, ToolAnnotations).
        if hint("readOnlyHint") == Some(true) {
            return Ok(());
        }
        if !self.all {
            return Err("it is not annotated as read-only; permit it with `--call-tools`");
        }
        if hint("destructiveHint") == Some(true) {
            return Err("it is annotated as destructive; permit it by name with `--call-tools`");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn permitted(values: &[&str], annotations: Value) -> bool {
        let tool = json!({ "name": "delete_file", "annotations": annotations });
        ToolPolicy::parse(values).expect("globs").permits(&tool).is_ok()
    }

    #[test]
    fn read_only_tools_are_always_permitted() {
        assert!(permitted(&[], json!({ "readOnlyHint": true })));
        assert!(!permitted(&[], json!({ "readOnlyHint": "true" })));
        assert!(!permitted(&[], json!({})));
    }

    #[test]
    fn destructive_tools_are_permitted_by_name_only() {
        assert!(permitted(&["all"], json!({})));
        assert!(!permitted(&["all"], json!({ "destructiveHint": true })));
        assert!(permitted(&["all", "delete_*"], json!({ "destructiveHint": true })));
        assert!(!permitted(&["read_*"], json!({})));
        assert!(ToolPolicy::parse(&["[a"]).is_err());
    }
}
