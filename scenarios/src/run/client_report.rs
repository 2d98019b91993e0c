//! Reads the report that a client under test appends to.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use crate::contract::ReportLine;

/// Maximum number of bytes read from a report.
const MAX_BYTES: u64 = 16 << 20;

/// A report file and the lines read so far.
pub(super) struct ClientReport {
    path: PathBuf,
    offset: u64,
    partial: Vec<u8>,
    /// The valid lines.
    pub(super) lines: Vec<ReportLine>,
    /// The number of invalid lines.
    pub(super) invalid: usize,
}

impl ClientReport {
    /// A report whose file may not exist yet.
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), offset: 0, partial: Vec::new(), lines: Vec::new(), invalid: 0 }
    }

    /// Reads what was appended since the last call, and returns the new lines.
    pub(super) fn read(&mut self) -> &[ReportLine] {
        let before = self.lines.len();
        let mut bytes = std::mem::take(&mut self.partial);
        // A missing or unreadable file has no lines; the checks report that nothing was reported.
        let _ = self.read_to(&mut bytes);
        let complete = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        for line in bytes[..complete].split(|byte| *byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(line) => self.lines.push(line),
                Err(_) if line.iter().all(u8::is_ascii_whitespace) => {}
                Err(_) => self.invalid += 1,
            }
        }
        self.partial = bytes.split_off(complete);
        &self.lines[before..]
    }

    fn read_to(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.offset))?;
        self.offset += file.take(MAX_BYTES.saturating_sub(self.offset)).read_to_end(bytes)? as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn reads_a_line_when_it_is_complete() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let mut report = ClientReport::new(file.path());
        let mut writer = file.reopen().expect("the same file");
        writer.write_all(b"{\"die\":{\"pi").expect("written");
        assert!(report.read().is_empty());
        writer.write_all(b"d\":7}}\nnonsense\n").expect("written");
        assert_eq!(report.read(), [ReportLine::Die { pid: 7 }]);
        assert_eq!(report.invalid, 1);
        assert!(report.read().is_empty(), "no line is read twice");
    }

    #[test]
    fn a_missing_report_is_empty() {
        assert!(ClientReport::new(Path::new("/nonexistent/report")).read().is_empty());
    }
}
