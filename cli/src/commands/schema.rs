//! `schema`: the JSON Schemas of the public formats, and conversion and comparison of tool schemas.

mod convert;
pub(super) mod diff;
mod listing;

use std::process::ExitCode;

use clap::Subcommand;

use crate::{error::CommandResult, print};

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
    /// Print the JSON Schema of the context that a client under test reads from MCP_CONFORMANCE_CONTEXT.
    Context,
    /// Print the JSON Schema of a line of the report of a client under test.
    Report,
    /// Print the JSON Schema of saved runs.
    Run,
    /// Print the JSON Schema of comparisons of runs.
    Comparison,
    /// Print the JSON Schema of mock server scripts, also used under `server:` in a scenario.
    Script,
    /// Print the JSON Schema of scripts of the mock authorization server.
    AuthorizationScript,
    /// Print the JSON Schema of project files.
    Project,
    /// Convert tool schemas to the format of a model provider.
    Convert(convert::Args),
    /// Compare two tool lists and classify each change.
    Diff(diff::Args),
}

/// Prints a schema, or converts or compares those of tools.
pub(crate) fn run(args: &Args) -> CommandResult {
    let (_, text) = match &args.kind {
        Kind::Scenario => scenarios::schema::schema_file(),
        Kind::Context => scenarios::schema::context_file(),
        Kind::Report => scenarios::schema::report_file(),
        Kind::Run => reports::schema_file(),
        Kind::Comparison => reports::comparison::schema_file(),
        Kind::Script => mock_servers::schema::script_file(),
        Kind::AuthorizationScript => mock_servers::schema::authorization_script_file(),
        Kind::Project => crate::project::schema_file(),
        Kind::Convert(args) => return convert::run(args),
        Kind::Diff(args) => return diff::run(args),
    };
    print::raw(&text)?;
    Ok(ExitCode::SUCCESS)
}
