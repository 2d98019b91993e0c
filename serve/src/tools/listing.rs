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
    "Connects to a server and lists its tools as a client sees them: all pages, qualified names, descriptions, schemas, \
     annotations, and omitted tools with the reason. No tool is called.",
);

/// Server and name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Arguments {
    /// The server.
    server: Target,
    /// Name of the server, which becomes part of qualified tool names. Default: `server`.
    #[serde(default)]
    name: Option<String>,
    /// Whether to include schemas. Default: true.
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
    /// Name on the server.
    name: String,
    /// Qualified name for models: at most 64 characters that every provider accepts.
    qualified_name: String,
    /// Title for users.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// Description for models.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// Schema of the arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    input_schema: Option<Map<String, Value>>,
    /// Schema of structured results.
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<Map<String, Value>>,
    /// Annotations, which are untrusted hints.
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<Map<String, Value>>,
}

/// A tool that cannot be used.
#[derive(Debug, Serialize, JsonSchema)]
struct Rejected {
    /// Name, if the tool has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Reason of the rejection.
    reason: String,
}

pub(super) async fn list_tools(call: Call, arguments: Arguments) -> Result<Listing, ToolError> {
    let name = arguments.name.as_deref().unwrap_or("server");
    let (list, connection) = list_server(&call, &arguments.server, name).await?;
    let schemas = arguments.schemas.unwrap_or(true);
    Ok(Listing {
        revision: connection.revision().to_string(),
        transport: serde_json::to_value(connection.transport())
            .ok()
            .and_then(|name| name.as_str().map(str::to_owned))
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

/// Lists the tools of a server; returns them and the closed connection.
pub(super) async fn list_server(
    call: &Call,
    server: &Target,
    name: &str,
) -> Result<(std::sync::Arc<ToolList>, Connection), ToolError> {
    let config = server.config(name, call.workbench.settings())?;
    let request = async {
        let connection = connect(config).await?;
        let list = connection.list_tools().await;
        connection.close().await;
        Ok((list?, connection))
    };
    // The request is short, so it does not wait for the active run. It is cancelled like a run.
    tokio::select! {
        biased;
        () = call.cancel.cancelled() => Err(ToolError::cancelled()),
        () = call.workbench.closing().cancelled() => Err(ToolError::new("closing", "the workbench is closing")),
        outcome = request => outcome,
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
            let description = tool.description.as_deref().unwrap_or("(no description)");
            let short: String = description.lines().next().unwrap_or_default().chars().take(MAX_SUMMARY).collect();
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{} ({}): {}", printable(&tool.name), tool.qualified_name, printable(&short));
        }
        for Rejected { name, reason } in &self.rejected {
            let name = name.as_deref().unwrap_or("a tool without a name");
            let _ = writeln!(text, "omitted: {}: {}", printable(name), printable(reason));
        }
        text.trim_end().to_owned()
    }
}
