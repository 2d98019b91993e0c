//! Options and output of both benchmarks.

use std::io::Write as _;

use anyhow::anyhow;
use serde::Serialize;

use crate::error::{CommandError, CommandResult, exit_code};

/// Options of a benchmark.
#[derive(Debug, clap::Args)]
pub(super) struct MeasureArgs {
    /// Use fewer and shorter rounds, and fewer calls.
    #[arg(long)]
    pub(super) quick: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Measure a debug build instead of a release build.
    #[arg(long)]
    any_build: bool,
}

impl MeasureArgs {
    /// Rejects a debug build, whose figures are not meaningful, unless the user asks for it.
    pub(super) fn check_build(&self) -> Result<(), CommandError> {
        if cfg!(debug_assertions) && !self.any_build {
            return Err(CommandError::input(anyhow!("this is a debug build; start it with `cargo xtask bench`")));
        }
        Ok(())
    }

    /// Prints the report as JSON or text, and returns the exit code.
    pub(super) fn print(&self, report: &impl Serialize, text: impl FnOnce() -> String, passed: bool) -> CommandResult {
        let text = if self.json {
            serde_json::to_string_pretty(report).map_err(CommandError::internal)? + "\n"
        } else {
            text()
        };
        std::io::stdout().write_all(text.as_bytes()).map_err(CommandError::environment)?;
        Ok(exit_code(passed))
    }
}
