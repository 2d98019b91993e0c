//! `schema diff`: changes between two tool lists.

use client::{Drift, Severity};

use super::listing::Listing;
use crate::{
    error::{CommandError, CommandResult, exit_code},
    print,
};

/// The arguments of `schema diff`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The old file: a schema, a tool, the result of tools/list, or a lock file.
    old: String,
    /// The new file.
    new: String,
    /// Least severe change that fails the command.
    #[arg(long, value_name = "SEVERITY", default_value = "breaking")]
    fail_on: SeverityArg,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A severity, on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SeverityArg {
    /// Valid calls may now fail.
    Breaking,
    /// Old calls stay valid.
    Compatible,
    /// Documentation only.
    Cosmetic,
}

impl From<SeverityArg> for Severity {
    fn from(severity: SeverityArg) -> Self {
        match severity {
            SeverityArg::Breaking => Self::Breaking,
            SeverityArg::Compatible => Self::Compatible,
            SeverityArg::Cosmetic => Self::Cosmetic,
        }
    }
}

/// Compares them.
pub(crate) fn run(args: &Args) -> CommandResult {
    let (old, new) = (Listing::read(&args.old)?, Listing::read(&args.new)?);
    for rejected in old.rejected.iter().chain(&new.rejected) {
        print::note(&format!("{}: rejected: {}", rejected.name.as_deref().unwrap_or("a tool"), rejected.reason));
    }
    let drift = Drift::between(&old.tools, &new.tools);
    print_changes(&drift, args.json)?;
    Ok(exit_code(drift.severity().is_none_or(|worst| worst < args.fail_on.into())))
}

/// Prints the changes, most severe first.
pub(crate) fn print_changes(drift: &Drift, json: bool) -> Result<(), CommandError> {
    if json {
        let value = serde_json::to_value(drift).map_err(CommandError::internal)?;
        return print::json(&value);
    }
    for (severity, word) in
        [(Severity::Breaking, "breaking"), (Severity::Compatible, "compatible"), (Severity::Cosmetic, "cosmetic")]
    {
        for change in drift.with_severity(severity) {
            let owner = if change.tool.is_empty() { "the server" } else { &change.tool };
            // Names from servers may contain line breaks.
            print::text(&format!("{word}: {owner}: {change}").replace('\n', " "))?;
        }
    }
    Ok(())
}
