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
    pub(super) common: Common,
    /// A file that counts how often the server was started.
    #[arg(long, value_name = "FILE")]
    pub(super) runs: Option<PathBuf>,
}

/// Serves until the input ends, a signal comes or the script ends it.
pub(super) fn run(args: Args) -> CommandResult {
    let Args { common, runs } = args;
    let mock = StdioMock {
        script: common.source.read()?,
        revision: common.revision.unwrap_or(Revision::V2025_11_25).to_string(),
        seed: common.seed,
        recorder: common.recorder()?,
        run_file: runs,
        child_arguments: vec![OsString::from("mock"), OsString::from("child"), common.source.folder()],
    };
    stdio::run(mock).map_err(Failure::environment)
}
