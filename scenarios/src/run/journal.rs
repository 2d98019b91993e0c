//! The journal file of a run.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use reports::{journal::Line, model::RunHeader};

/// Name of the journal in the directory of a run.
const FILE_NAME: &str = "journal.jsonl";

/// Where the files of a run are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunDirectory {
    /// This directory.
    Exact(PathBuf),
    /// A new directory in this one, named after the id of the run.
    Within(PathBuf),
}

impl RunDirectory {
    fn path(&self, run_id: &str) -> PathBuf {
        match self {
            Self::Exact(path) => path.clone(),
            Self::Within(path) => path.join(run_id),
        }
    }
}

/// The journal of a run. After a write error it is closed, and the run continues without it.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: Option<File>,
}

impl Journal {
    /// Creates the directory and the file, and writes the first line.
    pub(super) fn create(directory: &RunDirectory, header: &RunHeader) -> (Self, io::Result<()>) {
        let directory = directory.path(&header.run_id);
        let path = directory.join(FILE_NAME);
        let file = fs::create_dir_all(&directory).and_then(|()| File::create(&path));
        match file {
            Ok(file) => {
                let mut journal = Self { path, file: Some(file) };
                let written = journal.append_line(&Line::first(header.clone()));
                (journal, written)
            }
            Err(error) => (Self { path, file: None }, Err(error)),
        }
    }

    /// Path of the file, which exists only if [`is_open`](Self::is_open).
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether all lines were written so far.
    pub(super) fn is_open(&self) -> bool {
        self.file.is_some()
    }

    pub(super) fn append_line(&mut self, line: &Line) -> io::Result<()> {
        let text = line.to_text()?;
        self.append(text.as_bytes())
    }

    /// Appends a complete line with one write. Does nothing after an error.
    pub(super) fn append(&mut self, line: &[u8]) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let written = file.write_all(line);
        if written.is_err() {
            self.file = None;
        }
        written
    }
}
