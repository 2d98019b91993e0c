//! Lock files: the tool definitions of a server, against which later definitions are compared.
//!
//! Pure: text in, text out. The text depends only on the tools, not on the order of tools or keys. It contains no command, URL
//! or header.

use std::sync::Arc;

use client::{Drift, Revision, Severity, Tool, drift::Change};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

/// The version of the format.
const FORMAT: u32 = 1;

/// The locked tools of one server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// The version of the format.
    format: u32,
    /// Name and version of the server.
    pub server: Identity,
    /// The negotiated revision.
    pub revision: Revision,
    /// The tools, by name.
    tools: Vec<LockedTool>,
}

/// The `serverInfo` of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl Identity {
    /// Reads the result of `initialize` or `server/discover`.
    #[must_use]
    pub fn from_initialization(greeting: &Value) -> Self {
        let modern = greeting.pointer("/_meta/io.modelcontextprotocol~1serverInfo");
        let info = greeting.get("serverInfo").or(modern).unwrap_or(&Value::Null);
        let text = |key: &str| info.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        Self { name: text("name"), version: text("version") }
    }
}

/// One tool with its complete definition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LockedTool {
    name: String,
    /// Hash of the definition without its documentation.
    fingerprint: String,
    definition: Value,
}

/// Why a lock file cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LockError {
    /// It is not JSON of this format.
    #[error("not a lock file")]
    Unreadable(#[source] serde_json::Error),
    /// The format is newer than this program.
    #[error("the lock file has format {found}; the newest supported format is {FORMAT}")]
    Newer {
        /// The version.
        found: u32,
    },
    /// The definition of a tool is invalid or does not match its name and fingerprint.
    #[error("tool `{tool}` was edited by hand: {reason}")]
    Altered {
        /// The tool.
        tool: String,
        /// The reason.
        reason: String,
    },
}

impl Lock {
    /// Locks tools.
    #[must_use]
    pub fn new(server: Identity, revision: Revision, tools: &[Arc<Tool>]) -> Self {
        let mut tools: Vec<LockedTool> = tools
            .iter()
            .map(|tool| LockedTool {
                name: tool.name().to_owned(),
                fingerprint: tool.fingerprint().to_string(),
                definition: sorted(&Value::Object(tool.wire().clone())),
            })
            .collect();
        tools.sort_by(|one, other| one.name.cmp(&other.name));
        Self { format: FORMAT, server, revision, tools }
    }

