//! `client remove`: removes a server from a configuration file.

use std::process::ExitCode;

use agent::config::{Configured, Scope, edit::Edit};
use anyhow::anyhow;

use super::{EntryArgs, NameArgs, entry};
use crate::{
    commands::client::error::{ClientCommandError, settle},
    error::CommandResult,
};

/// Removes the server. The scope is required if several define it.
pub(crate) fn run(args: &EntryArgs) -> CommandResult {
    settle(remove(args), args.server.json)
}

fn remove(args: &EntryArgs) -> Result<ExitCode, ClientCommandError> {
    let NameArgs { name, files, json } = &args.server;
    let scope = match args.scope {
        Some(scope) => scope.scope(),
        None => only_scope(entry(&files.load()?, name)?)?,
    };
    files.target(scope)?.edit(&Edit::Remove { name: name.clone() }, "removed from", *json)?;
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
