//! `man`: man pages of all commands.

use std::{fs, path::PathBuf, process::ExitCode};

use crate::{
    error::{CommandError, CommandResult},
    print,
};

/// The arguments of `man`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Directory for the pages of all commands; without it, the page of the program is printed.
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Writes or prints the pages.
pub(crate) fn run(args: &Args, command: clap::Command) -> CommandResult {
    let Some(directory) = &args.output else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page).map_err(CommandError::internal)?;
        print::raw(&String::from_utf8_lossy(&page))?;
        return Ok(ExitCode::SUCCESS);
    };
    fs::create_dir_all(directory).map_err(CommandError::environment)?;
    clap_mangen::generate_to(command, directory).map_err(CommandError::environment)?;
    Ok(ExitCode::SUCCESS)
}
