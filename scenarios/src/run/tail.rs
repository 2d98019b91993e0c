//! Reads the report that a client under test appends to, as it grows.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use crate::contract::ReportLine;

/// The most bytes of a report that are read: a client that writes more has lost its way.
const MOST: u64 = 64 << 20;

/// A report file, and how far it has been read.
pub(super) struct Tail {
    path: PathBuf,
    read: u64,
    partial: Vec<u8>,
    /// What was read so far.
    pub(super) lines: Vec<ReportLine>,
    /// How many lines were not understood.
    pub(super) odd: usize,
}

impl Tail {
    /// A report that may not be there yet.
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), read: 0, partial: Vec::new(), lines: Vec::new(), odd: 0 }
    }

    /// Reads what was appended since; gives the lines that are new.
    pub(super) fn catch_up(&mut self) -> &[ReportLine] {
        let before = self.lines.len();
        if let Ok(bytes) = self.appended() {
            self.partial.extend(bytes);
        }
        while let Some(end) = self.partial.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.partial.drain(..=end).collect();
            match serde_json::from_slice(&line) {
                Ok(line) => self.lines.push(line),
                Err(_) if line.iter().all(u8::is_ascii_whitespace) => {}
                Err(_) => self.odd += 1,
            }
        }
        &self.lines[before..]
    }

    fn appended(&mut self) -> io::Result<Vec<u8>> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.read))?;
        let mut bytes = Vec::new();
        file.take(MOST.saturating_sub(self.read)).read_to_end(&mut bytes)?;
        self.read += bytes.len() as u64;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_line_that_arrives_in_pieces_is_read_once_it_is_whole() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let mut tail = Tail::new(file.path());
        let mut writer = file.reopen().expect("the same file");
        writer.write_all(b"{\"die\":{\"pi").expect("written");
        assert!(tail.catch_up().is_empty());
        writer.write_all(b"d\":7}}\nnonsense\n").expect("written");
        assert_eq!(tail.catch_up(), [ReportLine::Die { pid: 7 }]);
        assert_eq!(tail.odd, 1);
        assert!(tail.catch_up().is_empty(), "nothing is read twice");
    }

    #[test]
    fn a_report_that_was_never_begun_is_empty() {
        assert!(Tail::new(Path::new("/nonexistent/report")).catch_up().is_empty());
    }
}
