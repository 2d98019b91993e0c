//! Benchmarks of the mock servers, of the client and of the host of an agent. Ratios are judged within one run.

mod client;
mod host;
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
    /// Measure the host of an agent with 50 servers and 5,000 tools.
    Host(host::Args),
}

/// Runs a benchmark.
pub(crate) fn run(command: &Command) -> CommandResult {
    match command {
        Command::Mock(args) => mock::run(args),
        Command::Client(args) => client::run(args),
        Command::Host(args) => host::run(args),
    }
}
