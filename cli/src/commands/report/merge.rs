//! `report merge`: writes one journal from several.

use std::{
    fs::{self, File},
    io::{self, BufReader, BufWriter},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, anyhow};
use reports::journal::{Merge, MergeError};

use super::{file, read};
use crate::{
    error::{CommandError, CommandResult},
    print,
};

/// The arguments of `report merge`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Journals or directories of the runs.
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Directory for the merged journal.
    #[arg(long, value_name = "DIR")]
    output: PathBuf,
    /// If several runs have the same case, use the result of the last one instead of failing.
    #[arg(long)]
    replace: bool,
}

/// Merges the runs.
pub(crate) fn run(args: &Args) -> CommandResult {
    let runs = args.runs.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    let merge = Merge::new(runs, args.replace).map_err(|error| rejected(error, &args.runs))?;
    let target = args.output.join("journal.jsonl");
    if args.runs.iter().any(|path| same_file(&file(path), &target)) {
        return Err(CommandError::input(anyhow!("{} is one of the runs to merge", target.display()))
            .with_help("choose another directory with --output"));
    }
    write(&merge, &args.runs, &args.output, &target)?;
    print::line(&format!(
        "{} results of {} runs are in {} ({} replaced)",
        merge.results(),
        args.runs.len(),
        target.display(),
        merge.replaced()
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a new file and renames it, so that a failure leaves no partial journal.
fn write(merge: &Merge, runs: &[PathBuf], directory: &Path, target: &Path) -> Result<(), CommandError> {
    let failed = || format!("cannot write {}", target.display());
    fs::create_dir_all(directory).with_context(failed).map_err(CommandError::environment)?;
    let partial = directory.join("journal.jsonl.partial");
    let mut out = BufWriter::new(File::create(&partial).with_context(failed).map_err(CommandError::environment)?);
    let written = merge.write(|position| File::open(file(&runs[position])).map(BufReader::new), &mut out);
    drop(out);
    if let Err(error) = written {
        // The error explains more than a failure to remove the file.
        let _ = fs::remove_file(&partial);
        return Err(match error {
            MergeError::Write(_) => CommandError::environment(error),
            error => CommandError::input(error),
        });
    }
    fs::rename(&partial, target).with_context(failed).map_err(CommandError::environment)
}

/// The error with the names of the runs.
fn rejected(error: MergeError, runs: &[PathBuf]) -> CommandError {
    let list = |position: &usize| runs.get(position - 1).map(|path| format!("\n  run {position}: {}", path.display()));
    let (numbers, help) = match &error {
        MergeError::Duplicate { first, second, .. } => {
            (vec![*first, *second], Some("add `--replace` to use the result of the later run"))
        }
        MergeError::Kind { run } | MergeError::Policy { run } => (vec![1, *run], None),
        MergeError::Empty | MergeError::Read(_) | MergeError::Write(_) => (vec![], None),
    };
    let names: String = numbers.iter().filter_map(list).collect();
    let error = CommandError::input(anyhow!("{error}{names}"));
    match help {
        Some(help) => error.with_help(help),
        None => error,
    }
}

fn same_file(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| -> io::Result<PathBuf> { fs::canonicalize(path) };
    matches!((real(one), real(other)), (Ok(one), Ok(other)) if one == other)
}
