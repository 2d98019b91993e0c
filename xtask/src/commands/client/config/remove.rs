//! `client remove`: a server is taken out of a file of configuration.

use std::process::ExitCode;

use agent::config::{Configured, Scope, edit::Edit};
use anyhow::anyhow;

use super::{EditedScope, Files, entry};
use crate::{
    commands::client::trouble::{Trouble, settle},
    failure::CommandResult,
};

/// The arguments of `client remove`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The server.
    name: String,
    /// Whose configuration it is taken out of; needed where several have it.
    #[arg(long, value_name = "SCOPE", conflicts_with = "config")]
    scope: Option<EditedScope>,
    #[command(flatten)]
    files: Files,
    /// Print JSON, failures included.
    #[arg(long)]
    json: bool,
}

/// Takes it away.
pub(crate) fn run(args: &Args) -> CommandResult {
    settle(remove(args), args.json)
}

fn remove(args: &Args) -> Result<ExitCode, Trouble> {
    let scope = match args.scope {
        Some(scope) => scope.scope(),
        None => only_scope(entry(&args.files.load()?, &args.name)?)?,
    };
    let place = args.files.place(scope)?;
    place.edit(&Edit::Remove { name: args.name.clone() }, "removed from", args.json)?;
    Ok(ExitCode::SUCCESS)
}

/// The one scope that has it.
fn only_scope(entry: &Configured) -> Result<Scope, Trouble> {
    let refuse = |message: String, advice: &str| Err(Trouble::input("ambiguous", anyhow!(message)).advise(advice));
    if entry.scope == Scope::Plugin {
        return refuse(format!("`{}` belongs to a plugin", entry.name), "`client disable` keeps it from being used");
    }
    let others: Vec<&str> = entry.hides.iter().map(|hidden| hidden.scope.as_str()).collect();
    if others.is_empty() {
        return Ok(entry.scope);
    }
    let message = format!("`{}` is configured more than once: {}, {}", entry.name, entry.scope, others.join(", "));
    refuse(message, "say which with `--scope`")
}
