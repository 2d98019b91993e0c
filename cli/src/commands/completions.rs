//! `completions`: a completion script for a shell.

use std::process::ExitCode;

use clap_complete::Shell;

use crate::{error::CommandResult, print};

/// The arguments of `completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell.
    shell: Shell,
}

/// Prints the script.
pub(crate) fn run(args: &Args, mut command: clap::Command) -> CommandResult {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "mcp-workbench", &mut script);
    print::raw(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
