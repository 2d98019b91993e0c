//! Prints a run for the user and writes report files.

use std::{
    fs,
    io::IsTerminal as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use reports::{
    Run,
    render::{self, FORMATS, Format, Style, Verbosity, github::Github, terminal::Terminal},
};
use scenarios::run::fresh_seed;

use crate::{error::CommandError, print, system::terminal_columns};

/// Report formats, files and verbosity.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct OutputArgs {
    /// Report format. With --output each format is written to a file, otherwise the last one is printed. `github` is always
    /// printed in a job of GitHub Actions.
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub(crate) format: Vec<&'static dyn Format>,
    /// Directory for the journal and the reports.
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Show passed and skipped cases and all recorded frames.
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Show only the ids of failed cases and the result.
    #[arg(long, short, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
}

fn formats() -> impl TypedValueParser<Value = &'static dyn Format> {
    let values = FORMATS.iter().map(|format| PossibleValue::new(format.name()).help(format.about()));
    PossibleValuesParser::new(values).try_map(|name| render::format(&name).ok_or("unknown format"))
}

impl OutputArgs {
    /// Writes the requested report files, and prints the last requested format or the summary. In a job of GitHub Actions
    /// annotations are printed also if they are written to a file, because the runner reads only the output.
    pub(crate) fn show(&self, run: &Run, directory: Option<&Path>) -> Result<(), CommandError> {
        let to_files = directory.filter(|_| self.output.is_some());
        let mut shown: &dyn Format = &Terminal;
        for &format in &self.format {
            match to_files {
                Some(directory) => write(directory, format, &self.render(run, format)?)?,
                None => shown = format,
            }
        }
        let text = self.render(run, shown)?;
        let annotated = to_files.is_some() && self.format.iter().any(|format| format.name() == Github.name());
        if annotated && in_github_job() {
            // The summary quotes servers, whose text must not be taken for commands.
            let token = format!("mcp-workbench-{:016x}", fresh_seed());
            let annotations = self.render(run, &Github)?;
            return print::raw(&format!("::stop-commands::{token}\n{text}::{token}::\n{annotations}"));
        }
        print::raw(&text)
    }

    /// Writes one report of several runs in each requested format, or prints the last format without a directory.
    pub(crate) fn show_combined(&self, runs: &[Run]) -> Result<(), CommandError> {
        let rendered = self.format.iter().map(|format| match format.render_combined(runs, &self.style()) {
            Some(text) => Ok((*format, text.map_err(CommandError::internal)?)),
            None => Err(one_run_only(*format)),
        });
        let rendered = rendered.collect::<Result<Vec<_>, _>>()?;
        let Some((_, last)) = rendered.last() else { return Err(one_run_only(&Terminal)) };
        match &self.output {
            Some(directory) => rendered.iter().try_for_each(|(format, text)| write(directory, *format, text)),
            None => print::raw(last),
        }
    }

    fn render(&self, run: &Run, format: &dyn Format) -> Result<String, CommandError> {
        format.render(run, &self.style()).map_err(CommandError::internal)
    }

    fn style(&self) -> Style {
        style(match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        })
    }
}

fn one_run_only(format: &dyn Format) -> CommandError {
    let combined = FORMATS.iter().filter(|format| format.render_combined(&[], &Style::default()).is_some());
    let combined: Vec<_> = combined.map(|format| format!("`--format {}`", format.name())).collect();
    CommandError::input(anyhow!("a report with format `{}` describes one run", format.name()))
        .with_help(format!("use {}", combined.join(" or ")))
}

/// The style of standard output.
pub(crate) fn style(verbosity: Verbosity) -> Style {
    let terminal = std::io::stdout().is_terminal();
    // https://no-color.org: a variable that is set and not empty disables colors.
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let columns = std::env::var("COLUMNS").ok();
    let width = width(columns.as_deref(), terminal_columns());
    Style { color: terminal && !no_color, verbosity, width }
}

/// Whether the program runs in a step of a GitHub Actions job. Some other systems set only the first variable.
fn in_github_job() -> bool {
    std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true")
        && std::env::var_os("GITHUB_STEP_SUMMARY").is_some_and(|value| !value.is_empty())
}

/// Width of the report: `COLUMNS`, then the terminal. Terminals without a known width report 0.
fn width(columns: Option<&str>, terminal: Option<u16>) -> usize {
    let columns = columns.and_then(|columns| columns.parse().ok());
    let terminal = terminal.filter(|columns| *columns > 0).map(usize::from);
    columns.filter(|columns| *columns > 0).or(terminal).unwrap_or(Style::default().width)
}

fn write(directory: &Path, format: &dyn Format, text: &str) -> Result<(), CommandError> {
    let path = directory.join(format.file_name());
    let written = fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()));
    written.map_err(CommandError::environment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_width_is_that_of_the_terminal_unless_columns_is_set() {
        for (columns, terminal, expected) in [
            (None, Some(72), 72),
            (Some("60"), Some(72), 60),
            (Some("60"), None, 60),
            (Some(""), Some(72), 72),
            (Some("0"), Some(72), 72),
            (None, Some(0), 100),
            (None, None, 100),
        ] {
            assert_eq!(width(columns, terminal), expected, "{columns:?} {terminal:?}");
        }
    }
}
