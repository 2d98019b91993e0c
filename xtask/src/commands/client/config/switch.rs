//! `client enable` and `client disable`: whether a configured server may be used.
//!
//! What the user wrote is switched in its entry. What is shared, or comes from a plugin, stays as it is unless `--scope` says
//! otherwise: it is put on the user's own list of servers that are not to be used in this project.

use std::process::ExitCode;

use agent::config::{Configured, Scope, edit::Edit};
use anyhow::anyhow;

use super::{EditedScope, Files, Place, entry, say};
use crate::{
    commands::client::trouble::{Trouble, settle},
    failure::CommandResult,
};

/// The arguments of `client enable` and `client disable`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The server.
    name: String,
    /// In whose configuration its entry is switched.
    #[arg(long, value_name = "SCOPE", conflicts_with = "config")]
    scope: Option<EditedScope>,
    #[command(flatten)]
    files: Files,
    /// Print JSON, failures included.
    #[arg(long)]
    json: bool,
}

/// Lets it be used.
pub(crate) fn enable(args: &Args) -> CommandResult {
    settle(switch(args, true), args.json)
}

/// Keeps it from being used.
pub(crate) fn disable(args: &Args) -> CommandResult {
    settle(switch(args, false), args.json)
}

fn switch(args: &Args, enabled: bool) -> Result<ExitCode, Trouble> {
    let name = &args.name;
    let in_entry = Edit::Enable { name: name.clone(), enabled };
    let done = if enabled { "enabled in" } else { "disabled in" };
    if let Some(scope) = args.scope {
        args.files.place(scope.scope())?.edit(&in_entry, done, args.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let configuration = args.files.load()?;
    let entry = entry(&configuration, name)?;
    let in_list = Edit::List { name: name.clone(), disabled: !enabled };
    let own = matches!(entry.scope, Scope::Given | Scope::Local | Scope::User);
    let entry_is_on = entry.server.as_ref().is_none_or(|server| server.enabled);
    match (enabled, listing(entry, &args.files)?) {
        _ if entry.is_enabled() == enabled => {
            let word = if enabled { "enabled" } else { "disabled" };
            say::aside(&format!("`{name}` is {word} already"));
        }
        (true, Some(place)) => {
            place.edit(&in_list, done, args.json)?;
            if own && !entry_is_on {
                args.files.place(entry.scope)?.edit(&in_entry, done, args.json)?;
            }
        }
        _ if own => args.files.place(entry.scope)?.edit(&in_entry, done, args.json)?,
        (false, _) => args.files.place(Scope::Local)?.edit(&in_list, done, args.json)?,
        (true, None) => {}
    }
    if enabled && !own && !entry_is_on {
        let shared =
            Trouble::input("shared", anyhow!("`{name}` is switched off where it is configured, for everybody"));
        return Err(shared.advise("`--scope project` switches it on there"));
    }
    Ok(ExitCode::SUCCESS)
}

/// The file whose list says that it is not to be used.
fn listing(entry: &Configured, files: &Files) -> Result<Option<Place>, Trouble> {
    let Some(file) = &entry.disabled_in else { return Ok(None) };
    for scope in [Scope::Local, Scope::User] {
        let place = files.place(scope)?;
        if place.path.display().to_string() == *file {
            return Ok(Some(place));
        }
    }
    Ok(None)
}
