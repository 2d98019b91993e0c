//! `report`: renders the journal of a run, or the finished cases of an interrupted run; several runs as one report.

use std::{fs::File, io::BufReader, path::PathBuf};

use anyhow::Context as _;
use reports::{Run, journal};

use crate::{
    error::{CommandError, CommandResult, exit_code},
    output::OutputArgs,
};

/// The arguments of `report`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Journal, or directory of the run; several with `--format html`.
    #[arg(required = true, value_name = "JOURNAL")]
    journals: Vec<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Renders journals. The exit code is that of the run, or that of the worst run.
pub(crate) fn run(args: &Args) -> CommandResult {
    let read = |path: &PathBuf| journal::read(open(path)?).map_err(CommandError::input);
    let runs = args.journals.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    if let Some(directory) = &args.output.output {
        std::fs::create_dir_all(directory).map_err(CommandError::environment)?;
    }
    match runs.as_slice() {
        [run] => args.output.show(run, args.output.output.as_deref())?,
        runs => args.output.show_combined(runs)?,
    }
    Ok(exit_code(runs.iter().all(Run::passed)))
}

/// Opens a journal, given its path or its directory.
pub(crate) fn open(path: &std::path::Path) -> Result<BufReader<File>, CommandError> {
    let file = if path.is_dir() { path.join("journal.jsonl") } else { path.to_owned() };
    let opened = File::open(&file).with_context(|| format!("cannot read the journal {}", file.display()));
    opened.map(BufReader::new).map_err(CommandError::input)
}
