//! `client`: the built-in client, for people at a terminal and for conformance cases. One file a command.

mod conformance;
mod drive;

use clap::Subcommand;

use crate::failure::CommandResult;

/// The arguments of `client`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Debug, Subcommand)]
enum Kind {
    /// Do what the context of a conformance case says.
    #[command(hide = true)]
    Drive(drive::Args),
    /// Do what a scenario of the official conformance suite asks of a client.
    #[command(hide = true)]
    Conformance(conformance::Args),
}

/// Is a client.
pub(crate) fn run(args: Args) -> CommandResult {
    match args.kind {
        Kind::Drive(args) => drive::run(args),
        Kind::Conformance(args) => conformance::run(args),
    }
}
