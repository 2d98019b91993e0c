//! What the benches of this program itself have in common: how long they take, which build they measure, and what they print.

use std::io::Write as _;

use anyhow::anyhow;
use serde::Serialize;

use super::handover;
use crate::failure::{CommandResult, Failure, held};

/// How to measure.
#[derive(Debug, clap::Args)]
pub(super) struct Measuring {
    /// Fewer and shorter rounds, and fewer calls where they are counted: for a look, and for trying the command itself.
    #[arg(long)]
    pub(super) quick: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Measure this very build, optimised or not, instead of building the optimised one and handing over to it.
    #[arg(long)]
    any_build: bool,
    #[arg(long, hide = true)]
    handed_over: bool,
}

impl Measuring {
    /// Has the optimised build do it, unless it is to be done here.
    pub(super) fn elsewhere(&self) -> Option<CommandResult> {
        if !cfg!(debug_assertions) || self.any_build {
            return None;
        }
        Some(if self.handed_over {
            Err(Failure::environment(anyhow!("the program that cargo has built is not optimised either")))
        } else {
            handover::run()
        })
    }

    /// Prints what came out, for programs or for people, and ends by whether it held.
    pub(super) fn print(
        &self,
        report: &impl Serialize,
        text: impl FnOnce() -> String,
        all_held: bool,
    ) -> CommandResult {
        let text =
            if self.json { serde_json::to_string_pretty(report).map_err(Failure::fault)? + "\n" } else { text() };
        std::io::stdout().write_all(text.as_bytes()).map_err(Failure::environment)?;
        Ok(held(all_held))
    }
}
