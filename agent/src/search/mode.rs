//! When tools are deferred: the setting `ENABLE_TOOL_SEARCH`.

use std::{fmt, str::FromStr};

use client::{Tool, ToolCatalog, catalog::Entry};
use thiserror::Error;

use crate::output::{count, count_within, fewest};

/// Default share of the context that tools may fill before they are deferred, in percent.
const DEFAULT_SHARE: u8 = 10;

/// When tools are deferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchMode {
    /// If their definitions fill more than this share of the context, in percent: `auto` (10) or `auto:N`.
    Auto(u8),
    /// Always: `true`.
    Always,
    /// Never: `false`.
    Never,
}

impl Default for SearchMode {
    fn default() -> Self {
        Self::Auto(DEFAULT_SHARE)
    }
}

/// An invalid value of the setting.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("invalid tool search mode `{0}`; use `auto`, `auto:N` (N from 0 to 100 percent), `true` or `false`")]
pub struct SearchModeParseError(String);

impl FromStr for SearchMode {
    type Err = SearchModeParseError;

    fn from_str(text: &str) -> Result<Self, SearchModeParseError> {
        let error = || SearchModeParseError(text.chars().take(40).flat_map(char::escape_debug).collect());
        match text.trim().to_ascii_lowercase().as_str() {
            "auto" => Ok(Self::default()),
            "true" | "1" => Ok(Self::Always),
            "false" | "0" => Ok(Self::Never),
            other => {
                let share = other.strip_prefix("auto:").and_then(|share| share.parse().ok());
                share.filter(|share| *share <= 100).map(Self::Auto).ok_or_else(error)
            }
        }
    }
}

impl fmt::Display for SearchMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto(DEFAULT_SHARE) => f.write_str("auto"),
            Self::Auto(share) => write!(f, "auto:{share}"),
            Self::Always => f.write_str("true"),
            Self::Never => f.write_str("false"),
        }
    }
}

impl SearchMode {
    /// The deferred tools of a catalog with their qualified names. Tools of servers for which `always_shown` returns true
    /// (`alwaysLoad` of a configuration) are neither deferred nor counted.
    #[must_use]
    pub fn deferred(
        self,
        catalog: &ToolCatalog,
        always_shown: impl Fn(&str) -> bool,
        context_tokens: usize,
    ) -> Vec<(&str, &Entry)> {
        let tools: Vec<_> = catalog.iter().filter(|(_, entry)| !always_shown(&entry.server)).collect();
        let deferred = match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto(share) => !fits(&tools, context_tokens.saturating_mul(usize::from(share)) / 100),
        };
        if deferred { tools } else { Vec::new() }
    }
}

/// Whether the definitions have at most `limit` tokens. Counting stops at the limit.
fn fits(tools: &[(&str, &Entry)], limit: usize) -> bool {
    let (mut texts, mut least) = (Vec::new(), 0);
    for (name, entry) in tools {
        let text = definition(name, &entry.tool);
        least += fewest(&text);
        // Thousands of tools are not counted. The tokenizer alone takes 100 ms to load, and 40 MB.
        if least > limit {
            return false;
        }
        texts.push(text);
    }
    // A token has at least one byte.
    if texts.iter().map(String::len).sum::<usize>() <= limit {
        return true;
    }
    texts.iter().try_fold(limit, |left, text| Some(left - count_within(text, left)?)).is_some()
}

/// Tokens of the definition of a tool.
#[must_use]
pub fn tokens(name: &str, tool: &Tool) -> usize {
    count(&definition(name, tool))
}

/// The definition of a tool as the model reads it.
fn definition(name: &str, tool: &Tool) -> String {
    let schema = tool.input_schema().map(|schema| serde_json::to_string(schema).unwrap_or_default());
    format!("{name}\n{}\n{}", tool.description().unwrap_or_default(), schema.unwrap_or_default())
}
