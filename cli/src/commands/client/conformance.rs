//! `client conformance`: the built-in client in the official conformance suite (its `SDK_INTEGRATION.md`).
//!
//! The suite starts a server, then this program with the URL of the server as the last argument. The name of the scenario
//! selects the actions. The suite judges them; this program fails only if it cannot execute an action.

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

/// Variable with the name of the scenario.
const SCENARIO: &str = "MCP_CONFORMANCE_SCENARIO";
/// Variable with the context of the scenario as JSON: credentials, or the calls to make.
const CONTEXT: &str = "MCP_CONFORMANCE_CONTEXT";
/// Variable with the revision.
const PROTOCOL_VERSION: &str = "MCP_CONFORMANCE_PROTOCOL_VERSION";

/// The arguments of `client conformance`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// URL of the server.
    url: String,
}

/// A scenario to execute.
#[derive(Debug, Clone)]
pub(super) struct Request {
    /// URL of the server.
    pub(super) url: String,
    /// Name of the scenario.
    pub(super) scenario: String,
    /// Context of the scenario, or null.
    pub(super) context: Value,
    /// Revision, if the suite specifies one.
    pub(super) revision: Option<String>,
}

/// Executes the scenario.
pub(crate) fn run(args: Args) -> CommandResult {
    let scenario = std::env::var(SCENARIO).with_context(|| format!("invalid {SCENARIO}"));
    let context = match std::env::var(CONTEXT) {
        Ok(text) => serde_json::from_str(&text).with_context(|| format!("{CONTEXT} is not JSON")),
        Err(std::env::VarError::NotPresent) => Ok(Value::Null),
        Err(cause) => Err(anyhow!("invalid {CONTEXT}: {cause}")),
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
