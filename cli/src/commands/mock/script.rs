//! `mock script`: the script of a recorded server, to be edited.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use mock_servers::Script;
use scenarios::recording::{Recording, script};

use crate::{
    error::{CommandError, CommandResult},
    print,
};

/// The arguments of `mock script`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Directory of the recording.
    #[arg(long, value_name = "RECORDING")]
    from: PathBuf,
}

/// Prints the script as JSON, which is YAML too.
pub(super) fn run(args: &Args) -> CommandResult {
    print::pretty_json(&recorded(&args.from)?)?;
    Ok(ExitCode::SUCCESS)
}

/// The script of a recording. Notes about what it cannot repeat go to standard error.
pub(super) fn recorded(directory: &Path) -> Result<Script, CommandError> {
    let recording = Recording::read(directory).map_err(CommandError::input)?;
    let made = script::script(&recording);
    made.notes.iter().for_each(|note| print::note(&format!("note: {note}")));
    Ok(made.script)
}
