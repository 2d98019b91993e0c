//! `requirements`: how many statements of the specification have a check.
//!
//! `scenarios/requirements/statements/` contains the statements. The command fails if fewer MUST and SHOULD statements
//! that bind servers have a check than the threshold demands, in any revision.

mod coverage;
mod print;

use scenarios::{model::Revision, statements::statements};
use serde::Serialize;

use self::coverage::{RevisionCoverage, ServerTests};
use crate::error::{CommandError, CommandResult, exit_code};

/// Default of `--threshold`: the percentage that was reached when it was last raised.
const THRESHOLD: f64 = 90.0;

/// The arguments of `requirements`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Revision to report [default: all].
    #[arg(long, value_name = "REVISION")]
    revision: Option<Revision>,
    /// List the statements that are observable and have no check.
    #[arg(long)]
    gaps: bool,
    /// Minimum percentage, in each revision, of observable MUST and SHOULD statements on servers that have a check.
    #[arg(long, value_name = "PERCENT", default_value_t = THRESHOLD)]
    threshold: f64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What the command prints.
#[derive(Debug, Serialize)]
struct Report {
    passed: bool,
    threshold: f64,
    revisions: Vec<RevisionCoverage>,
}

/// Counts the statements and prints the coverage.
pub(crate) fn run(args: &Args) -> CommandResult {
    let statements = statements().map_err(CommandError::input)?;
    let tests = ServerTests::built_in().map_err(CommandError::internal)?;
    let wanted = statements.into_iter().filter(|(revision, _)| args.revision.is_none_or(|only| only == *revision));
    let revisions: Vec<RevisionCoverage> =
        wanted.map(|(revision, statements)| RevisionCoverage::new(revision, &statements, &tests)).collect();
    let passed = revisions.iter().all(|revision| revision.servers.percent() >= args.threshold);
    let report = Report { passed, threshold: args.threshold, revisions };
    let printed = if args.json { print::json(&report) } else { print::tables(&report, args.gaps) };
    printed.map_err(CommandError::environment)?;
    Ok(exit_code(report.passed))
}
