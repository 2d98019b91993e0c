//! Tools from a file: a tool list in any usual form, one tool, or a schema.

use std::{fs, io::Read as _, sync::Arc};

use agent::lock::Lock;
use anyhow::{Context as _, anyhow};
use client::{NameLimit, RejectedTool, Tool, qualified_name};
use serde_json::{Value, json};

use crate::error::CommandError;

/// Name of the tool that a schema without a tool gets.
const BARE: &str = "tool";

/// Tools from a file or a server.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// Name of the server, if known.
    pub(crate) server: Option<String>,
    /// Usable tools.
    pub(crate) tools: Vec<Arc<Tool>>,
    /// Tools with invalid definitions.
    pub(crate) rejected: Vec<RejectedTool>,
}

impl Listing {
    /// Reads a file, or stdin for `-`.
    pub(crate) fn read(file: &str) -> Result<Self, CommandError> {
        let mut text = String::new();
        if file == "-" {
            std::io::stdin().read_to_string(&mut text).context("cannot read stdin").map_err(CommandError::input)?;
        } else {
            text =
                fs::read_to_string(file).with_context(|| format!("cannot read {file}")).map_err(CommandError::input)?;
        }
        let value: Value =
            serde_json::from_str(&text).with_context(|| format!("{file} is not JSON")).map_err(CommandError::input)?;
        if value.get("format").is_some() && value.get("revision").is_some() {
            let lock = Lock::read(&text).with_context(|| file.to_owned()).map_err(CommandError::input)?;
            return Ok(Self { tools: lock.tools(), server: Some(lock.server.name), rejected: Vec::new() });
        }
        Self::from_value(value).ok_or_else(|| {
            let wrong = anyhow!("{file} contains neither tools nor a schema");
            CommandError::input(wrong).with_help("expected a schema, a tool, or the result of tools/list")
        })
    }

    fn from_value(value: Value) -> Option<Self> {
        // A whole response, as logs contain it.
        let value = match value.pointer("/result/tools") {
            Some(_) => value["result"].clone(),
            None => value,
        };
        let server = value.get("server").and_then(Value::as_str).map(str::to_owned);
        let items = match &value {
            Value::Array(items) => items.clone(),
            Value::Object(map) if map.get("tools").is_some_and(Value::is_array) => map["tools"].as_array()?.clone(),
            Value::Object(map) if map.contains_key("name") && map.contains_key("inputSchema") => vec![value.clone()],
            Value::Object(_) => vec![json!({ "name": BARE, "inputSchema": value })],
            _ => return None,
        };
        let mut listing = Self { server, ..Self::default() };
        for item in items {
            match Tool::read(item) {
                Ok((tool, complaint)) => {
                    listing.tools.push(tool.into());
                    listing.rejected.extend(complaint);
                }
                Err(rejected) => listing.rejected.push(rejected),
            }
        }
        Some(listing)
    }

    /// The tools with their names for a model: their own, or with the server as a prefix, as agents with several servers
    /// use them.
    pub(crate) fn named(&self, qualify: bool) -> impl Iterator<Item = (String, &Tool)> {
        self.tools.iter().map(move |tool| {
            let name = match &self.server {
                Some(server) if qualify => qualified_name(server, tool.name(), NameLimit::Chars64),
                _ => tool.name().to_owned(),
            };
            (name, tool.as_ref())
        })
    }
}
