//! `report`: the journal of a run, rendered. The journal of an interrupted run is rendered as far as it goes.

use std::{fs::File, io::BufReader, path::PathBuf};

use anyhow::Context as _;
use reports::journal;

use crate::{
    failure::{CommandResult, Failure, held},
    output::OutputArgs,
};

/// The arguments of `report`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The journal, or the folder of the run.
    journal: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

/// Renders a journal. The exit code is that of the run.
pub(crate) fn run(args: &Args) -> CommandResult {
    let run = journal::read(open(&args.journal)?).map_err(Failure::input)?;
    if let Some(folder) = &args.output.output {
        std::fs::create_dir_all(folder).map_err(Failure::environment)?;
    }
    args.output.show(&run, args.output.output.as_deref())?;
    Ok(held(run.passed()))
}

/// Opens a journal, named by itself or by its folder.
pub(crate) fn open(path: &std::path::Path) -> Result<BufReader<File>, Failure> {
    let file = if path.is_dir() { path.join("journal.jsonl") } else { path.to_owned() };
    let opened = File::open(&file).with_context(|| format!("cannot read the journal {}", file.display()));
    opened.map(BufReader::new).map_err(Failure::input)
}
