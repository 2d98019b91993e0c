//! `completions`: a completion script for a shell.

use std::process::ExitCode;

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::{cli::Cli, failure::CommandResult};

/// The arguments of `completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell.
    shell: Shell,
}

/// Prints the script.
pub(crate) fn run(args: &Args) -> CommandResult {
    clap_complete::generate(args.shell, &mut Cli::command(), "mcp-workbench", &mut std::io::stdout());
    Ok(ExitCode::SUCCESS)
}
