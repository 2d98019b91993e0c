//! `completions`: a completion script for a shell.

use std::process::ExitCode;

use clap_complete::{Shell, env::Shells};

use crate::{
    completion::VARIABLE,
    error::{CommandError, CommandResult},
    print,
};

/// The name of the program in a command line.
const PROGRAM: &str = "mcp-workbench";

/// The arguments of `completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell.
    shell: Shell,
}

/// Prints a script that runs the `mcp-workbench` of the `PATH` for each completion.
pub(crate) fn run(args: &Args) -> CommandResult {
    let mut script = Vec::new();
    let (shells, shell) = (Shells::builtins(), args.shell.to_string());
    let completer = shells.completer(&shell);
    let completer = completer.ok_or_else(|| CommandError::internal(anyhow::anyhow!("no completion for {shell}")))?;
    completer.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script).map_err(CommandError::internal)?;
    print::raw(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
