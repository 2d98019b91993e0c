//! `client`: this program as the built-in client.

use std::process::ExitCode;

use clap::Subcommand;
use scenarios::{contract, drive};

use crate::{
    failure::{CommandResult, Failure},
    interrupt,
};

/// The arguments of `client`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Debug, Subcommand)]
enum Kind {
    /// Do what the context of a conformance case says.
    Drive {
        /// The URL of the server, which the context names too.
        url: Option<String>,
    },
}

/// Is a client.
pub(crate) fn run(args: Args) -> CommandResult {
    let Kind::Drive { .. } = args.kind;
    let context = std::env::var(contract::CONTEXT)
        .map_err(|cause| Failure::input(anyhow::anyhow!("{} is not usable: {cause}", contract::CONTEXT)))?;
    let context: contract::Context = serde_json::from_str(&context).map_err(Failure::input)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::environment)?;
    runtime.block_on(async {
        tokio::select! {
            driven = drive::drive(&context) => driven.map_err(Failure::environment),
            () = interrupt::asked() => Ok(()),
        }
    })?;
    Ok(ExitCode::SUCCESS)
}
