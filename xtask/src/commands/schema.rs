//! `schema`: the JSON Schemas of the public formats.

use std::{io::Write as _, process::ExitCode};

use clap::ValueEnum;

use crate::failure::{CommandResult, Failure};

/// The arguments of `schema`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which format.
    format: PublicFormat,
}

/// A public format.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum PublicFormat {
    /// Scenario files.
    Scenario,
    /// Saved runs.
    Run,
    /// Scripts of mock servers, which also stand under `server:` in a scenario.
    Script,
    /// Scripts of the mock authorization server.
    AuthorizationScript,
}

/// Prints a schema.
pub(crate) fn run(args: &Args) -> CommandResult {
    let (_, text) = match args.format {
        PublicFormat::Scenario => scenarios::schema::schema_file(),
        PublicFormat::Run => reports::schema_file(),
        PublicFormat::Script => mock_servers::schema::script_file(),
        PublicFormat::AuthorizationScript => mock_servers::schema::authorization_script_file(),
    };
    std::io::stdout().write_all(text.as_bytes()).map_err(Failure::environment)?;
    Ok(ExitCode::SUCCESS)
}
