//! What is seen of a run while it goes on: a bar on a terminal, plain lines elsewhere. Always on standard error, so that
//! standard output holds the report alone.

use std::io::IsTerminal as _;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use reports::model::CaseResult;

/// How often a log that nobody looks at live gets a line.
const EVERY: u64 = 50;

/// The progress of a run of cases.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    live: bool,
    quiet: bool,
}

impl Progress {
    /// A run of so many cases.
    pub(crate) fn new(planned: usize, quiet: bool) -> Self {
        let live = std::io::stderr().is_terminal() && !quiet;
        let bar = ProgressBar::with_draw_target(Some(planned as u64), ProgressDrawTarget::stderr());
        // The template is a constant that the tests draw once, so it is always accepted.
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {wide_msg}") {
            bar.set_style(style);
        }
        if !live {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        Self { bar, live, quiet }
    }

    /// A case began.
    pub(crate) fn began(&self, id: &str) {
        self.bar.set_message(id.to_owned());
    }

    /// A case ended.
    pub(crate) fn ended(&self, result: &CaseResult) {
        self.bar.inc(1);
        if result.verdict.is_failure() {
            self.line(&format!("{}: {}", result.verdict.word(), result.id));
        }
        let done = self.bar.position();
        if !self.live && !self.quiet && done.is_multiple_of(EVERY) {
            eprintln_to_log(&format!("{done} of {} cases done", self.bar.length().unwrap_or_default()));
        }
    }

    /// Says something above the bar.
    pub(crate) fn line(&self, text: &str) {
        if self.live {
            self.bar.println(text);
        } else if !self.quiet {
            eprintln_to_log(text);
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// A line of a log. A log that cannot be written is no reason to stop a run.
fn eprintln_to_log(text: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{text}");
}
