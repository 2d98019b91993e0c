//! Optional ANSI colors.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};

use crate::model::Verdict;

/// Applies ANSI styles if colors are enabled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paint {
    pub(super) color: bool,
}

impl Paint {
    pub(super) const PLAIN: Self = Self { color: false };

    pub(super) fn verdict(self, verdict: Verdict, text: impl Display) -> String {
        let color = match verdict {
            Verdict::Skipped | Verdict::Noted => AnsiColor::Cyan,
            Verdict::Passed => AnsiColor::Green,
            Verdict::Warned => AnsiColor::Yellow,
            Verdict::Flaky | Verdict::Blocked => AnsiColor::Magenta,
            Verdict::Failed => AnsiColor::Red,
        };
        self.with(Style::new().fg_color(Some(color.into())).bold(), text)
    }

    pub(super) fn strong(self, text: impl Display) -> String {
        self.with(Style::new().bold(), text)
    }

    pub(super) fn faint(self, text: impl Display) -> String {
        self.with(Style::new().dimmed(), text)
    }

    fn with(self, style: Style, text: impl Display) -> String {
        if self.color { format!("{style}{text}{style:#}") } else { text.to_string() }
    }
}
