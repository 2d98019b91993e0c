//! `report`: renders the journal of a run, or the finished cases of an interrupted run; several runs as one report. Its
//! subcommands compare and merge runs.

mod diff;
mod merge;

use std::{
    fs::File,
    io::BufReader,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use reports::{Run, journal};

use crate::{
    error::{CommandError, CommandResult, exit_code},
    output::OutputArgs,
};

/// The arguments of `report`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    kind: Option<Kind>,
    /// Journal, or directory of the run; several with `--format html`.
    #[arg(required = true, value_name = "JOURNAL")]
    journals: Vec<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, clap::Subcommand)]
enum Kind {
    /// Compare two runs: what broke, what was fixed, and what became slower.
    Diff(diff::Args),
    /// Merge the journals of several runs, such as shards of one plan.
    Merge(merge::Args),
}

/// Renders journals, or compares or merges them. The exit code of a report is that of the run, or that of the worst run.
pub(crate) fn run(args: &Args) -> CommandResult {
    match &args.kind {
        Some(Kind::Diff(args)) => return diff::run(args),
        Some(Kind::Merge(args)) => return merge::run(args),
        None => {}
    }
    let runs = args.journals.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    if let Some(directory) = &args.output.output {
        std::fs::create_dir_all(directory).map_err(CommandError::environment)?;
    }
    match runs.as_slice() {
        [run] => args.output.show(run, args.output.output.as_deref())?,
        runs => args.output.show_combined(runs)?,
    }
    Ok(exit_code(runs.iter().all(Run::passed)))
}

/// Reads the run of a journal, given its path or its directory. Errors name the file and the line.
fn read(path: &Path) -> Result<Run, CommandError> {
    let file = file(path);
    let run = journal::read(open(path)?).with_context(|| format!("cannot read the journal {}", file.display()));
    run.map_err(CommandError::input)
}

/// The journal of a path or a directory.
fn file(path: &Path) -> PathBuf {
    if path.is_dir() { path.join("journal.jsonl") } else { path.to_owned() }
}

/// Opens a journal, given its path or its directory.
pub(crate) fn open(path: &Path) -> Result<BufReader<File>, CommandError> {
    let file = file(path);
    let opened = File::open(&file).with_context(|| format!("cannot read the journal {}", file.display()));
    opened.map(BufReader::new).map_err(CommandError::input)
}
