//! `list_tools`: lists the tools of a server.

use std::fmt::Write as _;

use client::{Connection, NameLimit, Tool, ToolList, connect, qualified_name};
use diagnostics::printable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Call, Output, target::Target};
use crate::error::ToolError;

/// Maximum number of tools in the result.
const MAX_TOOLS: usize = 500;
/// Maximum length of a description in the summary; the value has all of it.
const MAX_SUMMARY: usize = 160;

pub(super) const METADATA: (&str, &str, &str) = (
    "list_tools",
    "List the tools of a server",
    "Connects to a server and lists its tools as a client sees them: all pages, the names that models get, descriptions, schemas, \
     annotations, and tools that were omitted with the reason. No tool is called.",
);

/// Server and name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Arguments {
    /// The server.
    server: Target,
    /// The name of the server, which becomes a part of the names that models get; absent: `server`.
    #[serde(default)]
    name: Option<String>,
    /// Whether the schemas are listed too; absent: yes.
    #[serde(default)]
    schemas: Option<bool>,
}

/// The tools of a server.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Listing {
    /// Negotiated protocol revision.
    revision: String,
    /// The transport.
    transport: String,
    /// The tools, in the server's order.
    tools: Vec<Listed>,
    /// The tools that cannot be used.
    rejected: Vec<Rejected>,
    /// Number of omitted tools.
    omitted: usize,
}

/// A tool.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Listed {
    /// As the server calls it.
    name: String,
    /// As models get it: at most 64 characters of the alphabet that every provider accepts.
    qualified_name: String,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// For models.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// The schema of its arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    input_schema: Option<Map<String, Value>>,
    /// The schema of its structured results.
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<Map<String, Value>>,
    /// Hints, never promises.
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<Map<String, Value>>,
}

/// A tool that cannot be used.
#[derive(Debug, Serialize, JsonSchema)]
struct Rejected {
    /// Its name, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Why.
    reason: String,
}

pub(super) async fn list_tools(call: Call, arguments: Arguments) -> Result<Listing, ToolError> {
    let name = arguments.name.as_deref().unwrap_or("server");
    let (list, connection) = of_server(&call, &arguments.server, name).await?;
    let schemas = arguments.schemas.unwrap_or(true);
    Ok(Listing {
        revision: connection.revision().to_string(),
        transport: serde_json::to_value(connection.transport())
            .ok()
            .and_then(|word| word.as_str().map(str::to_owned))
            .unwrap_or_default(),
        tools: list.tools.iter().take(MAX_TOOLS).map(|tool| Listed::new(name, tool, schemas)).collect(),
        rejected: list
            .rejected
            .iter()
            .take(MAX_TOOLS)
            .map(|rejected| Rejected { name: rejected.name.clone(), reason: rejected.reason.clone() })
            .collect(),
        omitted: list.tools.len().saturating_sub(MAX_TOOLS),
    })
}

/// The tools of a server, and the connection that told them, which is closed by now.
pub(super) async fn of_server(
    call: &Call,
    server: &Target,
    name: &str,
) -> Result<(std::sync::Arc<ToolList>, Connection), ToolError> {
    let config = server.config(name, call.workbench.settings())?;
    let asked = async {
        let connection = connect(config).await?;
        let list = connection.list_tools().await;
        connection.close().await;
        Ok((list?, connection))
    };
    // It is short, and waits for no run; it is given up like one.
    tokio::select! {
        biased;
        () = call.cancel.cancelled() => Err(ToolError::cancelled()),
        () = call.workbench.over().cancelled() => Err(ToolError::new("closing", "the workbench is closing")),
        outcome = asked => outcome,
    }
}

impl Listed {
    fn new(server: &str, tool: &Tool, schemas: bool) -> Self {
        Self {
            name: tool.name().to_owned(),
            qualified_name: qualified_name(server, tool.name(), NameLimit::Chars64),
            title: tool.title().map(str::to_owned),
            description: tool.description().map(str::to_owned),
            input_schema: tool.input_schema().filter(|_| schemas).cloned(),
            output_schema: tool.output_schema().filter(|_| schemas).cloned(),
            annotations: tool.annotations().cloned(),
        }
    }
}

impl Output for Listing {
    fn text(&self) -> String {
        let mut text =
            format!("{} tools over {} in {}\n", self.tools.len() + self.omitted, self.transport, self.revision);
        for tool in &self.tools {
            let words = tool.description.as_deref().unwrap_or("(no description)");
            let short: String = words.lines().next().unwrap_or_default().chars().take(MAX_SUMMARY).collect();
            // A string takes everything that is written to it.
            let _ = writeln!(text, "{} ({}): {}", printable(&tool.name), tool.qualified_name, printable(&short));
        }
        for Rejected { name, reason } in &self.rejected {
            let name = name.as_deref().unwrap_or("a tool without a name");
            let _ = writeln!(text, "omitted: {}: {}", printable(name), printable(reason));
        }
        text.trim_end().to_owned()
    }
}
