//! `diff_tools`: compares two tool lists and classifies the changes.

use std::{fmt::Write as _, sync::Arc};

use agent::lock::Lock;
use client::{Drift, Severity, Tool};
use diagnostics::printable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Call, Output, listing::list_server, target::Target};
use crate::error::{ToolError, error_chain};

/// Maximum number of changes in the result.
const MAX_CHANGES: usize = 500;

pub(super) const METADATA: (&str, &str, &str) = (
    "diff_tools",
    "Compare two lists of tools",
    "Compares two tool lists, each given as JSON, as a lock file, or by a server, and classifies every change: breaking (valid \
     calls may now fail, or have an effect that the user did not approve), compatible or cosmetic. To check a change of a \
     server, keep the result of `list_tools` and compare it with the server afterwards.",
);

/// The two lists.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The old list.
    old: Side,
    /// The new list.
    new: Side,
}

/// One list: given, from a lock file, or from a server.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Side {
    /// The tools, as returned by `tools/list` or `list_tools`. Excludes `lock` and `server`.
    #[serde(default)]
    tools: Option<Vec<Map<String, Value>>>,
    /// The contents of a lock file from `mcp-workbench lock write`. Excludes `tools` and `server`.
    #[serde(default)]
    lock: Option<Map<String, Value>>,
    /// The server to list. Excludes `tools` and `lock`.
    #[serde(default)]
    server: Option<Target>,
}

/// Changes between two tool lists.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolDiff {
    /// The most severe change; absent without changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    severity: Option<ChangeSeverity>,
    /// Number of breaking changes.
    breaking: usize,
    /// Number of compatible changes.
    compatible: usize,
    /// Number of cosmetic changes.
    cosmetic: usize,
    /// The changes, by tool.
    changes: Vec<Changed>,
    /// Number of omitted changes.
    omitted: usize,
}

/// Severity of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum ChangeSeverity {
    /// Valid calls may now fail.
    Breaking,
    /// Existing calls stay valid.
    Compatible,
    /// Documentation only.
    Cosmetic,
}

/// One difference.
#[derive(Debug, Serialize, JsonSchema)]
struct Changed {
    /// The tool.
    tool: String,
    /// Severity.
    severity: ChangeSeverity,
    /// JSON pointer in the tool; empty for the tool itself.
    at: String,
    /// The change.
    what: String,
}

impl From<Severity> for ChangeSeverity {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Breaking => Self::Breaking,
            Severity::Compatible => Self::Compatible,
            Severity::Cosmetic => Self::Cosmetic,
        }
    }
}

pub(super) async fn diff_tools(call: Call, arguments: Arguments) -> Result<ToolDiff, ToolError> {
    let old = list("old", &call, arguments.old).await?;
    let new = list("new", &call, arguments.new).await?;
    let drift = Drift::between(&old, &new);
    let count = |severity| drift.with_severity(severity).count();
    Ok(ToolDiff {
        severity: drift.severity().map(ChangeSeverity::from),
        breaking: count(Severity::Breaking),
        compatible: count(Severity::Compatible),
        cosmetic: count(Severity::Cosmetic),
        omitted: drift.changes.len().saturating_sub(MAX_CHANGES),
        changes: drift
            .changes
            .into_iter()
            .take(MAX_CHANGES)
            .map(|change| Changed {
                tool: change.tool,
                severity: change.severity.into(),
                at: change.at,
                what: change.what,
            })
            .collect(),
    })
}

async fn list(which: &str, call: &Call, side: Side) -> Result<Vec<Arc<Tool>>, ToolError> {
    match (side.tools, side.lock, side.server) {
        (Some(tools), None, None) => tools.into_iter().map(|tool| parse_tool(which, tool)).collect(),
        (None, Some(lock), None) => match Lock::read(&Value::Object(lock).to_string()) {
            Ok(lock) => Ok(lock.tools()),
            Err(error) => Err(ToolError::arguments(format!("`{which}.lock` is invalid: {}", error_chain(&error)))),
        },
        (None, None, Some(server)) => Ok(list_server(call, &server, which).await?.0.tools.clone()),
        _ => Err(ToolError::arguments(format!("`{which}` must have exactly one of `tools`, `lock` and `server`"))),
    }
}

/// Parses a tool from `tools/list`, or from `list_tools`, which adds a qualified name.
pub(super) fn parse_tool(which: &str, mut tool: Map<String, Value>) -> Result<Arc<Tool>, ToolError> {
    tool.remove("qualifiedName");
    Tool::read(Value::Object(tool)).map(|(tool, _)| Arc::new(tool)).map_err(|rejected| {
        let name = rejected.name.unwrap_or_else(|| "(no name)".to_owned());
        ToolError::arguments(format!("tool `{name}` in `{which}` is invalid: {}", rejected.reason))
            .with_help("pass tools as returned by `tools/list`, with their `inputSchema`")
    })
}

impl Output for ToolDiff {
    fn text(&self) -> String {
        let Self { breaking, compatible, cosmetic, .. } = self;
        let mut text = if self.changes.is_empty() {
            "no changes".to_owned()
        } else {
            format!("{breaking} breaking, {compatible} compatible, {cosmetic} cosmetic changes\n")
        };
        for Changed { tool, severity, at, what } in &self.changes {
            let word = match severity {
                ChangeSeverity::Breaking => "BREAKING",
                ChangeSeverity::Compatible => "compatible",
                ChangeSeverity::Cosmetic => "cosmetic",
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{word} {}{}: {}", printable(tool), printable(at), printable(what));
        }
        text.trim_end().to_owned()
    }
}
