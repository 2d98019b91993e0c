//! `client drive`: the built-in client as the subject of a conformance case.

use std::process::ExitCode;

use scenarios::{contract, drive};

use crate::{
    error::{CommandError, CommandResult},
    interrupt,
};

/// The arguments of `client drive`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// URL of the server; the context contains it too.
    url: Option<String>,
}

/// Executes the steps in the context of the case.
pub(crate) fn run(args: Args) -> CommandResult {
    // The runner appends the URL for any client. The context contains it too.
    let Args { url: _ } = args;
    let context = std::env::var(contract::CONTEXT)
        .map_err(|cause| CommandError::input(anyhow::anyhow!("invalid {}: {cause}", contract::CONTEXT)))?;
    let context: contract::Context = serde_json::from_str(&context).map_err(CommandError::input)?;
    let runtime = interrupt::runtime_on_one_thread()?;
    runtime.block_on(async {
        tokio::select! {
            driven = drive::drive(&context) => driven.map_err(CommandError::environment),
            () = interrupt::requested() => Ok(()),
        }
    })?;
    Ok(ExitCode::SUCCESS)
}
