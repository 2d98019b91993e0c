//! The product, `mcp-workbench`: the only crate that prints and exits, apart from the tools of this repository.
//!
//! Each command is one file in `commands`. This module parses the command line, runs the command, and turns its result
//! into an exit code; see [`error`] for the codes.

mod cli;
mod commands;
mod completion;
mod error;
mod interrupt;
mod load_view;
mod output;
mod print;
mod progress;
mod project;
mod run;
mod system;
mod transport;
mod watch;

use std::process::ExitCode;

use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    // First of all: this process may be a supervisor, which has to stay small.
    if let Some(code) = client::process::supervisor::main_if_requested() {
        return code;
    }
    completion::complete_if_requested(<cli::Cli as clap::CommandFactory>::command);
    let filter = EnvFilter::try_from_env("MCP_WORKBENCH_LOG").unwrap_or_else(|_| EnvFilter::new("off"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let cli = match cli::parse(std::env::args_os().collect()) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    match cli.command.run() {
        Ok(code) => code,
        Err(error) => error.report(),
    }
}
