//! `mock stdio`: a server behind standard input and output.

use std::{ffi::OsString, path::PathBuf};

use mock_servers::stdio::{self, StdioMock};

use scenarios::model::Revision;

use super::Common;
use crate::failure::{CommandResult, Failure};

/// The arguments of `mock stdio`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    common: Common,
    /// A file that counts how often the server was started.
    #[arg(long, value_name = "FILE")]
    runs: Option<PathBuf>,
}

/// Serves until the input ends, a signal comes or the script ends it.
pub(super) fn run(args: Args) -> CommandResult {
    start(args.common, args.runs, false)
}

/// The same as `mock serve` has it: by the calendar.
pub(super) fn serve(common: Common) -> CommandResult {
    start(common, None, true)
}

fn start(common: Common, runs: Option<PathBuf>, calendar: bool) -> CommandResult {
    let mock = StdioMock {
        script: common.source.read()?,
        revision: common.revision.unwrap_or(Revision::V2025_11_25).to_string(),
        seed: common.seed,
        calendar,
        recorder: common.recorder()?,
        run_file: runs,
        child_arguments: vec![OsString::from("mock"), OsString::from("child"), common.source.folder()],
    };
    stdio::run(mock).map_err(Failure::environment)
}
