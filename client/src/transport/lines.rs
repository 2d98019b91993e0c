//! Lines out of a byte stream, with a bound on their length.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Why there is no next line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LineError {
    /// A line exceeds the limit.
    #[error("a line is longer than {limit} bytes")]
    TooLong { limit: usize },
    /// Reading failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Reads lines. Dropping the future of [`Self::next`] loses nothing.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    source: BufReader<R>,
    line: Vec<u8>,
    /// Whether `line` was handed out and has to be cleared.
    handed_out: bool,
    limit: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(source: R, limit: usize) -> Self {
        Self { source: BufReader::with_capacity(64 * 1024, source), line: Vec::new(), handed_out: false, limit }
    }

    /// The next line without its end, or `None` at the end of the stream. A last line without an end is a line.
    pub(crate) async fn next(&mut self) -> Result<Option<&[u8]>, LineError> {
        if std::mem::take(&mut self.handed_out) {
            self.line.clear();
            // One long line must not hold its memory for ever.
            self.line.shrink_to(1024 * 1024);
        }
        loop {
            let chunk = self.source.fill_buf().await?;
            if chunk.is_empty() {
                self.handed_out = !self.line.is_empty();
                return Ok(self.handed_out.then_some(self.line.as_slice()));
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let piece = &chunk[..end.unwrap_or(chunk.len())];
            if self.line.len() + piece.len() > self.limit {
                return Err(LineError::TooLong { limit: self.limit });
            }
            self.line.extend_from_slice(piece);
            let used = end.map_or(chunk.len(), |end| end + 1);
            self.source.consume(used);
            if end.is_some() {
                self.handed_out = true;
                return Ok(Some(self.line.as_slice()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn joins_pieces_and_bounds_length() {
        let (mut write, read) = tokio::io::duplex(3);
        let writer = tokio::spawn(async move {
            tokio::io::AsyncWriteExt::write_all(&mut write, "größe\r\n\nrest".as_bytes()).await.unwrap();
        });
        let mut lines = Lines::new(read, 8);
        assert_eq!(lines.next().await.unwrap(), Some("größe\r".as_bytes()));
        assert_eq!(lines.next().await.unwrap(), Some(&b""[..]));
        assert_eq!(lines.next().await.unwrap(), Some(&b"rest"[..]));
        assert_eq!(lines.next().await.unwrap(), None);
        writer.await.unwrap();
        let mut lines = Lines::new(&b"123456789\n"[..], 8);
        assert!(matches!(lines.next().await, Err(LineError::TooLong { limit: 8 })));
    }
}
