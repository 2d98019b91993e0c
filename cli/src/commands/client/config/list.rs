//! `client list`: the configured servers, and errors in configuration files.

use std::process::ExitCode;

use agent::config::{Configuration, Configured};
use serde_json::{Value, json};

use super::Files;
use crate::{
    commands::client::error::{ClientCommandError, settle},
    error::{CommandResult, INPUT},
    print,
};

/// The arguments of `client list`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    /// Print JSON, including errors.
    #[arg(long)]
    json: bool,
}

/// Lists the servers. Invalid files are a result, with exit code 2.
pub(crate) fn run(args: &Args) -> CommandResult {
    settle(args.files.load().and_then(|configuration| print_servers(&configuration, args.json)), args.json)
}

fn print_servers(configuration: &Configuration, json: bool) -> Result<ExitCode, ClientCommandError> {
    if json {
        let servers: Vec<Value> = configuration.servers.iter().map(Configured::view).collect();
        let problems: Vec<String> = configuration.problems.iter().map(ToString::to_string).collect();
        print::json(&json!({ "servers": servers, "problems": problems }))?;
    } else {
        configuration.servers.iter().try_for_each(|server| print::text(&line(server)))?;
        if configuration.servers.is_empty() {
            print::text("no configured servers")?;
        }
        configuration.all_problems().for_each(|problem| print::note(&problem.to_string()));
    }
    let invalid = configuration.all_problems().any(agent::config::Diagnostic::is_error);
    Ok(if invalid { ExitCode::from(INPUT) } else { ExitCode::SUCCESS })
}

fn line(entry: &Configured) -> String {
    // Names from files may contain line breaks.
    let name = entry.name.replace('\n', " ");
    let scope = entry.scope;
    let Some(server) = &entry.server else { return format!("{name} ({scope}): invalid configuration") };
    let off = if entry.is_enabled() { "" } else { ", disabled" };
    format!("{name} ({scope}, {}{off}): {}", server.transport_name(), server.endpoint_line().replace('\n', " "))
}
