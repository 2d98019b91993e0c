//! The command line: which commands there are. Their arguments stand beside their code.

use clap::{Parser, Subcommand};

use crate::{
    commands::{
        bench, check, ci, client, completions, conformance, features, interop, judge, list, lock, mock, report, schema,
        serve, tidy, validate,
    },
    failure::CommandResult,
};

/// The workbench for Model Context Protocol clients and servers.
#[derive(Debug, Parser)]
#[command(
    name = "mcp-workbench",
    version,
    after_help = "Exit codes: 0 all held; 1 a verdict or threshold failed; 2 the input is wrong; 3 the environment \
                  failed; 4 a fault of the workbench. Set MCP_WORKBENCH_LOG=debug for a log on standard error."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What can be asked for.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run scenarios against a client: the built-in one, or yours.
    Conformance(conformance::Args),
    /// Judge a server: one that is launched, or one behind a URL.
    Validate(validate::Args),
    /// Put a load on a server and measure how it takes it.
    Bench(bench::Args),
    /// Render the journal of a run, of an interrupted one too.
    Report(report::Args),
    /// Judge the evidence in a journal once more.
    Judge(judge::Args),
    /// List the scenarios and their cases.
    List(list::Args),
    /// Check scenario files without running them.
    Check(check::Args),
    /// Be a mock server.
    Mock(mock::Args),
    /// Convert and compare the schemas of tools, or print the JSON Schema of a public format.
    Schema(schema::Args),
    /// Hold a server to the tools that it once had.
    Lock(lock::Args),
    /// Print a completion script for a shell.
    Completions(completions::Args),
    /// Hold the conventions of this repository.
    Tidy(tidy::Args),
    /// What a complete client has, each feature with what shows it and whether that holds.
    Features(features::Args),
    /// Everything that has to pass before a change is taken: format, lints, tests, conventions, conformance, features.
    Ci(ci::Args),
    /// Try the mock servers with the official conformance suite, and with clients on the official SDKs.
    Interop(interop::Args),
    /// Be a client: connect to a server, and use what it offers.
    Client(client::Args),
    /// Be an MCP server with which coding agents test theirs, over stdio or HTTP; or serve the management API.
    Serve(serve::Args),
}

impl Command {
    /// Carries the command out.
    pub(crate) fn run(self) -> CommandResult {
        match self {
            Self::Conformance(args) => conformance::run(args),
            Self::Validate(args) => validate::run(args),
            Self::Bench(args) => bench::run(args),
            Self::Report(args) => report::run(&args),
            Self::Judge(args) => judge::run(&args),
            Self::List(args) => list::run(args),
            Self::Check(args) => check::run(&args),
            Self::Mock(args) => mock::run(args),
            Self::Schema(args) => schema::run(&args),
            Self::Lock(args) => lock::run(args),
            Self::Completions(args) => completions::run(&args),
            Self::Tidy(args) => tidy::run(&args),
            Self::Features(args) => features::run(&args),
            Self::Ci(args) => ci::run(&args),
            Self::Interop(args) => interop::run(args),
            Self::Client(args) => client::run(args),
            Self::Serve(args) => serve::run(&args),
        }
    }
}
