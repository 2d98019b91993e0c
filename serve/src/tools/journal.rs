//! The journal of a run: every case is on disk before its end is shown, here as anywhere, and `mcp-workbench report` reads it.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use reports::{
    journal::Line,
    model::{RunHeader, RunKind},
};

use scenarios::run::header;

use crate::trouble::Trouble;

/// A journal that is open.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    path: PathBuf,
}

impl Journal {
    /// Begins a journal below this folder. What comes back with it is its first line.
    pub(super) fn begin(
        runs: &Path,
        kind: RunKind,
        subject: String,
        seed: u64,
        planned: usize,
    ) -> Result<(RunHeader, Self), Trouble> {
        let header = header(kind, subject, seed, planned);
        let folder = runs.join(&header.run_id);
        let path = folder.join("journal.jsonl");
        let open = || {
            fs::create_dir_all(&folder)?;
            let mut file = File::create(&path)?;
            file.write_all(Line::first(header.clone()).to_text()?.as_bytes())?;
            io::Result::Ok(file)
        };
        match open() {
            Ok(file) => Ok((header, Self { file, path })),
            Err(error) => Err(Trouble::of("journal", &error).advise(format!(
                "make {} a folder that can be written into, or set MCP_WORKBENCH_RUNS",
                runs.display()
            ))),
        }
    }

    /// The file, for whoever writes cases into it.
    pub(super) fn writer(&mut self) -> &mut File {
        &mut self.file
    }

    pub(super) fn append(&mut self, line: &Line) -> Result<(), Trouble> {
        let written = line.to_text().map_err(io::Error::from).and_then(|text| self.file.write_all(text.as_bytes()));
        written.map_err(|error| Trouble::of("journal", &error).advise("is the disk full?"))
    }

    /// Where it is.
    pub(super) fn place(&self) -> String {
        self.path.display().to_string()
    }
}
