//! Colours, and the choice not to use them.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};

use crate::model::Verdict;

/// Whether to colour, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paint {
    pub(super) colour: bool,
}

impl Paint {
    pub(super) const PLAIN: Self = Self { colour: false };

    pub(super) fn verdict(self, verdict: Verdict, text: impl Display) -> String {
        let colour = match verdict {
            Verdict::Skipped => AnsiColor::Cyan,
            Verdict::Passed => AnsiColor::Green,
            Verdict::Warned => AnsiColor::Yellow,
            Verdict::Blocked => AnsiColor::Magenta,
            Verdict::Failed => AnsiColor::Red,
        };
        self.with(Style::new().fg_color(Some(colour.into())).bold(), text)
    }

    pub(super) fn strong(self, text: impl Display) -> String {
        self.with(Style::new().bold(), text)
    }

    pub(super) fn faint(self, text: impl Display) -> String {
        self.with(Style::new().dimmed(), text)
    }

    fn with(self, style: Style, text: impl Display) -> String {
        if self.colour { format!("{style}{text}{style:#}") } else { text.to_string() }
    }
}
