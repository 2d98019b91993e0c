//! `report`: renders the journal of a run, or the finished cases of an interrupted run.

use std::{fs::File, io::BufReader, path::PathBuf};

use anyhow::Context as _;
use reports::journal;

use crate::{
    error::{CommandError, CommandResult, exit_code},
    output::OutputArgs,
};

/// The arguments of `report`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Journal, or directory of the run.
    journal: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

/// Renders a journal. The exit code is that of the run.
pub(crate) fn run(args: &Args) -> CommandResult {
    let run = journal::read(open(&args.journal)?).map_err(CommandError::input)?;
    if let Some(directory) = &args.output.output {
        std::fs::create_dir_all(directory).map_err(CommandError::environment)?;
    }
    args.output.show(&run, args.output.output.as_deref())?;
    Ok(exit_code(run.passed()))
}

/// Opens a journal, given its path or its directory.
pub(crate) fn open(path: &std::path::Path) -> Result<BufReader<File>, CommandError> {
    let file = if path.is_dir() { path.join("journal.jsonl") } else { path.to_owned() };
    let opened = File::open(&file).with_context(|| format!("cannot read the journal {}", file.display()));
    opened.map(BufReader::new).map_err(CommandError::input)
}
