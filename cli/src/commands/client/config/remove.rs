//! `client remove`: removes a server from a configuration file, and the stored secret of its client.

use std::process::ExitCode;

use agent::config::{Configuration, Configured, Scope, edit::Edit};
use anyhow::anyhow;
use client::auth::credentials::CredentialKey;

use super::{EntryArgs, NameArgs, entry, secret, settings};
use crate::{
    commands::client::error::{ClientCommandError, settle},
    error::CommandResult,
    print,
};

/// Removes the server. The scope is required if several define it.
pub(crate) fn run(args: &EntryArgs) -> CommandResult {
    settle(remove(args), args.server.json)
}

fn remove(args: &EntryArgs) -> Result<ExitCode, ClientCommandError> {
    let NameArgs { name, files, json } = &args.server;
    let configuration = files.load()?;
    let scope = match args.scope {
        Some(scope) => scope.scope(),
        None => only_scope(entry(&configuration, name)?)?,
    };
    let unused = unused_secret(&configuration, name, scope);
    files.target(scope)?.edit(&Edit::Remove { name: name.clone() }, "removed from", *json)?;
    if let Some(key) = unused
        && let Err(error) = secret::remove(&key)
    {
        print::note(&format!("the secret of its client may remain: {}", error.into_inner().message()));
    }
    Ok(ExitCode::SUCCESS)
}

/// The key of the secret that no server has any more without this entry.
fn unused_secret(configuration: &Configuration, name: &str, scope: Scope) -> Option<CredentialKey> {
    // Settings with errors do not keep an entry in the file.
    let settings = settings().ok()?;
    let entry = configuration.entry(name).ok().filter(|entry| entry.scope == scope && entry.hides.is_empty())?;
    let key = secret::key(entry, &settings)?;
    let others = configuration.servers.iter().filter(|other| other.name != name);
    let is_used = others.filter_map(|other| secret::key(other, &settings)).any(|other| other == key);
    (!is_used).then_some(key)
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
