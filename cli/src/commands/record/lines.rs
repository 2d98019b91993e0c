//! Splits a copied stream into the lines to record. It never changes or delays what is copied.

use evidence::Body;

/// Maximum size of one line in memory, in bytes. The rest of a longer line is copied, but not recorded.
const MAX_LINE: usize = 16 << 20;

/// The begun line of a stream.
#[derive(Debug, Default)]
pub(super) struct Lines {
    begun: Vec<u8>,
}

impl Lines {
    /// Takes the next bytes of the stream, and calls `record` for each line that they complete.
    pub(super) fn add(&mut self, bytes: &[u8], mut record: impl FnMut(Body)) {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.extend(&rest[..end]);
            record(body(&self.begun));
            self.begun.clear();
            rest = &rest[end + 1..];
        }
        self.extend(rest);
    }

    /// The last line, if the stream ended without a line feed.
    pub(super) fn finish(self) -> Option<Body> {
        (!self.begun.is_empty()).then(|| body(&self.begun))
    }

    fn extend(&mut self, bytes: &[u8]) {
        let room = MAX_LINE.saturating_sub(self.begun.len());
        self.begun.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

/// A JSON value, or text. White space around JSON, such as the `\r` of CRLF, is not part of the value.
fn body(line: &[u8]) -> Body {
    match serde_json::from_slice(line) {
        Ok(value) => Body::Json(value),
        Err(_) => Body::Text(String::from_utf8_lossy(line).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn recorded(chunks: &[&[u8]]) -> (Vec<Body>, Option<Body>) {
        let (mut lines, mut found) = (Lines::default(), Vec::new());
        for chunk in chunks {
            lines.add(chunk, |body| found.push(body));
        }
        (found, lines.finish())
    }

    #[test]
    fn a_line_may_come_in_several_reads_and_end_with_crlf() {
        let (found, rest) = recorded(&[b"{\"a\"", b":1}\r", b"\n{\"b\":2}\n\nnot ", b"json\r\n"]);
        let text = |text: &str| Body::Text(text.to_owned());
        assert_eq!(found, [Body::json(json!({"a": 1})), Body::json(json!({"b": 2})), text(""), text("not json\r")]);
        assert_eq!(rest, None);
    }

    #[test]
    fn the_last_line_needs_no_line_feed() {
        assert_eq!(recorded(&[b"{\"a\":"]).1, Some(Body::Text("{\"a\":".to_owned())));
        assert_eq!(recorded(&[b"\xff\n"]).0, [Body::Text("\u{fffd}".to_owned())]);
    }

    #[test]
    fn a_line_without_end_does_not_fill_the_memory() {
        let mut lines = Lines::default();
        let chunk = vec![b'x'; 1 << 20];
        for _ in 0..20 {
            lines.add(&chunk, |_| panic!("no line ended"));
        }
        assert_eq!(lines.begun.len(), MAX_LINE);
    }
}
