//! The annotations of a tool, and what they decide where no rule does.
//!
//! They are hints of a server about itself (2025-11-25, schema, `ToolAnnotations`: clients should never make decisions by
//! those of untrusted servers), so a rule always wins over them, and [`HintUse::Ignored`] gives them no say at all.

use client::Tool;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::PermissionDecision;

/// Whether the hints of servers have a say where no rule decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HintUse {
    /// A tool that says it only reads, and from a closed world, may be called; for every other one a person is asked.
    #[default]
    AsDefaults,
    /// A person is asked for every tool.
    Ignored,
}

/// What a tool says about itself, with the specification's values where it says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hints {
    /// It changes nothing.
    pub read_only: bool,
    /// What it changes may be lost.
    pub destructive: bool,
    /// Calling it again with the same arguments changes nothing more.
    pub idempotent: bool,
    /// It reaches out to things beyond its server's own domain.
    pub open_world: bool,
}

impl Hints {
    /// The hints of a tool. One that is no boolean counts as absent.
    #[must_use]
    pub fn new(tool: &Tool) -> Self {
        let said = |name: &str| tool.annotations().and_then(|hints| hints.get(name)).and_then(Value::as_bool);
        let read_only = said("readOnlyHint").unwrap_or(false);
        Self {
            read_only,
            // It has a meaning only for what changes something; what says both is believed the worse.
            destructive: said("destructiveHint").unwrap_or(!read_only),
            idempotent: said("idempotentHint").unwrap_or(false),
            open_world: said("openWorldHint").unwrap_or(true),
        }
    }

    /// What they decide where no rule does, and why.
    #[must_use]
    pub fn verdict(self) -> (PermissionDecision, &'static str) {
        match self {
            Self { destructive: true, read_only: true, .. } => (
                PermissionDecision::Ask,
                "no rule decides, and the tool says both that it only reads and that it destroys",
            ),
            Self { destructive: true, .. } => {
                (PermissionDecision::Ask, "no rule decides, and the tool may destroy something")
            }
            Self { read_only: false, .. } => {
                (PermissionDecision::Ask, "no rule decides, and the tool may change something")
            }
            Self { open_world: true, .. } => (
                PermissionDecision::Ask,
                "no rule decides, and the tool reads from an open world: who knows what, and sent where",
            ),
            _ => (
                PermissionDecision::Allow,
                "no rule decides, and the tool says that it only reads, within its own world",
            ),
        }
    }
}
