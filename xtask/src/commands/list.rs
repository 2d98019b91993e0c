//! `list`: which scenarios there are, and which cases they make.

use std::{io::Write as _, process::ExitCode};

use super::selection::SelectionArgs;
use crate::failure::{CommandResult, Failure};

/// The arguments of `list`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: SelectionArgs,
    /// Print the cases of each scenario too.
    #[arg(long)]
    cases: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Lists scenarios.
pub(crate) fn run(args: Args) -> CommandResult {
    let plan = args.selection.plan(args.selection.load()?, None, 0)?;
    let listing = plan.listing();
    let mut out = std::io::stdout().lock();
    let written = if args.json {
        let text = serde_json::to_string_pretty(&listing).map_err(Failure::fault)?;
        writeln!(out, "{text}")
    } else {
        listing.iter().try_for_each(|listed| {
            writeln!(out, "{}  ({} cases)\n    {}", listed.scenario, listed.cases.len(), listed.title)?;
            let mut cases = listed.cases.iter().filter(|_| args.cases);
            cases.try_for_each(|case| writeln!(out, "    - {case}"))
        })
    };
    written.map_err(Failure::environment)?;
    Ok(ExitCode::SUCCESS)
}