    /// Formats the lock file.
    #[must_use]
    pub fn to_text(&self) -> String {
        // JSON can represent every value of this type.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Parses a lock file.
    ///
    /// # Errors
    /// If the text is not a lock file, has a newer format, or was edited by hand.
    pub fn read(text: &str) -> Result<Self, LockError> {
        let lock: Self = serde_json::from_str(text).map_err(LockError::Unreadable)?;
        if lock.format > FORMAT {
            return Err(LockError::Newer { found: lock.format });
        }
        for locked in &lock.tools {
            let altered = |reason: String| LockError::Altered { tool: locked.name.clone(), reason };
            let (tool, _) = Tool::read(locked.definition.clone()).map_err(|rejected| altered(rejected.reason))?;
            if tool.name() != locked.name || tool.fingerprint().to_string() != locked.fingerprint {
                return Err(altered("the definition does not match its name and fingerprint".into()));
            }
        }
        Ok(lock)
    }

    /// The locked tools.
    #[must_use]
    pub fn tools(&self) -> Vec<Arc<Tool>> {
        self.tools
            .iter()
            .filter_map(|locked| Tool::read(locked.definition.clone()).ok())
            .map(|(tool, _)| tool.into())
            .collect()
    }

    /// Compares with a newer lock. Changes of the server itself have an empty tool name.
    #[must_use]
    pub fn drift(&self, now: &Self) -> Drift {
        let mut changes = Vec::new();
        let mut compare = |severity, at: &str, old: &str, new: &str| {
            if old != new {
                let what = format!("was `{old}`, is `{new}`");
                changes.push(Change { tool: String::new(), severity, at: at.to_owned(), what });
            }
        };
        // A different server may implement the same definitions differently.
        compare(Severity::Breaking, "/server/name", &self.server.name, &now.server.name);
        compare(Severity::Cosmetic, "/server/version", &self.server.version, &now.server.version);
        compare(Severity::Compatible, "/revision", self.revision.as_str(), now.revision.as_str());
        changes.extend(Drift::between(&self.tools(), &now.tools()).changes);
        Drift { changes }
    }
}

/// Sorts the keys of all objects.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut pairs: Vec<_> = map.iter().collect();
            pairs.sort_by_key(|(key, _)| *key);
            pairs.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect::<Map<_, _>>().into()
        }
        Value::Array(list) => list.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(value: Value) -> Arc<Tool> {
        Tool::read(value).unwrap().0.into()
    }

    fn lock(tools: &[Arc<Tool>]) -> Lock {
        let identity = Identity { name: "s".into(), version: "1".into() };
        Lock::new(identity, Revision::NEWEST_LEGACY, tools)
    }

    fn schema(kind: &str) -> Value {
        json!({ "type": "object", "properties": { "x": { "type": kind } } })
    }

    #[test]
    fn the_text_does_not_depend_on_the_order_of_tools_and_keys() {
        let (a, b) =
            (json!({ "name": "a", "inputSchema": schema("string") }), json!({ "inputSchema": {}, "name": "b" }));
        let turned =
            json!({ "inputSchema": { "properties": { "x": { "type": "string" } }, "type": "object" }, "name": "a" });
        let one = lock(&[tool(a), tool(b.clone())]).to_text();
        assert_eq!(one, lock(&[tool(b), tool(turned)]).to_text());
        assert_eq!(Lock::read(&one).unwrap().to_text(), one);
        assert!(one.ends_with("}\n") && one.find("\"a\"") < one.find("\"b\""), "{one}");
    }

    #[test]
    fn drift_has_the_severity_of_its_worst_change() {
        let named = |name: &str, kind: &str| tool(json!({ "name": name, "inputSchema": schema(kind) }));
        let before = lock(&[named("a", "integer"), named("b", "string")]);
        assert!(before.drift(&before).is_empty());
        let wider = lock(&[named("a", "number"), named("b", "string"), named("c", "string")]);
        assert_eq!(before.drift(&wider).severity(), Some(Severity::Compatible));
        assert_eq!(wider.drift(&before).severity(), Some(Severity::Breaking));
        let other = Lock { server: Identity { name: "other".into(), version: "2".into() }, ..before.clone() };
        let changes: Vec<_> = before.drift(&other).changes.iter().map(ToString::to_string).collect();
        assert_eq!(before.drift(&other).severity(), Some(Severity::Breaking), "another server responds");
        assert_eq!(changes, ["/server/name: was `s`, is `other`", "/server/version: was `1`, is `2`"]);
    }

    #[test]
    fn manual_changes_are_rejected() {
        let text = lock(&[tool(json!({ "name": "a", "inputSchema": schema("string") }))]).to_text();
        assert!(matches!(Lock::read(&text.replace("\"string\"", "\"number\"")), Err(LockError::Altered { .. })));
        let renamed = text.replacen("\"name\": \"a\"", "\"name\": \"b\"", 1);
        assert!(matches!(Lock::read(&renamed), Err(LockError::Altered { .. })), "{renamed}");
        assert!(matches!(
            Lock::read(&text.replace("\"format\": 1", "\"format\": 2")),
            Err(LockError::Newer { found: 2 })
        ));
        assert!(matches!(Lock::read("{}"), Err(LockError::Unreadable(_))));
    }

    #[test]
    fn the_identity_is_read_from_the_result_of_both_eras() {
        let info = json!({ "name": "n", "version": "3" });
        let wanted = Identity { name: "n".into(), version: "3".into() };
        assert_eq!(Identity::from_initialization(&json!({ "serverInfo": info })), wanted);
        let modern = json!({ "_meta": { "io.modelcontextprotocol/serverInfo": info } });
        assert_eq!(Identity::from_initialization(&modern), wanted);
    }
}
