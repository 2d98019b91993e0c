//! The journal of a run: every case is on disk before its end is shown, here as anywhere, and `mcp-workbench report` reads it.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::SystemTime,
};

use reports::{
    journal::Line,
    model::{RunHeader, RunKind},
};

use crate::trouble::Trouble;

/// Tells runs of one second apart.
static COUNT: AtomicU64 = AtomicU64::new(0);

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

fn header(kind: RunKind, subject: String, seed: u64, planned: usize) -> RunHeader {
    let started = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let compact: String = started.chars().filter(char::is_ascii_alphanumeric).collect();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    RunHeader {
        run_id: format!("{compact}-{}-{count}", std::process::id()),
        kind,
        workbench: env!("CARGO_PKG_VERSION").to_owned(),
        started,
        subject,
        seed,
        planned,
    }
}

/// A seed for a run that was given none, short enough to be typed again.
pub(super) fn fresh_seed() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::from(since.subsec_nanos() ^ std::process::id())
}
