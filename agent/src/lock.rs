//! A server's tools as they were once agreed upon, in a file that a build can hold the server to.
//!
//! Pure: reading and writing the text is all. The text is the same for the same tools, whatever the order in which a server
//! lists them and their keys. It holds what the server says of itself and of its tools, and nothing of how it is reached:
//! no command, no URL, no header.

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
    /// What the server calls itself.
    pub server: Identity,
    /// The revision that was spoken.
    pub revision: Revision,
    /// The tools, by name.
    tools: Vec<Locked>,
}

/// What a server calls itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl Identity {
    /// Reads the greeting of a server: its answer to `initialize` or to `server/discover`.
    #[must_use]
    pub fn from_initialization(greeting: &Value) -> Self {
        let modern = greeting.pointer("/_meta/io.modelcontextprotocol~1serverInfo");
        let info = greeting.get("serverInfo").or(modern).unwrap_or(&Value::Null);
        let text = |key: &str| info.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        Self { name: text("name"), version: text("version") }
    }
}

/// One tool, with the whole of what the server says of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Locked {
    name: String,
    /// A hash of all but the words, to be compared at a glance.
    fingerprint: String,
    definition: Value,
}

/// Why a text is no lock file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LockError {
    /// It has another form.
    #[error("it is no lock file")]
    Unreadable(#[source] serde_json::Error),
    /// It is of a newer version.
    #[error("its format is {found}, and {FORMAT} is the newest that is known")]
    Newer {
        /// The version.
        found: u32,
    },
    /// A tool in it is not what its fingerprint says, or cannot be used at all.
    #[error("tool `{tool}` was changed by hand: {reason}")]
    Altered {
        /// The tool.
        tool: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl Lock {
    /// Locks tools.
    #[must_use]
    pub fn new(server: Identity, revision: Revision, tools: &[Arc<Tool>]) -> Self {
        let mut tools: Vec<Locked> = tools
            .iter()
            .map(|tool| Locked {
                name: tool.name().to_owned(),
                fingerprint: tool.fingerprint().to_string(),
                definition: in_order(&Value::Object(tool.wire().clone())),
            })
            .collect();
        tools.sort_by(|one, other| one.name.cmp(&other.name));
        Self { format: FORMAT, server, revision, tools }
    }

    /// The file's text: the same bytes for the same tools.
    #[must_use]
    pub fn to_text(&self) -> String {
        // Strings, numbers, lists and maps with text as keys: JSON has a form for all of them.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Reads a file's text.
    ///
    /// # Errors
    /// If it is no lock file, or one that was changed by hand.
    pub fn read(text: &str) -> Result<Self, LockError> {
        let lock: Self = serde_json::from_str(text).map_err(LockError::Unreadable)?;
        if lock.format > FORMAT {
            return Err(LockError::Newer { found: lock.format });
        }
        for locked in &lock.tools {
            let altered = |reason: String| LockError::Altered { tool: locked.name.clone(), reason };
            let (tool, _) = Tool::read(locked.definition.clone()).map_err(|rejected| altered(rejected.reason))?;
            if tool.name() != locked.name || tool.fingerprint().to_string() != locked.fingerprint {
                return Err(altered("it does not fit its name and fingerprint".into()));
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

    /// What is different now. Changes of the server itself are told for a tool without a name.
    #[must_use]
    pub fn drift(&self, now: &Self) -> Drift {
        let mut changes = Vec::new();
        let mut told = |severity, at: &str, old: &str, new: &str| {
            if old != new {
                let what = format!("was `{old}`, is `{new}`");
                changes.push(Change { tool: String::new(), severity, at: at.to_owned(), what });
            }
        };
        // Another server answers: that it has tools of the same form says nothing of what they do.
        told(Severity::Breaking, "/server/name", &self.server.name, &now.server.name);
        told(Severity::Cosmetic, "/server/version", &self.server.version, &now.server.version);
        told(Severity::Compatible, "/revision", self.revision.as_str(), now.revision.as_str());
        changes.extend(Drift::between(&self.tools(), &now.tools()).changes);
        Drift { changes }
    }
}

/// The same value with the keys of all objects in order.
fn in_order(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut pairs: Vec<_> = map.iter().collect();
            pairs.sort_by_key(|(key, _)| *key);
            pairs.into_iter().map(|(key, value)| (key.clone(), in_order(value))).collect::<Map<_, _>>().into()
        }
        Value::Array(list) => list.iter().map(in_order).collect(),
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
    fn the_same_tools_make_the_same_bytes_in_whatever_order() {
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
    fn drift_is_told_by_its_severity() {
        let of = |name: &str, kind: &str| tool(json!({ "name": name, "inputSchema": schema(kind) }));
        let before = lock(&[of("a", "integer"), of("b", "string")]);
        assert!(before.drift(&before).is_empty());
        let wider = lock(&[of("a", "number"), of("b", "string"), of("c", "string")]);
        assert_eq!(before.drift(&wider).severity(), Some(Severity::Compatible));
        assert_eq!(wider.drift(&before).severity(), Some(Severity::Breaking));
        let other = Lock { server: Identity { name: "other".into(), version: "2".into() }, ..before.clone() };
        let told: Vec<_> = before.drift(&other).changes.iter().map(ToString::to_string).collect();
        assert_eq!(before.drift(&other).severity(), Some(Severity::Breaking), "another server answers");
        assert_eq!(told, ["/server/name: was `s`, is `other`", "/server/version: was `1`, is `2`"]);
    }

    #[test]
    fn what_was_changed_by_hand_is_refused() {
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
    fn a_server_is_known_by_its_greeting_in_both_eras() {
        let info = json!({ "name": "n", "version": "3" });
        let wanted = Identity { name: "n".into(), version: "3".into() };
        assert_eq!(Identity::from_initialization(&json!({ "serverInfo": info })), wanted);
        let modern = json!({ "_meta": { "io.modelcontextprotocol/serverInfo": info } });
        assert_eq!(Identity::from_initialization(&modern), wanted);
    }
}
