//! Report formats: one module each, registered in [`FORMATS`].
//!
//! Renderers are pure functions of a run. Messages from servers and clients are hostile input: every renderer escapes
//! control characters and markup (`text`) and limits how much of a message it prints.

pub mod badge;
pub mod comparison;
pub mod csv;
pub mod github;
pub mod hdr;
pub mod html;
pub mod json;
pub mod junit;
pub mod loads;
pub mod markdown;
pub mod otlp;
pub mod prometheus;
pub mod sarif;
pub mod series;
pub mod terminal;

mod case;
mod findings;
mod metrics;
mod outcome;
mod paint;
mod severity;
mod text;

#[cfg(test)]
mod tests;

use std::{error::Error, fmt};

pub use self::outcome::latency;
use crate::model::Run;

/// All report formats, in the order of `--help`. Format names and file names are unique.
pub static FORMATS: &[&dyn Format] = &[
    &terminal::Terminal,
    &json::Json,
    &junit::Junit,
    &markdown::Markdown,
    &html::Html,
    &github::Github,
    &sarif::Sarif,
    &csv::Csv,
    &badge::Badge,
    &series::Series,
    &hdr::Hdr,
    &loads::Loads,
    &prometheus::Prometheus,
    &otlp::Otlp,
];

/// A report format. The program and `serve` offer every format in [`FORMATS`].
pub trait Format: fmt::Debug + Sync {
    /// Name on the command line and in tool arguments.
    fn name(&self) -> &'static str;

    /// Help text: what the format is for.
    fn about(&self) -> &'static str;

    /// Name of the report's file in the run directory.
    fn file_name(&self) -> &'static str;

    /// Renders a run; the text ends with a line feed.
    ///
    /// # Errors
    /// If a library cannot write the document. Valid runs do not cause this.
    fn render(&self, run: &Run, style: &Style) -> Result<String, RenderError>;

    /// Renders several runs as one report; `None` if a report of this format describes a single run.
    ///
    /// # Errors
    /// As [`render`](Self::render).
    fn render_combined(&self, _runs: &[Run], _style: &Style) -> Option<Result<String, RenderError>> {
        None
    }
}

/// Returns the format with this name.
#[must_use]
pub fn format(name: &str) -> Option<&'static dyn Format> {
    FORMATS.iter().find(|format| format.name() == name).copied()
}

/// Colors, width and verbosity. Only formats for a terminal use them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether to use ANSI colors.
    pub color: bool,
    /// Width of the terminal in columns.
    pub width: usize,
    /// Amount of detail.
    pub verbosity: Verbosity,
}

impl Default for Style {
    fn default() -> Self {
        Self { color: false, width: 100, verbosity: Verbosity::Normal }
    }
}

/// Amount of detail in a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Ids of failed cases, and the result of the run.
    Quiet,
    /// Failed and blocked cases and warnings, with evidence.
    #[default]
    Normal,
    /// All cases and all recorded frames.
    Verbose,
}

/// A run that could not be rendered.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the {format} report")]
pub struct RenderError {
    format: &'static str,
    #[source]
    source: Box<dyn Error + Send + Sync>,
}

impl RenderError {
    fn new(format: &dyn Format, source: impl Error + Send + Sync + 'static) -> Self {
        Self { format: format.name(), source: Box::new(source) }
    }
}
