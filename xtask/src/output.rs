//! Shows a run to people and writes it for programs.

use std::{
    fs,
    io::{IsTerminal as _, Write as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::ValueEnum;
use reports::{
    Run,
    render::{
        json, junit, markdown,
        terminal::{self, Options, Verbosity},
    },
};

use crate::failure::Failure;

/// A form of report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people, at a terminal.
    Terminal,
    /// The whole run, versioned; `mcp-workbench schema run` prints its JSON Schema.
    Json,
    /// JUnit XML, for the viewers of CI systems.
    Junit,
    /// A summary for a pull request or a job's page.
    Markdown,
}

/// How a run is shown and written.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct OutputArgs {
    /// The form of the report; with --output each form becomes a file, else the last one goes to standard output.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Vec<Format>,
    /// A folder for the journal and the reports.
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Say more: also the cases that passed or were skipped, and every frame that was kept.
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Say less: the ids of what failed, and the result.
    #[arg(long, short, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
}

impl OutputArgs {
    /// Writes the reports that were asked for, and shows the summary.
    pub(crate) fn show(&self, run: &Run, folder: Option<&Path>) -> Result<(), Failure> {
        let to_files = folder.filter(|_| self.output.is_some());
        let mut shown = Format::Terminal;
        for format in &self.format {
            match to_files {
                Some(folder) => write(folder, *format, &self.render(run, *format)?)?,
                None => shown = *format,
            }
        }
        let text = self.render(run, shown)?;
        std::io::stdout().write_all(text.as_bytes()).map_err(Failure::environment)
    }

    fn render(&self, run: &Run, format: Format) -> Result<String, Failure> {
        match format {
            Format::Terminal => Ok(terminal::render(run, &self.terminal())),
            Format::Json => json::render(run).map_err(Failure::fault),
            Format::Junit => junit::render(run).map_err(Failure::fault),
            Format::Markdown => Ok(markdown::render(run)),
        }
    }

    fn terminal(&self) -> Options {
        let terminal = std::io::stdout().is_terminal();
        let verbosity = match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        };
        // https://no-color.org: set and not empty means no colour.
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        Options { colour: terminal && !unwanted, verbosity, width: columns.unwrap_or(Options::default().width) }
    }
}

fn write(folder: &Path, format: Format, text: &str) -> Result<(), Failure> {
    let name = match format {
        Format::Terminal => "summary.txt",
        Format::Json => "run.json",
        Format::Junit => "junit.xml",
        Format::Markdown => "summary.md",
    };
    let path = folder.join(name);
    let written = fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()));
    written.map_err(Failure::environment)
}
