//! `client remove`: removes a server from a configuration file.

use std::process::ExitCode;

use agent::config::{Configured, Scope, edit::Edit};
use anyhow::anyhow;

use super::{EditedScope, Files, entry};
use crate::{
    commands::client::error::{ClientCommandError, settle},
    error::CommandResult,
};

/// The arguments of `client remove`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the server.
    name: String,
    /// Scope to remove it from; required if several scopes define it.
    #[arg(long, value_name = "SCOPE", conflicts_with = "config")]
    scope: Option<EditedScope>,
    #[command(flatten)]
    files: Files,
    /// Print JSON, including errors.
    #[arg(long)]
    json: bool,
}

/// Removes the server.
pub(crate) fn run(args: &Args) -> CommandResult {
    settle(remove(args), args.json)
}

fn remove(args: &Args) -> Result<ExitCode, ClientCommandError> {
    let scope = match args.scope {
        Some(scope) => scope.scope(),
        None => only_scope(entry(&args.files.load()?, &args.name)?)?,
    };
    let target = args.files.target(scope)?;
    target.edit(&Edit::Remove { name: args.name.clone() }, "removed from", args.json)?;
    Ok(ExitCode::SUCCESS)
}

/// The only scope that defines it.
fn only_scope(entry: &Configured) -> Result<Scope, ClientCommandError> {
    let ambiguous =
        |message: String, help: &str| Err(ClientCommandError::input("ambiguous", anyhow!(message)).with_help(help));
    if entry.scope == Scope::Plugin {
        return ambiguous(format!("`{}` belongs to a plugin", entry.name), "disable it with `client disable`");
    }
    let others: Vec<&str> = entry.hides.iter().map(|hidden| hidden.scope.as_str()).collect();
    if others.is_empty() {
        return Ok(entry.scope);
    }
    let message = format!("`{}` is configured in several scopes: {}, {}", entry.name, entry.scope, others.join(", "));
    ambiguous(message, "choose one with `--scope`")
}
