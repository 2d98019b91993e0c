//! `mock stdio`: a mock server over stdio.

use std::{ffi::OsString, path::PathBuf};

use mock_servers::stdio::{self, StdioMock};

use scenarios::model::Revision;

use super::Common;
use crate::error::{CommandError, CommandResult};

/// The arguments of `mock stdio`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    common: Common,
    /// Count the starts of the server in this file.
    #[arg(long, value_name = "FILE")]
    runs: Option<PathBuf>,
}

/// Serves until stdin closes, a signal arrives or the script stops the server.
pub(super) fn run(args: Args) -> CommandResult {
    start(args.common, args.runs, false)
}

/// Serves with dates from the system clock, as `mock serve` does.
pub(super) fn serve(common: Common) -> CommandResult {
    start(common, None, true)
}

fn start(common: Common, runs: Option<PathBuf>, calendar: bool) -> CommandResult {
    let mock = StdioMock {
        script: common.script()?,
        revision: common.revision.unwrap_or(Revision::V2025_11_25).to_string(),
        seed: common.seed,
        calendar,
        recorder: common.recorder()?,
        run_file: runs,
        child_arguments: vec![OsString::from("mock"), OsString::from("child"), common.directory()],
    };
    stdio::run(mock).map_err(CommandError::environment)
}
