//! `mock profiles`: the built-in scripts.

use std::process::ExitCode;

use anyhow::anyhow;
use mock_servers::profile::{self, ProfileError};
use serde_json::json;

use crate::{
    completion,
    error::{CommandError, CommandResult},
    print,
};

/// The arguments of `mock profiles`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print the YAML of this profile, as a start for your own script.
    #[arg(long, value_name = "PROFILE", conflicts_with = "json", add = completion::profiles())]
    show: Option<String>,
    /// Print the list as JSON: `[{"name", "about"}]`.
    #[arg(long)]
    json: bool,
}

/// Lists the profiles, or prints one.
pub(super) fn run(args: &Args) -> CommandResult {
    let text = match &args.show {
        Some(name) => profile::built_in(name).map(str::to_owned).ok_or_else(|| unknown(name))?,
        None if args.json => as_json(),
        None => as_text(),
    };
    print::raw(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn unknown(name: &str) -> CommandError {
    match profile::load(name) {
        Err(error @ ProfileError::Unknown { .. }) => CommandError::input(error),
        // A file of that name is a script of the user, not a profile.
        _ => CommandError::input(anyhow!("`{name}` is not a profile; `mcp-workbench mock profiles` lists them")),
    }
}

fn as_json() -> String {
    let profiles: Vec<_> =
        profile::names().map(|name| json!({ "name": name, "about": profile::about(name) })).collect();
    format!("{}\n", json!(profiles))
}

fn as_text() -> String {
    let width = profile::names().map(str::len).max().unwrap_or_default();
    profile::names().map(|name| format!("{name:width$}  {}\n", profile::about(name).unwrap_or_default())).collect()
}
