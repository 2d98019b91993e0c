//! `mock profiles`: which scripts are ready to be used.

use std::{io::Write as _, process::ExitCode};

use anyhow::anyhow;
use mock_servers::profile::{self, ProfileError};
use serde_json::json;

use crate::failure::{CommandResult, Failure};

/// The arguments of `mock profiles`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print this profile as the YAML that it is, to be copied or extended.
    #[arg(long, value_name = "PROFILE", conflicts_with = "json")]
    show: Option<String>,
    /// Print the list as JSON: `[{"name", "about"}]`.
    #[arg(long)]
    json: bool,
}

/// Lists the profiles, or shows one.
pub(super) fn run(args: &Args) -> CommandResult {
    let text = match &args.show {
        Some(name) => profile::built_in(name).map(str::to_owned).ok_or_else(|| unknown(name))?,
        None if args.json => as_json(),
        None => as_text(),
    };
    std::io::stdout().write_all(text.as_bytes()).map_err(Failure::environment)?;
    Ok(ExitCode::SUCCESS)
}

fn unknown(name: &str) -> Failure {
    match profile::load(name) {
        Err(error @ ProfileError::Unknown { .. }) => Failure::input(error),
        // A file of that name is a script that somebody has, and can show without this program.
        _ => Failure::input(anyhow!("`{name}` is no profile; `mcp-workbench mock profiles` lists them")),
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
