//! `client conformance`: the built-in client as the official conformance suite drives it (its `SDK_INTEGRATION.md`).
//!
//! The suite starts a server, then this program with the server's URL as its last argument; what it is to do follows from
//! the name of the scenario. What was right is the suite's to judge: this program only fails where nothing could be done.

mod auth;
mod run;
mod user;

use std::process::ExitCode;

use anyhow::{Context as _, anyhow};
use serde_json::Value;

use crate::{
    error::{CommandError, CommandResult},
    interrupt,
};

/// Names the scenario.
const SCENARIO: &str = "MCP_CONFORMANCE_SCENARIO";
/// What the scenario gives away, as JSON: credentials, or the calls to make.
const CONTEXT: &str = "MCP_CONFORMANCE_CONTEXT";
/// The revision that the suite has resolved.
const PROTOCOL_VERSION: &str = "MCP_CONFORMANCE_PROTOCOL_VERSION";

/// The arguments of `client conformance`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The URL of the server.
    url: String,
}

/// What the suite asks for.
#[derive(Debug, Clone)]
pub(super) struct Request {
    /// The URL of the server.
    pub(super) url: String,
    /// The name of the scenario.
    pub(super) scenario: String,
    /// What the scenario gives away; null if nothing.
    pub(super) context: Value,
    /// The revision, if the suite has said one.
    pub(super) revision: Option<String>,
}

/// Does what the scenario asks for.
pub(crate) fn run(args: Args) -> CommandResult {
    let scenario = std::env::var(SCENARIO).with_context(|| format!("{SCENARIO} is not usable"));
    let context = match std::env::var(CONTEXT) {
        Ok(text) => serde_json::from_str(&text).with_context(|| format!("{CONTEXT} is not JSON")),
        Err(std::env::VarError::NotPresent) => Ok(Value::Null),
        Err(cause) => Err(anyhow!("{CONTEXT} is not usable: {cause}")),
    };
    let request = Request {
        url: args.url,
        scenario: scenario.map_err(CommandError::input)?,
        context: context.map_err(CommandError::input)?,
        revision: std::env::var(PROTOCOL_VERSION).ok(),
    };
    interrupt::runtime()?.block_on(async {
        tokio::select! {
            done = run::scenario(&request) => done.map_err(CommandError::environment),
            () = interrupt::requested() => Err(CommandError::environment(anyhow!("interrupted"))),
        }
    })?;
    Ok(ExitCode::SUCCESS)
}
