//! `schema diff`: what has changed between two lists of tools.

use client::{Drift, Severity};

use super::listing::Listing;
use crate::{
    commands::client::say,
    failure::{CommandResult, Failure, held},
};

/// The arguments of `schema diff`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file as it was: a schema, a tool, the result of tools/list, or a lock file.
    old: String,
    /// The file as it is.
    new: String,
    /// From which severity on the command fails.
    #[arg(long, value_name = "SEVERITY", default_value = "breaking")]
    fail_on: Least,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A severity, on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Least {
    /// A call that was right may now be wrong.
    Breaking,
    /// Old calls stay right.
    Compatible,
    /// Words only.
    Cosmetic,
}

impl From<Least> for Severity {
    fn from(least: Least) -> Self {
        match least {
            Least::Breaking => Self::Breaking,
            Least::Compatible => Self::Compatible,
            Least::Cosmetic => Self::Cosmetic,
        }
    }
}

/// Compares them.
pub(crate) fn run(args: &Args) -> CommandResult {
    let (old, new) = (Listing::read(&args.old)?, Listing::read(&args.new)?);
    for rejected in old.rejected.iter().chain(&new.rejected) {
        say::aside(&format!("{}: left out: {}", rejected.name.as_deref().unwrap_or("a tool"), rejected.reason));
    }
    let drift = Drift::between(&old.tools, &new.tools);
    tell(&drift, args.json)?;
    Ok(held(drift.severity().is_none_or(|worst| worst < args.fail_on.into())))
}

/// Prints the changes, the gravest first.
pub(crate) fn tell(drift: &Drift, json: bool) -> Result<(), Failure> {
    if json {
        let value = serde_json::to_value(drift).map_err(Failure::fault)?;
        return say::json(&value);
    }
    for (severity, word) in
        [(Severity::Breaking, "breaking"), (Severity::Compatible, "compatible"), (Severity::Cosmetic, "cosmetic")]
    {
        for change in drift.of(severity) {
            let whose = if change.tool.is_empty() { "the server" } else { &change.tool };
            // A name is one line, whatever the server thinks.
            say::text(&format!("{word}: {whose}: {change}").replace('\n', " "))?;
        }
    }
    Ok(())
}
