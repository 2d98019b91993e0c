//! `list_tools`: the tools of a server as a client sees them.

use std::fmt::Write as _;

use client::{Connection, NameLimit, Tool, ToolList, connect, qualified_name};
use mock_servers::reading::printable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Call, Output, target::Target};
use crate::trouble::Trouble;

/// The most tools that are told; servers with more have their lists cut here.
const TOOLS: usize = 500;
/// The most characters of a description in the text; the value holds the whole.
const SHORT: usize = 160;

pub(super) const WORDS: (&str, &str, &str) = (
    "list_tools",
    "List the tools of a server",
    "Connects to a server and lists its tools as a client sees them: all pages, the names that models get, descriptions, schemas, \
     annotations, and which tools had to be left out and why. No tool is called.",
);

/// Whose tools.
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
    /// The revision of the protocol that was spoken.
    revision: String,
    /// The transport.
    transport: String,
    /// The tools, in the server's order.
    tools: Vec<Listed>,
    /// The tools that cannot be used.
    rejected: Vec<Rejected>,
    /// How many tools are left out here, because there are too many.
    left_out: usize,
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

pub(super) async fn list_tools(call: Call, arguments: Arguments) -> Result<Listing, Trouble> {
    let name = arguments.name.as_deref().unwrap_or("server");
    let (list, connection) = of_server(&call, &arguments.server, name).await?;
    let schemas = arguments.schemas.unwrap_or(true);
    Ok(Listing {
        revision: connection.revision().to_string(),
        transport: serde_json::to_value(connection.transport())
            .ok()
            .and_then(|word| word.as_str().map(str::to_owned))
            .unwrap_or_default(),
        tools: list.tools.iter().take(TOOLS).map(|tool| Listed::new(name, tool, schemas)).collect(),
        rejected: list
            .rejected
            .iter()
            .take(TOOLS)
            .map(|rejected| Rejected { name: rejected.name.clone(), reason: rejected.reason.clone() })
            .collect(),
        left_out: list.tools.len().saturating_sub(TOOLS),
    })
}

/// The tools of a server, and the connection that told them, which is closed by now.
pub(super) async fn of_server(
    call: &Call,
    server: &Target,
    name: &str,
) -> Result<(std::sync::Arc<ToolList>, Connection), Trouble> {
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
        () = call.cancel.cancelled() => Err(Trouble::cancelled()),
        () = call.workbench.over().cancelled() => Err(Trouble::new("closing", "the workbench is closing")),
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
            format!("{} tools over {} in {}\n", self.tools.len() + self.left_out, self.transport, self.revision);
        for tool in &self.tools {
            let words = tool.description.as_deref().unwrap_or("(no description)");
            let short: String = words.lines().next().unwrap_or_default().chars().take(SHORT).collect();
            // A string takes everything that is written to it.
            let _ = writeln!(text, "{} ({}): {}", printable(&tool.name), tool.qualified_name, printable(&short));
        }
        for Rejected { name, reason } in &self.rejected {
            let name = name.as_deref().unwrap_or("a tool without a name");
            let _ = writeln!(text, "left out: {}: {}", printable(name), printable(reason));
        }
        text.trim_end().to_owned()
    }
}
