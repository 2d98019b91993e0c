//! `bench locustfile`: writes the file that a Locust master of `bench worker` runs.

use std::{io::Write as _, path::PathBuf, process::ExitCode};

use anyhow::{Context as _, anyhow};
use scenarios::bench::locust::LOCUSTFILE;

use crate::{
    error::{CommandError, CommandResult},
    print,
};

/// The arguments of `bench locustfile`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// File to write; an existing one is kept [default: standard output].
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace an existing file.
    #[arg(long, requires = "output")]
    force: bool,
}

/// Writes the file.
pub(super) fn run(args: &Args) -> CommandResult {
    let Some(path) = &args.output else {
        print::raw(LOCUSTFILE)?;
        return Ok(ExitCode::SUCCESS);
    };
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(!args.force).create(true).truncate(args.force);
    let written = options.open(path).and_then(|mut file| file.write_all(LOCUSTFILE.as_bytes()));
    match written {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(cause) if cause.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(CommandError::input(anyhow!("{} exists", path.display())).with_help("add `--force` to replace it"))
        }
        Err(cause) => {
            Err(cause).with_context(|| format!("cannot write {}", path.display())).map_err(CommandError::environment)
        }
    }
}
