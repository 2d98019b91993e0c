//! `client enable` and `client disable`.
//!
//! A server of the user is switched in its entry. A shared server or one of a plugin is added to the user's list of
//! disabled servers for this project, unless `--scope` is given.

use std::process::ExitCode;

use agent::config::{Configured, Scope, edit::Edit};
use anyhow::anyhow;

use super::{ConfigFileTarget, EntryArgs, Files, NameArgs, entry};
use crate::{
    commands::client::error::{ClientCommandError, settle},
    error::CommandResult,
    print,
};

/// Enables a server.
pub(crate) fn enable(args: &EntryArgs) -> CommandResult {
    settle(switch(args, true), args.server.json)
}

/// Disables a server.
pub(crate) fn disable(args: &EntryArgs) -> CommandResult {
    settle(switch(args, false), args.server.json)
}

fn switch(args: &EntryArgs, enabled: bool) -> Result<ExitCode, ClientCommandError> {
    let NameArgs { name, files, json } = &args.server;
    let json = *json;
    let in_entry = Edit::Enable { name: name.clone(), enabled };
    let done = if enabled { "enabled in" } else { "disabled in" };
    if let Some(scope) = args.scope {
        files.target(scope.scope())?.edit(&in_entry, done, json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let configuration = files.load()?;
    let entry = entry(&configuration, name)?;
    let in_list = Edit::List { name: name.clone(), disabled: !enabled };
    let own = matches!(entry.scope, Scope::Explicit | Scope::Local | Scope::User);
    let entry_is_on = entry.server.as_ref().is_none_or(|server| server.enabled);
    match (enabled, listing(entry, files)?) {
        _ if entry.is_enabled() == enabled => {
            let word = if enabled { "enabled" } else { "disabled" };
            print::note(&format!("`{name}` is already {word}"));
        }
        (true, Some(target)) => {
            target.edit(&in_list, done, json)?;
            if own && !entry_is_on {
                files.target(entry.scope)?.edit(&in_entry, done, json)?;
            }
        }
        _ if own => files.target(entry.scope)?.edit(&in_entry, done, json)?,
        (false, _) => files.target(Scope::Local)?.edit(&in_list, done, json)?,
        (true, None) => {}
    }
    if enabled && !own && !entry_is_on {
        let error = ClientCommandError::input("shared", anyhow!("`{name}` is disabled in the shared configuration"));
        return Err(error.with_help("`--scope project` enables it there"));
    }
    Ok(ExitCode::SUCCESS)
}

/// The file whose list disables it.
fn listing(entry: &Configured, files: &Files) -> Result<Option<ConfigFileTarget>, ClientCommandError> {
    let Some(file) = &entry.disabled_in else { return Ok(None) };
    for scope in [Scope::Local, Scope::User] {
        let target = files.target(scope)?;
        if target.path.display().to_string() == *file {
            return Ok(Some(target));
        }
    }
    Ok(None)
}
