//! The one program that prints and exits: `cargo xtask` in this repository, `mcp-workbench` once installed.
//!
//! Each command is one file in `commands`. This module reads the command line, hands over, and turns what comes back
//! into an exit code; see [`failure`] for what the codes mean.

mod baseline;
mod cargo;
mod cli;
mod commands;
mod failure;
mod interrupt;
mod output;
mod progress;
mod run_folder;
mod tidy;

use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    // Before anything else: this process may be a supervisor, which has to stay small and alone.
    if let Some(code) = client::process::supervisor::main_if_requested() {
        return code;
    }
    let filter = EnvFilter::try_from_env("MCP_WORKBENCH_LOG").unwrap_or_else(|_| EnvFilter::new("off"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    match cli::Cli::parse().command.run() {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}
