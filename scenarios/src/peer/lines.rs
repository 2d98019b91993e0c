//! Splits the standard output of a server into messages, and recovers those that violate the framing.
//!
//! A message is one line of UTF-8 that ends with a newline (2025-11-25 and 2026-07-28, basic/transports, stdio). A run should
//! continue with a server that violates this, so that its other behavior is judged too.

use serde_json::Value;

/// Maximum number of bytes that are collected for one message over several lines.
const MAX_COLLECTED: usize = 1 << 20;

/// A part of the output.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Output {
    /// A line with a JSON value.
    Message(Value),
    /// A JSON value, and the text that violates the framing.
    Recovered(Value, String),
    /// Text that is not JSON.
    Text(String),
}

/// The output that was read, but is not complete.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// Bytes after the last newline.
    rest: Vec<u8>,
    /// Lines that are the beginning of a JSON value.
    begun: String,
}

impl Lines {
    /// Number of bytes after the last newline.
    pub(super) fn pending(&self) -> usize {
        self.rest.len()
    }

    /// Adds bytes, and returns what they complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Output> {
        let mut found = Vec::new();
        let mut parts = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(part) = parts.next() {
            self.rest.extend_from_slice(part);
            if parts.peek().is_some() {
                let line = std::mem::take(&mut self.rest);
                self.line(&line, &mut found);
            }
        }
        found
    }

    /// Takes messages that no newline terminates. For a server that was silent for a while.
    pub(super) fn recover(&mut self) -> Vec<Output> {
        let rest = String::from_utf8_lossy(&self.rest).into_owned();
        let pieces: Vec<&str> = rest.split_inclusive('\r').filter(|piece| !piece.trim().is_empty()).collect();
        let values: Vec<Value> =
            pieces.iter().filter_map(|piece| serde_json::from_str(strip_mark(piece)).ok()).collect();
        if !pieces.is_empty() && values.len() == pieces.len() {
            self.rest.clear();
            let texts = pieces.into_iter().map(str::to_owned);
            return values.into_iter().zip(texts).map(|(value, text)| Output::Recovered(value, text)).collect();
        }
        let text = format!("{}{rest}", self.begun);
        let Ok(value) = serde_json::from_str(strip_mark(&text)) else { return Vec::new() };
        self.rest.clear();
        self.begun.clear();
        vec![Output::Recovered(value, text)]
    }

    /// Takes what is left at the end of the output.
    pub(super) fn finish(&mut self) -> Vec<Output> {
        let mut found = self.recover();
        let begun = std::mem::take(&mut self.begun);
        found.extend(begun.lines().map(|line| Output::Text(line.to_owned())));
        let rest = std::mem::take(&mut self.rest);
        if !rest.is_empty() {
            found.push(Output::Text(String::from_utf8_lossy(&rest).into_owned()));
        }
        found
    }

    fn line(&mut self, line: &[u8], found: &mut Vec<Output>) {
        // A carriage return before the newline is whitespace of JSON.
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let utf8 = std::str::from_utf8(line);
        let text = utf8.map_or_else(|_| String::from_utf8_lossy(line).into_owned(), str::to_owned);
        match serde_json::from_str::<Value>(strip_mark(&text)) {
            // Part of a message over several lines may be JSON by itself.
            Ok(value) if self.begun.is_empty() || value.get("jsonrpc").is_some() => {
                self.drop_begun(found);
                let intact = utf8.is_ok() && !text.starts_with(BYTE_ORDER_MARK);
                found.push(if intact { Output::Message(value) } else { Output::Recovered(value, text) });
            }
            Err(cause) if self.begun.is_empty() && !(cause.is_eof() && begins_a_container(&text)) => {
                found.extend(messages_before_text(&text));
            }
            _ => self.collect(&text, found),
        }
    }

    /// Adds a line to a message over several lines.
    fn collect(&mut self, line: &str, found: &mut Vec<Output>) {
        self.begun.push_str(line);
        self.begun.push('\n');
        match serde_json::from_str(strip_mark(&self.begun)) {
            Ok(value) => found.push(Output::Recovered(value, std::mem::take(&mut self.begun))),
            Err(cause) if !serde_json::Error::is_eof(&cause) || self.begun.len() > MAX_COLLECTED => {
                self.drop_begun(found)
            }
            Err(_) => {}
        }
    }

    /// The collected lines are not a message.
    fn drop_begun(&mut self, found: &mut Vec<Output>) {
        let begun = std::mem::take(&mut self.begun);
        found.extend(begun.lines().map(|line| Output::Text(line.to_owned())));
    }
}

