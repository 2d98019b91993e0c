//! Tool annotations, and the decision they lead to if no rule matches.
//!
//! Annotations are untrusted hints (2025-11-25, schema, `ToolAnnotations`: clients should never make decisions based on those
//! of untrusted servers). So every rule wins over them, and [`HintUse::Ignored`] ignores them.

use client::Tool;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::PermissionDecision;

/// Whether annotations decide if no rule matches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HintUse {
    /// Read-only tools of a closed world are allowed; for all others the user is asked.
    #[default]
    AsDefaults,
    /// The user is asked for every tool.
    Ignored,
}

/// The annotations of a tool, with the specification's defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hints {
    /// The tool does not modify its environment.
    pub read_only: bool,
    /// The tool may perform destructive updates.
    pub destructive: bool,
    /// A repeated call with the same arguments has no additional effect.
    pub idempotent: bool,
    /// The tool interacts with external entities.
    pub open_world: bool,
}

impl Hints {
    /// Reads the annotations of a tool. Values other than booleans are ignored.
    #[must_use]
    pub fn new(tool: &Tool) -> Self {
        let hint = |name: &str| tool.annotations().and_then(|hints| hints.get(name)).and_then(Value::as_bool);
        let read_only = hint("readOnlyHint").unwrap_or(false);
        Self {
            read_only,
            // Meaningful only for tools that modify something; contradictory hints count as destructive.
            destructive: hint("destructiveHint").unwrap_or(!read_only),
            idempotent: hint("idempotentHint").unwrap_or(false),
            open_world: hint("openWorldHint").unwrap_or(true),
        }
    }

    /// The decision if no rule matches, and its reason.
    #[must_use]
    pub fn decision(self) -> (PermissionDecision, &'static str) {
        match self {
            Self { destructive: true, read_only: true, .. } => (
                PermissionDecision::Ask,
                "no rule matches, and the tool declares itself both read-only and destructive",
            ),
            Self { destructive: true, .. } => {
                (PermissionDecision::Ask, "no rule matches, and the tool may be destructive")
            }
            Self { read_only: false, .. } => {
                (PermissionDecision::Ask, "no rule matches, and the tool may modify something")
            }
            Self { open_world: true, .. } => {
                (PermissionDecision::Ask, "no rule matches, and the tool may access external systems")
            }
            _ => {
                (PermissionDecision::Allow, "no rule matches, and the tool declares itself read-only in a closed world")
            }
        }
    }
}
