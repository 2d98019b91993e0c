//! `check`: reads scenario files and says what is wrong with them, without running anything.

use std::{io::Write as _, path::PathBuf, process::ExitCode};

use scenarios::{catalogue::Catalogue, load::Vocabulary};

use crate::failure::{CommandResult, Failure};

/// The arguments of `check`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Scenario files, or folders of them.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
}

/// Checks scenario files.
pub(crate) fn run(args: &Args) -> CommandResult {
    let loaded = Catalogue::load(&args.paths, Vocabulary::built_in()).map_err(Failure::input)?;
    writeln!(std::io::stdout(), "{} scenarios are in order", loaded.entries().len()).map_err(Failure::environment)?;
    Ok(ExitCode::SUCCESS)
}