/// The messages with which a line begins, and the text after them. No newline ended them: the next message, or a header such as
/// `Content-Length`, came at once.
fn messages_before_text(line: &str) -> Vec<Output> {
    let mut found = Vec::new();
    let mut values = serde_json::Deserializer::from_str(line).into_iter::<Value>();
    let mut end = 0;
    while let Some(Ok(value)) = values.next() {
        if value.get("jsonrpc").is_none() {
            break;
        }
        let begin = std::mem::replace(&mut end, values.byte_offset());
        found.push(Output::Recovered(value, line[begin..end].to_owned()));
    }
    if end == 0 || end < line.len() {
        found.push(Output::Text(line[end..].to_owned()));
    }
    found
}

const BYTE_ORDER_MARK: char = '\u{feff}';

fn strip_mark(text: &str) -> &str {
    text.trim_start_matches(BYTE_ORDER_MARK)
}

fn begins_a_container(text: &str) -> bool {
    strip_mark(text).trim_start().starts_with(['{', '['])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn one(bytes: &[u8]) -> Vec<Output> {
        Lines::default().push(bytes)
    }

    #[test]
    fn splits_lines_however_they_arrive() {
        let text = b"{\"a\":1}\n{\"a\":2}\r\nno json\n\n";
        let whole = one(text);
        assert_eq!(
            whole,
            [
                Output::Message(json!({ "a": 1 })),
                Output::Message(json!({ "a": 2 })),
                Output::Text("no json".to_owned()),
                Output::Text(String::new()),
            ]
        );
        let mut lines = Lines::default();
        let bytewise: Vec<Output> = text.iter().flat_map(|byte| lines.push(&[*byte])).collect();
        assert_eq!(bytewise, whole);
    }

    #[test]
    fn recovers_a_message_over_several_lines() {
        let text = "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"result\": {}\n}\n";
        let value = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
        assert_eq!(one(text.as_bytes()), [Output::Recovered(value, text.to_owned())]);
    }

    #[test]
    fn drops_a_beginning_that_nothing_completes() {
        let found = one(b"{ starting\n[1,\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
        let value = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
        let text = |text: &str| Output::Text(text.to_owned());
        assert_eq!(found, [text("{ starting"), text("[1,"), Output::Message(value)]);
    }

    #[test]
    fn recovers_after_a_byte_order_mark_and_beside_invalid_utf8() {
        assert_eq!(
            one("\u{feff}{\"a\":1}\n".as_bytes()),
            [Output::Recovered(json!({ "a": 1 }), "\u{feff}{\"a\":1}".to_owned())]
        );
        let text = "{\"a\":\"\u{fffd}\"}".to_owned();
        assert_eq!(one(b"{\"a\":\"\xff\"}\n"), [Output::Recovered(json!({ "a": "\u{fffd}" }), text)]);
    }

    #[test]
    fn recovers_messages_without_a_newline_only_if_they_are_complete() {
        let mut lines = Lines::default();
        assert_eq!(lines.push(b"{\"a\":1}\r{\"a\""), []);
        assert_eq!(lines.recover(), []);
        assert_eq!(lines.push(b":2}\r"), []);
        let piece = |number| Output::Recovered(json!({ "a": number }), format!("{{\"a\":{number}}}\r"));
        assert_eq!(lines.recover(), [piece(1), piece(2)]);
        assert_eq!(lines.push(b"Content-Length: 7\r\n\r\n{\"a\":3}").len(), 2);
        assert_eq!(lines.recover(), [Output::Recovered(json!({ "a": 3 }), "{\"a\":3}".to_owned())]);
        assert_eq!(lines.pending(), 0);
    }

    #[test]
    fn recovers_messages_that_share_a_line_with_others_or_with_text() {
        let message = |id: u64| json!({ "jsonrpc": "2.0", "id": id, "result": {} });
        let recovered = |id| Output::Recovered(message(id), message(id).to_string());
        let line = format!("{}{}Content-Length: 7\r\n", message(1), message(2));
        assert_eq!(one(line.as_bytes()), [recovered(1), recovered(2), Output::Text("Content-Length: 7".to_owned())]);
        assert_eq!(one(format!("{}{}\n", message(1), message(2)).as_bytes()), [recovered(1), recovered(2)]);
        let log = "{\"level\":\"info\"} started";
        assert_eq!(one(format!("{log}\n").as_bytes()), [Output::Text(log.to_owned())]);
    }

    #[test]
    fn keeps_the_rest_at_the_end() {
        let mut lines = Lines::default();
        assert_eq!(lines.push(b"{\"a\":\n{\"b\""), []);
        assert_eq!(lines.finish(), [Output::Text("{\"a\":".to_owned()), Output::Text("{\"b\"".to_owned())]);
    }
}
