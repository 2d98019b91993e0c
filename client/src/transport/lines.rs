//! Lines from a byte stream, with a length limit.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use super::json_scan::JsonScan;

/// Maximum length of a line that is skipped, as a multiple of the limit.
const MAX_SKIPPED: usize = 64;

/// The reason for a missing line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LineError {
    /// A line exceeds the length of skipped lines.
    #[error("a line goes on after {read} bytes, the limit is {limit}")]
    Endless { limit: usize, read: usize },
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// A line without its terminator.
#[derive(Debug)]
pub(crate) enum Line<'a> {
    /// A complete line.
    Whole(&'a [u8]),
    /// A line beyond the limit, with the information that was extracted from it.
    TooLong(JsonScan),
}

/// A line beyond the limit that is being read.
#[derive(Debug)]
struct Passing {
    json_scan: JsonScan,
    read: usize,
}

/// Reads lines. [`Self::next`] is cancellation-safe.
#[derive(Debug)]
pub(crate) struct LineReader<R> {
    source: BufReader<R>,
    line: Vec<u8>,
    /// Whether `line` was returned and has to be cleared.
    handed_out: bool,
    passing: Option<Passing>,
    limit: usize,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(source: R, limit: usize) -> Self {
        let source = BufReader::with_capacity(64 * 1024, source);
        Self { source, line: Vec::new(), handed_out: false, passing: None, limit }
    }

    /// The next line, or `None` at the end of the stream. The last line may lack a terminator.
    pub(crate) async fn next(&mut self) -> Result<Option<Line<'_>>, LineError> {
        if std::mem::take(&mut self.handed_out) {
            self.line.clear();
            // A long line must not keep its memory.
            self.line.shrink_to(1024 * 1024);
        }
        loop {
            let chunk = self.source.fill_buf().await?;
            if chunk.is_empty() {
                if let Some(passing) = self.passing.take() {
                    return Ok(Some(Line::TooLong(passing.json_scan)));
                }
                self.handed_out = !self.line.is_empty();
                return Ok(self.handed_out.then_some(Line::Whole(&self.line)));
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let piece = &chunk[..end.unwrap_or(chunk.len())];
            let used = end.map_or(chunk.len(), |end| end + 1);
            if self.passing.is_none() && self.line.len() + piece.len() > self.limit {
                let mut json_scan = JsonScan::default();
                json_scan.pass(&std::mem::take(&mut self.line));
                self.passing = Some(Passing { json_scan, read: 0 });
            }
            match &mut self.passing {
                Some(passing) => {
                    passing.json_scan.pass(piece);
                    passing.read += piece.len();
                    if passing.read > self.limit.saturating_mul(MAX_SKIPPED) {
                        return Err(LineError::Endless { limit: self.limit, read: passing.read });
                    }
                }
                None => self.line.extend_from_slice(piece),
            }
            self.source.consume(used);
            if end.is_some() {
                if let Some(passing) = self.passing.take() {
                    return Ok(Some(Line::TooLong(passing.json_scan)));
                }
                self.handed_out = true;
                return Ok(Some(Line::Whole(&self.line)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole<'a>(line: Option<Line<'a>>) -> Option<&'a [u8]> {
        line.map(|line| match line {
            Line::Whole(line) => line,
            Line::TooLong(_) => panic!("too long"),
        })
    }

    fn too_long(line: Option<Line<'_>>) -> Option<serde_json::Value> {
        match line {
            Some(Line::TooLong(json_scan)) => json_scan.response_id(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn joins_pieces() {
        let (mut write, read) = tokio::io::duplex(3);
        let writer = tokio::spawn(async move {
            tokio::io::AsyncWriteExt::write_all(&mut write, "größe\r\n\nrest".as_bytes()).await.unwrap();
        });
        let mut lines = LineReader::new(read, 8);
        assert_eq!(whole(lines.next().await.unwrap()), Some("größe\r".as_bytes()));
        assert_eq!(whole(lines.next().await.unwrap()), Some(&b""[..]));
        assert_eq!(whole(lines.next().await.unwrap()), Some(&b"rest"[..]));
        assert!(whole(lines.next().await.unwrap()).is_none());
        writer.await.unwrap();
    }

    #[tokio::test]
    async fn lets_a_long_line_pass_and_goes_on_with_the_next() {
        let mut lines = LineReader::new(&b"{\"result\":1,\"id\":7}\nshort\n{\"id\":8,\"result\":"[..], 8);
        assert_eq!(too_long(lines.next().await.unwrap()), Some(7.into()));
        assert_eq!(whole(lines.next().await.unwrap()), Some(&b"short"[..]));
        assert_eq!(too_long(lines.next().await.unwrap()), Some(8.into()));
        assert!(lines.next().await.unwrap().is_none());
    }

    #[tokio::test]
    async fn gives_up_a_line_without_end() {
        let mut lines = LineReader::new(tokio::io::repeat(b'x'), 8);
        assert!(matches!(lines.next().await, Err(LineError::Endless { limit: 8, .. })));
    }
}
