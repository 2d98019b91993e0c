//! The tools of this repository that need the client, the mock servers or other MCP implementations: feature tests, the
//! coverage of the specification, mutation tests, interoperability tests and benchmarks. `cargo xtask` builds and starts
//! them.

mod bench;
mod error;
mod features;
mod interop;
mod interrupt;
mod prove;
mod requirements;

use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use error::CommandResult;
use tracing_subscriber::EnvFilter;

/// Tools of this repository.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the tests behind each client feature and report the results.
    Features(features::Args),
    /// Report how many statements of the specification have a check.
    Requirements(requirements::Args),
    /// Validate servers with known defects, and correct servers, and report the defects that were not detected.
    Prove(prove::Args),
    /// Run interoperability tests against the official conformance suite and SDKs.
    Interop(interop::Args),
    /// Measure the mock servers and the client.
    #[command(subcommand)]
    Bench(bench::Command),
}

fn main() -> ExitCode {
    // First of all: this process may be a supervisor, which has to stay small.
    if let Some(code) = client::process::supervisor::main_if_requested() {
        return code;
    }
    let filter = EnvFilter::try_from_env("MCP_WORKBENCH_LOG").unwrap_or_else(|_| EnvFilter::new("off"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let result: CommandResult = match Cli::parse().command {
        Command::Features(args) => features::run(&args),
        Command::Requirements(args) => requirements::run(&args),
        Command::Prove(args) => prove::run(&args),
        Command::Interop(args) => interop::run(args),
        Command::Bench(command) => bench::run(&command),
    };
    result.unwrap_or_else(|error| error.report())
}

/// The root of the workspace.
fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}

/// The product, which cargo builds next to this program.
fn product() -> anyhow::Result<PathBuf> {
    let product = env::current_exe().context("cannot find this program")?.with_file_name("mcp-workbench");
    anyhow::ensure!(product.exists(), "{} does not exist; start this program with `cargo xtask`", product.display());
    Ok(product)
}
