//! `schema`: the JSON Schemas of the public formats, and what becomes of the schemas of tools.

mod convert;
pub(super) mod diff;
mod listing;

use std::{io::Write as _, process::ExitCode};

use clap::Subcommand;

use crate::failure::{CommandResult, Failure};

/// The arguments of `schema`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Debug, Subcommand)]
enum Kind {
    /// Print the JSON Schema of scenario files.
    Scenario,
    /// Print the JSON Schema of saved runs.
    Run,
    /// Print the JSON Schema of scripts of mock servers, which also stand under `server:` in a scenario.
    Script,
    /// Print the JSON Schema of scripts of the mock authorization server.
    AuthorizationScript,
    /// Convert the schemas of tools to what a model provider takes.
    Convert(convert::Args),
    /// Tell what has changed between two lists of tools, and whether callers have to care.
    Diff(diff::Args),
}

/// Prints a schema, or does what is asked with those of tools.
pub(crate) fn run(args: &Args) -> CommandResult {
    let (_, text) = match &args.kind {
        Kind::Scenario => scenarios::schema::schema_file(),
        Kind::Run => reports::schema_file(),
        Kind::Script => mock_servers::schema::script_file(),
        Kind::AuthorizationScript => mock_servers::schema::authorization_script_file(),
        Kind::Convert(args) => return convert::run(args),
        Kind::Diff(args) => return diff::run(args),
    };
    std::io::stdout().write_all(text.as_bytes()).map_err(Failure::environment)?;
    Ok(ExitCode::SUCCESS)
}
