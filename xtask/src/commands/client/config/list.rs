//! `client list`: which servers are configured, and what is wrong with files.

use std::process::ExitCode;

use agent::config::{Configuration, Configured};
use serde_json::{Value, json};

use super::{Files, say};
use crate::{
    commands::client::trouble::{Trouble, settle},
    failure::{CommandResult, INPUT},
};

/// The arguments of `client list`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    /// Print JSON, failures included.
    #[arg(long)]
    json: bool,
}

/// Lists them. Files that are wrong are an answer, and an exit code.
pub(crate) fn run(args: &Args) -> CommandResult {
    settle(args.files.load().and_then(|configuration| tell(&configuration, args.json)), args.json)
}

fn tell(configuration: &Configuration, json: bool) -> Result<ExitCode, Trouble> {
    if json {
        let servers: Vec<Value> = configuration.servers.iter().map(Configured::view).collect();
        let problems: Vec<String> = configuration.problems.iter().map(ToString::to_string).collect();
        say::json(&json!({ "servers": servers, "problems": problems }))?;
    } else {
        configuration.servers.iter().try_for_each(|server| say::text(&line(server)))?;
        if configuration.servers.is_empty() {
            say::text("no server is configured")?;
        }
        configuration.all_problems().for_each(|problem| say::aside(&problem.to_string()));
    }
    let wrong = configuration.all_problems().any(agent::config::Problem::is_error);
    Ok(if wrong { ExitCode::from(INPUT) } else { ExitCode::SUCCESS })
}

fn line(entry: &Configured) -> String {
    // A name is one line, whatever its file says.
    let name = entry.name.replace('\n', " ");
    let scope = entry.scope;
    let Some(server) = &entry.server else { return format!("{name} ({scope}): not configured well") };
    let off = if entry.is_enabled() { "" } else { ", disabled" };
    format!("{name} ({scope}, {}{off}): {}", server.transport_name(), server.place().replace('\n', " "))
}
