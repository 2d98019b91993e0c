//! Prints a run for the user and writes report files.

use std::{
    fs,
    io::IsTerminal as _,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use reports::{
    Run,
    render::{self, FORMATS, Format, Style, Verbosity, terminal::Terminal},
};

use crate::{failure::Failure, print};

/// Report formats, files and verbosity.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct OutputArgs {
    /// Report format. With --output each format is written to a file, otherwise the last one is printed.
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
    /// Writes the requested report files, and prints the last requested format or the summary.
    pub(crate) fn show(&self, run: &Run, folder: Option<&Path>) -> Result<(), Failure> {
        let to_files = folder.filter(|_| self.output.is_some());
        let mut shown: &dyn Format = &Terminal;
        for &format in &self.format {
            match to_files {
                Some(folder) => write(folder, format, &self.render(run, format)?)?,
                None => shown = format,
            }
        }
        let text = self.render(run, shown)?;
        print::raw(&text)
    }

    fn render(&self, run: &Run, format: &dyn Format) -> Result<String, Failure> {
        format.render(run, &self.style()).map_err(Failure::internal)
    }

    fn style(&self) -> Style {
        let terminal = std::io::stdout().is_terminal();
        let verbosity = match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        };
        // https://no-color.org: a variable that is set and not empty disables colors.
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        Style { color: terminal && !no_color, verbosity, width: columns.unwrap_or(Style::default().width) }
    }
}

fn write(folder: &Path, format: &dyn Format, text: &str) -> Result<(), Failure> {
    let path = folder.join(format.file_name());
    let written = fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()));
    written.map_err(Failure::environment)
}
