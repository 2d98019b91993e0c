//! Whether tools are deferred: the setting `ENABLE_TOOL_SEARCH`, and what it means for these tools.

use std::{fmt, str::FromStr};

use client::{Tool, ToolCatalog, catalog::Entry};
use thiserror::Error;

use crate::output::count_within;

/// The share of a model's context that tools may fill before they are deferred, in percent, where nobody says another.
const SHARE: u8 = 10;

/// When tools are deferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchMode {
    /// If their definitions would fill more than this share of the context, in percent: `auto` (10) or `auto:N`.
    Auto(u8),
    /// Always: `true`.
    Always,
    /// Never: `false`.
    Never,
}

impl Default for SearchMode {
    fn default() -> Self {
        Self::Auto(SHARE)
    }
}

/// A text that is no such setting.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{0}` says not when to search for tools: give `auto`, `auto:N` with N from 0 to 100 percent, `true` or `false`"
)]
pub struct SearchModeParseError(String);

impl FromStr for SearchMode {
    type Err = SearchModeParseError;

    fn from_str(text: &str) -> Result<Self, SearchModeParseError> {
        let refused = || SearchModeParseError(text.chars().take(40).flat_map(char::escape_debug).collect());
        match text.trim().to_ascii_lowercase().as_str() {
            "auto" => Ok(Self::default()),
            "true" | "1" => Ok(Self::Always),
            "false" | "0" => Ok(Self::Never),
            other => {
                let share = other.strip_prefix("auto:").and_then(|share| share.parse().ok());
                share.filter(|share| *share <= 100).map(Self::Auto).ok_or_else(refused)
            }
        }
    }
}

impl fmt::Display for SearchMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto(SHARE) => f.write_str("auto"),
            Self::Auto(share) => write!(f, "auto:{share}"),
            Self::Always => f.write_str("true"),
            Self::Never => f.write_str("false"),
        }
    }
}

impl SearchMode {
    /// The tools of a catalogue that have to be searched for, with their qualified names; the definitions of all others are
    /// shown from the start. `always_shown` tells of a server's name whether its tools are (`alwaysLoad` of a configuration):
    /// these do not count either. The model has a context of so many tokens.
    #[must_use]
    pub fn deferred(
        self,
        catalogue: &ToolCatalog,
        always_shown: impl Fn(&str) -> bool,
        context_tokens: usize,
    ) -> Vec<(&str, &Entry)> {
        let tools: Vec<_> = catalogue.iter().filter(|(_, entry)| !always_shown(&entry.server)).collect();
        let deferred = match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto(share) => !fits(&tools, context_tokens.saturating_mul(usize::from(share)) / 100),
        };
        if deferred { tools } else { Vec::new() }
    }
}

/// Whether the definitions of these tools take at most so many tokens. Counting ends where they take more.
fn fits(tools: &[(&str, &Entry)], limit: usize) -> bool {
    let texts: Vec<String> = tools.iter().map(|(name, entry)| definition(name, &entry.tool)).collect();
    // A token is a byte at least.
    if texts.iter().map(String::len).sum::<usize>() <= limit {
        return true;
    }
    texts.iter().try_fold(limit, |left, text| Some(left - count_within(text, left)?)).is_some()
}

/// What a model reads of a tool.
fn definition(name: &str, tool: &Tool) -> String {
    let schema = tool.input_schema().map(|schema| serde_json::to_string(schema).unwrap_or_default());
    format!("{name}\n{}\n{}", tool.description().unwrap_or_default(), schema.unwrap_or_default())
}
