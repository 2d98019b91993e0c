//! `client drive`: the built-in client as the subject of a conformance case.

use std::process::ExitCode;

use scenarios::{contract, drive};

use crate::{
    failure::{CommandResult, Failure},
    interrupt,
};

/// The arguments of `client drive`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The URL of the server, which the context names too.
    url: Option<String>,
}

/// Does what the context of the case says.
pub(crate) fn run(args: Args) -> CommandResult {
    // A client is started with the URL as its last argument; this one reads the context, which says the same and more.
    let Args { url: _ } = args;
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
