//! Benchmarks of the mock servers and of the client. Only ratios within one run are judged.

mod client;
mod measure;
mod mock;

use clap::Subcommand;

use crate::error::CommandResult;

/// What to measure.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure the mock servers against minimal servers.
    Mock(mock::Args),
    /// Measure the client against rmcp, hyper and the TypeScript SDK.
    Client(client::Args),
}

/// Runs a benchmark.
pub(crate) fn run(command: &Command) -> CommandResult {
    match command {
        Command::Mock(args) => mock::run(args),
        Command::Client(args) => client::run(args),
    }
}
