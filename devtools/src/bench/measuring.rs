//! What the benches of this program itself have in common: how long they take, which build they measure, and what they print.

use std::io::Write as _;

use anyhow::anyhow;
use serde::Serialize;

use crate::error::{CommandError, CommandResult, exit_code};

/// How to measure.
#[derive(Debug, clap::Args)]
pub(super) struct Measuring {
    /// Fewer and shorter rounds, and fewer calls where they are counted: for a look, and for trying the command itself.
    #[arg(long)]
    pub(super) quick: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Measure a debug build instead of a release build.
    #[arg(long)]
    any_build: bool,
}

impl Measuring {
    /// Rejects a debug build, whose figures are not meaningful, unless the user asks for it.
    pub(super) fn check_build(&self) -> Result<(), CommandError> {
        if cfg!(debug_assertions) && !self.any_build {
            return Err(CommandError::input(anyhow!("this is a debug build; start it with `cargo xtask bench`")));
        }
        Ok(())
    }

    /// Prints what came out, for programs or for people, and ends by whether it held.
    pub(super) fn print(
        &self,
        report: &impl Serialize,
        text: impl FnOnce() -> String,
        all_held: bool,
    ) -> CommandResult {
        let text = if self.json {
            serde_json::to_string_pretty(report).map_err(CommandError::internal)? + "\n"
        } else {
            text()
        };
        std::io::stdout().write_all(text.as_bytes()).map_err(CommandError::environment)?;
        Ok(exit_code(all_held))
    }
}
