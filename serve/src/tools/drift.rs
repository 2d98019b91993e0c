//! `diff_tools`: what has changed between two lists of tools, and whether their callers have to care.

use std::{fmt::Write as _, sync::Arc};

use agent::lock::Lock;
use client::{Drift, Severity, Tool};
use mock_servers::reading::printable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Call, Output, listing::of_server, target::Target};
use crate::trouble::{Trouble, in_full};

/// The most changes that are told.
const CHANGES: usize = 500;

pub(super) const WORDS: (&str, &str, &str) = (
    "diff_tools",
    "Compare two lists of tools",
    "Compares two lists of tools, each given as it is, taken from a lock file, or asked of a server, and says of every difference whether it is breaking (a \
     call that was right may now be wrong, or do what the user was not told about), compatible or cosmetic. To see what a change \
     of a server means, keep the tools that `list_tools` gives, and compare them with the server afterwards.",
);

/// Which lists.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The list that callers know.
    old: Side,
    /// The list as it is now.
    new: Side,
}

/// One list: given, locked, or asked of a server.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Side {
    /// The tools, each as `tools/list` or `list_tools` gives it. Either this, `lock` or `server`.
    #[serde(default)]
    tools: Option<Vec<Map<String, Value>>>,
    /// What a lock file holds, as `mcp-workbench lock write` writes it.
    #[serde(default)]
    lock: Option<Map<String, Value>>,
    /// The server to ask.
    #[serde(default)]
    server: Option<Target>,
}

/// What is different.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Difference {
    /// The gravest of the changes; absent where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    severity: Option<Grave>,
    /// How many are breaking.
    breaking: usize,
    /// How many are compatible.
    compatible: usize,
    /// How many are cosmetic.
    cosmetic: usize,
    /// The changes, by tool.
    changes: Vec<Changed>,
    /// How many of them are left out here.
    left_out: usize,
}

/// How much a change matters to a caller who knows the old list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Grave {
    /// A call that was right may now be wrong.
    Breaking,
    /// Old calls stay right.
    Compatible,
    /// Words only.
    Cosmetic,
}

/// One difference.
#[derive(Debug, Serialize, JsonSchema)]
struct Changed {
    /// The tool.
    tool: String,
    /// How much it matters.
    severity: Grave,
    /// The place inside the tool, as a JSON pointer; empty for the tool itself.
    at: String,
    /// What happened there.
    what: String,
}

impl From<Severity> for Grave {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Breaking => Self::Breaking,
            Severity::Compatible => Self::Compatible,
            Severity::Cosmetic => Self::Cosmetic,
        }
    }
}

pub(super) async fn diff_tools(call: Call, arguments: Arguments) -> Result<Difference, Trouble> {
    let old = list("old", &call, arguments.old).await?;
    let new = list("new", &call, arguments.new).await?;
    let drift = Drift::between(&old, &new);
    let count = |severity| drift.of(severity).count();
    Ok(Difference {
        severity: drift.severity().map(Grave::from),
        breaking: count(Severity::Breaking),
        compatible: count(Severity::Compatible),
        cosmetic: count(Severity::Cosmetic),
        left_out: drift.changes.len().saturating_sub(CHANGES),
        changes: drift
            .changes
            .into_iter()
            .take(CHANGES)
            .map(|change| Changed {
                tool: change.tool,
                severity: change.severity.into(),
                at: change.at,
                what: change.what,
            })
            .collect(),
    })
}

async fn list(which: &str, call: &Call, side: Side) -> Result<Vec<Arc<Tool>>, Trouble> {
    match (side.tools, side.lock, side.server) {
        (Some(tools), None, None) => tools.into_iter().map(|tool| given(which, tool)).collect(),
        (None, Some(lock), None) => match Lock::read(&Value::Object(lock).to_string()) {
            Ok(lock) => Ok(lock.tools()),
            Err(error) => Err(Trouble::arguments(format!("the lock of `{which}` is none: {}", in_full(&error)))),
        },
        (None, None, Some(server)) => Ok(of_server(call, &server, which).await?.0.tools.clone()),
        _ => Err(Trouble::arguments(format!("`{which}` has one of `tools`, `lock` and `server`"))),
    }
}

/// A tool of the wire, or one of `list_tools`, which has a name for models beside its own.
pub(super) fn given(which: &str, mut tool: Map<String, Value>) -> Result<Arc<Tool>, Trouble> {
    tool.remove("qualifiedName");
    Tool::read(Value::Object(tool)).map(|(tool, _)| Arc::new(tool)).map_err(|rejected| {
        let name = rejected.name.unwrap_or_else(|| "(no name)".to_owned());
        Trouble::arguments(format!("the tool `{name}` of `{which}` is none: {}", rejected.reason))
            .advise("give tools as `tools/list` has them, with their `inputSchema`")
    })
}

impl Output for Difference {
    fn text(&self) -> String {
        let Self { breaking, compatible, cosmetic, .. } = self;
        let mut text = if self.changes.is_empty() {
            "nothing has changed".to_owned()
        } else {
            format!("{breaking} breaking, {compatible} compatible, {cosmetic} cosmetic changes\n")
        };
        for Changed { tool, severity, at, what } in &self.changes {
            let word = match severity {
                Grave::Breaking => "BREAKING",
                Grave::Compatible => "compatible",
                Grave::Cosmetic => "cosmetic",
            };
            // A string takes everything that is written to it.
            let _ = writeln!(text, "{word} {}{}: {}", printable(tool), printable(at), printable(what));
        }
        text.trim_end().to_owned()
    }
}
