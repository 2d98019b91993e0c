//! Tools from a file: a list of them in any of its usual forms, one tool, or a bare schema.

use std::{fs, io::Read as _, sync::Arc};

use agent::lock::Lock;
use anyhow::{Context as _, anyhow};
use client::{NameLimit, RejectedTool, Tool, qualified_name};
use serde_json::{Value, json};

use crate::failure::Failure;

/// The name of a tool that is made of a bare schema.
const BARE: &str = "tool";

/// Some tools.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// What the server is called, where that is known.
    pub(crate) server: Option<String>,
    /// Those that can be used.
    pub(crate) tools: Vec<Arc<Tool>>,
    /// Those that cannot.
    pub(crate) rejected: Vec<RejectedTool>,
}

impl Listing {
    /// Reads a file, or standard input for `-`.
    pub(crate) fn read(file: &str) -> Result<Self, Failure> {
        let mut text = String::new();
        if file == "-" {
            std::io::stdin()
                .read_to_string(&mut text)
                .context("standard input cannot be read")
                .map_err(Failure::input)?;
        } else {
            text =
                fs::read_to_string(file).with_context(|| format!("{file} cannot be read")).map_err(Failure::input)?;
        }
        let value: Value =
            serde_json::from_str(&text).with_context(|| format!("{file} is not JSON")).map_err(Failure::input)?;
        if value.get("format").is_some() && value.get("revision").is_some() {
            let lock = Lock::read(&text).with_context(|| file.to_owned()).map_err(Failure::input)?;
            return Ok(Self { tools: lock.tools(), server: Some(lock.server.name), rejected: Vec::new() });
        }
        Self::of(value).ok_or_else(|| {
            let wrong = anyhow!("{file} holds neither tools nor a schema");
            Failure::input(wrong).advise("give a schema, a tool, or the result of tools/list")
        })
    }

    fn of(value: Value) -> Option<Self> {
        // A whole answer, as a log has it.
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

    /// The tools under the names that a model calls them by: with the server in front where it is known.
    pub(crate) fn named(&self) -> impl Iterator<Item = (String, &Tool)> {
        self.tools.iter().map(|tool| {
            let name = match &self.server {
                Some(server) => qualified_name(server, tool.name(), NameLimit::Chars64),
                None => tool.name().to_owned(),
            };
            (name, tool.as_ref())
        })
    }
}
