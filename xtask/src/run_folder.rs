//! Where the files of a run lie: the journal, and the reports that were asked for.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use reports::{journal::Line, model::RunHeader};

use crate::failure::Failure;

/// The environment variable that names the folder in which runs are kept.
const RUNS: &str = "MCP_WORKBENCH_RUNS";

/// The folder of one run, with its journal open.
#[derive(Debug)]
pub(crate) struct RunFolder {
    /// The folder.
    pub(crate) path: PathBuf,
    /// The journal.
    pub(crate) journal: File,
}

impl RunFolder {
    /// Makes the folder, and begins the journal. `output` is the folder that the user asked for.
    pub(crate) fn create(output: Option<&Path>, header: &RunHeader) -> Result<Self, Failure> {
        let path = output.map_or_else(|| default_root().join(&header.run_id), Path::to_owned);
        let journal = begin(&path, header).with_context(|| format!("cannot write into {}", path.display()));
        Ok(Self { journal: journal.map_err(Failure::environment)?, path })
    }

    /// Appends a line to the journal.
    pub(crate) fn append(&mut self, line: &Line) -> Result<(), Failure> {
        append(&mut self.journal, line).context("cannot write the journal").map_err(Failure::environment)
    }

    /// Where the journal is.
    pub(crate) fn journal_path(&self) -> PathBuf {
        self.path.join("journal.jsonl")
    }
}

fn begin(path: &Path, header: &RunHeader) -> io::Result<File> {
    fs::create_dir_all(path)?;
    let mut journal = File::create(path.join("journal.jsonl"))?;
    append(&mut journal, &Line::first(header.clone()))?;
    Ok(journal)
}

fn append(journal: &mut File, line: &Line) -> io::Result<()> {
    io::Write::write_all(journal, line.to_text()?.as_bytes())
}

/// `$MCP_WORKBENCH_RUNS`, else `$XDG_STATE_HOME/mcp-workbench/runs`, else the same below `~/.local/state` (XDG Base
/// Directory Specification), else the folder for temporary files.
pub(crate) fn default_root() -> PathBuf {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let state = || set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local/state")));
    set(RUNS).unwrap_or_else(|| state().unwrap_or_else(std::env::temp_dir).join("mcp-workbench/runs"))
}
