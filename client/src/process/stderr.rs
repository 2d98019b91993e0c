//! Keeps the last lines of a server's standard error.

use std::{
    collections::VecDeque,
    io::Read,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Maximum length of a line.
const LINE_BYTES: usize = 4 * 1024;
/// The report of the supervisor may be longer, because it lists processes.
const OWN_LINE_BYTES: usize = 1024 * 1024;

/// The last lines of standard error.
#[derive(Debug, Clone)]
pub(crate) struct StderrTail {
    lines: Arc<Mutex<VecDeque<String>>>,
    limit: usize,
}

impl StderrTail {
    pub(crate) fn new(limit: usize) -> Self {
        Self { lines: Arc::default(), limit }
    }

    /// The lines, oldest first, without control characters.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lock().iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, line: &[u8]) {
        let text = String::from_utf8_lossy(&line[..line.len().min(LINE_BYTES)]);
        let text: String = text.trim_end().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        if text.is_empty() {
            return;
        }
        let mut lines = self.lock();
        if lines.len() >= self.limit {
            lines.pop_front();
        }
        if self.limit > 0 {
            lines.push_back(text);
        }
    }

    /// Reads until the end, on the calling thread. Returns the report of the supervisor: the text after `marker` in
    /// the last line that contains it.
    pub(crate) fn drain(&self, mut source: impl Read, marker: Option<&str>) -> Option<String> {
        let mut own = None;
        let mut line = Vec::new();
        let mut chunk = vec![0; 64 * 1024];
        loop {
            let count = match source.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            for piece in chunk[..count].split_inclusive(|byte| *byte == b'\n') {
                let room = OWN_LINE_BYTES.saturating_sub(line.len());
                line.extend_from_slice(&piece[..piece.len().min(room)]);
                if piece.ends_with(b"\n") {
                    own = self.take_line(&line, marker).or(own);
                    line.clear();
                }
            }
        }
        self.take_line(&line, marker).or(own)
    }

    fn take_line(&self, line: &[u8], marker: Option<&str>) -> Option<String> {
        let at = marker.and_then(|marker| {
            let found = line.windows(marker.len()).position(|window| window == marker.as_bytes())?;
            Some((found, found + marker.len()))
        });
        match at {
            Some((start, end)) => {
                self.push(&line[..start]);
                Some(String::from_utf8_lossy(&line[end..]).trim().to_owned())
            }
            None => {
                self.push(line);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_last_lines_of_a_flood() {
        let tail = StderrTail::new(2);
        let mut flood = "x".repeat(10_000_000);
        flood.push_str("\n\u{1b}[31mred\r\nlast");
        assert_eq!(tail.drain(flood.as_bytes(), None), None);
        assert_eq!(tail.lines(), [" [31mred", "last"]);
    }

    #[test]
    fn finds_the_report_after_an_unfinished_line() {
        let tail = StderrTail::new(5);
        let own = tail.drain("warning: xNONCE {\"a\":1}\nafter\n".as_bytes(), Some("NONCE"));
        assert_eq!(own.as_deref(), Some("{\"a\":1}"));
        assert_eq!(tail.lines(), ["warning: x", "after"]);
    }
}
