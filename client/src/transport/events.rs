//! Server-sent events from an HTTP body, with a size limit, read as the HTML standard interprets them (9.2.6): unknown fields,
//! lines without a colon and other text than a number in `retry` are ignored. Published parsers for Rust end the stream there.
//!
//! Of an event beyond the limit, the first and the last bytes are kept. A line of data marks it for [`is_oversize`].

use std::collections::VecDeque;

use bytes::Bytes;
use futures::{Stream, StreamExt, stream, stream::BoxStream};
use serde_json::Value;
use sse_stream::{Error as SseError, Sse};

use super::json_scan::JsonScan;

/// Prefix of the last data line of a truncated event. JSON cannot contain the character zero (RFC 8259, section 7).
const OVERSIZE: &str = "\u{0}mcp-workbench/oversize";
/// Number of bytes that are kept from the end of a truncated event.
const TAIL_BYTES: usize = 512;
/// Maximum length of an event that is skipped, as a multiple of the limit.
const MAX_SKIPPED: usize = 64;

/// An event that exceeds the length of skipped events.
#[derive(Debug, thiserror::Error)]
#[error("an event goes on after {read} bytes, the limit is {limit}")]
pub(crate) struct Endless {
    limit: usize,
    read: usize,
}

/// The events of a body.
pub(crate) fn events(body: reqwest::Response, limit: usize) -> BoxStream<'static, Result<Sse, SseError>> {
    bounded(body.bytes_stream().map(|chunk| chunk.map_err(|error| Box::new(error) as crate::error::Cause)), limit)
}

/// Whether an event was truncated.
pub(crate) fn is_oversize(event: &Sse) -> bool {
    last_line(event).1.starts_with(OVERSIZE)
}

/// The id of the request that a truncated event responds to, if it is known. `asked` is the request of the stream.
pub(crate) fn response_id(event: &Sse, request_id: Option<Value>) -> Option<Value> {
    let (head, tail) = last_line(event);
    let mut json_scan = JsonScan::default();
    json_scan.pass(head.as_bytes());
    if json_scan.is_question() {
        return None;
    }
    request_id.or_else(|| json_scan.response_id()).or_else(|| last_member(tail))
}

/// The data of an event without its last line, and that line.
fn last_line(event: &Sse) -> (&str, &str) {
    let data = event.data.as_deref().unwrap_or_default();
    data.rsplit_once('\n').unwrap_or(("", data))
}

/// The id at the end of a message, where some servers write it.
fn last_member(tail: &str) -> Option<Value> {
    let (_, rest) = tail.rsplit_once("\"id\"")?;
    let mut values = serde_json::Deserializer::from_str(rest.trim_start().strip_prefix(':')?).into_iter::<Value>();
    let id = values.next()?.ok()?;
    let rest: String = rest.trim_start()[1 + values.byte_offset()..].split_whitespace().collect();
    matches!(rest.as_str(), "}" | ",\"jsonrpc\":\"2.0\"}").then_some(id)
}

fn bounded(
    body: impl Stream<Item = Result<Bytes, crate::error::Cause>> + Send + 'static,
    limit: usize,
) -> BoxStream<'static, Result<Sse, SseError>> {
    let parser = Parser { limit, line_is_empty: true, ..Parser::default() };
    let chunks = body.map(Some).chain(stream::iter([None]));
    let events = chunks.scan(parser, |parser, chunk| {
        let read = match chunk {
            Some(Ok(chunk)) => parser.read(&chunk),
            Some(Err(error)) => Err(SseError::Body(error)),
            None => {
                parser.end();
                Ok(())
            }
        };
        let events: Vec<_> = parser.ready.drain(..).map(Ok).chain(read.err().map(Err)).collect();
        std::future::ready(Some(stream::iter(events)))
    });
    events.flatten().boxed()
}

/// The state between two chunks.
#[derive(Debug, Default)]
struct Parser {
    limit: usize,
    /// The line without its end.
    line: Vec<u8>,
    line_is_empty: bool,
    /// Whether the last byte was a carriage return. A line feed after it belongs to the same line end.
    after_return: bool,
    /// Whether a line was read. The first one may begin with a byte order mark.
    has_begun: bool,
    /// The event so far.
    event: Option<Sse>,
    /// Number of bytes of the event so far.
    length: usize,
    /// The last bytes of an event that exceeds the limit.
    tail: Option<VecDeque<u8>>,
    ready: Vec<Sse>,
}

impl Parser {
    fn read(&mut self, mut chunk: &[u8]) -> Result<(), SseError> {
        while let Some(at) = chunk.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
            self.read_text(&chunk[..at])?;
            let is_second_half = std::mem::replace(&mut self.after_return, chunk[at] == b'\r') && chunk[at] == b'\n';
            if !is_second_half {
                self.end_line()?;
            }
            chunk = &chunk[at + 1..];
        }
        self.read_text(chunk)
    }

    /// Reads a part of a line.
    fn read_text(&mut self, part: &[u8]) -> Result<(), SseError> {
        if part.is_empty() {
            return Ok(());
        }
        (self.line_is_empty, self.after_return) = (false, false);
        let (kept, rest) = part.split_at(part.len().min(self.limit.saturating_sub(self.length)));
        self.length += part.len();
        if self.tail.is_none() {
            self.line.extend_from_slice(kept);
        }
        if rest.is_empty() {
            return Ok(());
        }
        if self.tail.is_none() {
            let line = std::mem::take(&mut self.line);
            self.read_line(&String::from_utf8_lossy(&line));
        }
        self.keep_tail(rest);
        if self.length > self.limit.saturating_mul(MAX_SKIPPED) {
            return Err(SseError::Body(Box::new(Endless { limit: self.limit, read: self.length })));
        }
        Ok(())
    }

    fn keep_tail(&mut self, part: &[u8]) {
        let tail = self.tail.get_or_insert_default();
        tail.extend(&part[part.len().saturating_sub(TAIL_BYTES)..]);
        tail.drain(..tail.len().saturating_sub(TAIL_BYTES));
    }

    fn end_line(&mut self) -> Result<(), SseError> {
        self.length += 1;
        if std::mem::replace(&mut self.line_is_empty, true) {
            self.end_event();
        } else if self.tail.is_some() {
            self.keep_tail(b" ");
        } else {
            let line = std::mem::take(&mut self.line);
            self.read_line(std::str::from_utf8(&line).map_err(SseError::Utf8Parse)?);
        }
        Ok(())
    }

    fn end_event(&mut self) {
        self.length = 0;
        if let Some(tail) = self.tail.take() {
            let tail: Vec<u8> = tail.into();
            self.read_line(&format!("data: {OVERSIZE} {}", String::from_utf8_lossy(&tail)));
        }
        self.ready.extend(self.event.take());
    }

    fn read_line(&mut self, mut line: &str) {
        if !std::mem::replace(&mut self.has_begun, true) {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        let event = &mut self.event;
        match name {
            "data" => match &mut event.get_or_insert_default().data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                data => *data = Some(value.to_owned()),
            },
            "event" => event.get_or_insert_default().event = Some(value.to_owned()),
            "id" if !value.contains('\0') => event.get_or_insert_default().id = Some(value.to_owned()),
            "retry" if value.bytes().all(|byte| byte.is_ascii_digit()) => {
                event.get_or_insert_default().retry = value.parse().ok();
            }
            _ => {}
        }
    }

    /// The end of the body. An incomplete event is dropped, except for one that is reported because it exceeds the limit.
    fn end(&mut self) {
        if self.tail.is_some() {
            self.end_event();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    async fn read(text: &str, piece: usize, limit: usize) -> Vec<Sse> {
        let chunks: Vec<_> = text.as_bytes().chunks(piece).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        bounded(futures::stream::iter(chunks), limit).map(Result::unwrap).collect().await
    }

    #[tokio::test]
    async fn bounds_one_event_but_not_the_stream() {
        let text = "data: 1234567\n\ndata: 1234567\r\n\r\ndata: 12345678901234567890\n\ndata: 1\n\ndata: 2345\ndata: \
                    67890\ndata: 1\n\n";
        for piece in [1, 7, 1_000] {
            let events = read(text, piece, 20).await;
            let oversize: Vec<_> = events.iter().map(is_oversize).collect();
            assert_eq!(oversize, [false, false, true, false, true], "in pieces of {piece}");
            assert_eq!(events[3].data.as_deref(), Some("1"), "in pieces of {piece}");
        }
        let returns = text.replace("\r\n", "\n").replace('\n', "\r");
        let oversize: Vec<_> = read(&returns, 7, 20).await.iter().map(is_oversize).collect();
        assert_eq!(oversize, [false, false, true, false, true], "with carriage returns alone");
        let cut_off = read("data: 12345678901234567890", 4, 20).await;
        assert!(is_oversize(&cut_off[0]));
    }

    #[tokio::test]
    async fn tells_which_request_an_event_answers() {
        let padding = "x".repeat(2_000);
        let check = async |message: String, request_id: Option<Value>, expected: Option<Value>| {
            // Official servers name their events.
            for text in [format!("id: 7\ndata: {message}\n\n"), format!("event: message\nid: 7\ndata: {message}\n\n")] {
                let events = read(&text, 100, 200).await;
                assert!(is_oversize(&events[0]), "{message}");
                assert_eq!(response_id(&events[0], request_id.clone()), expected, "{message}");
            }
        };
        let first = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"a":"{padding}"}}}}"#);
        let last = |id: &str| format!(r#"{{"result":{{"a":"{padding}","b":{{"id":9}}}},"jsonrpc":"2.0","id":{id}}}"#);
        check(first("7"), None, Some(json!(7))).await;
        check(last("7"), None, Some(json!(7))).await;
        check(last("\"a\""), None, Some(json!("a"))).await;
        check(format!(r#"{{"result":{{"a":"{padding}","b":{{"id":9}}}},"jsonrpc":"2.0"}}"#), None, None).await;
        check(format!(r#"{{"result":{{"a":"{padding}"}},"id":7,"jsonrpc":"2.0"}}"#), None, Some(json!(7))).await;
        check(padding.clone(), Some(json!(5)), Some(json!(5))).await;
        let notification = format!(r#"{{"method":"notifications/message","params":{{"data":"{padding}"}}}}"#);
        check(notification, Some(json!(5)), None).await;
    }

    /// Of the HTML standard, 9.2.6: fields that it does not define, and other text than digits in `retry`, are ignored.
    #[tokio::test]
    async fn unknown_fields_and_invalid_values_are_ignored() {
        let text = "\u{feff}: comment\nx-unknown: 1\nanything\nretry: soon\nid: 1\nid: 2\nid: a\0b\nevent: a\nevent: b\n\
                    data: \u{e4}\ndata\ndata:  c\n\nretry: 20\n\ndata: incomplete\n";
        for text in [text.to_owned(), text.replace('\n', "\r\n"), text.replace('\n', "\r")] {
            for piece in [1, 2, 3, 1_000] {
                let events = read(&text, piece, 1_000).await;
                let first = Sse {
                    event: Some("b".to_owned()),
                    data: Some("\u{e4}\n\n c".to_owned()),
                    id: Some("2".to_owned()),
                    retry: None,
                };
                assert_eq!(
                    events,
                    [first, Sse { retry: Some(20), ..Sse::default() }],
                    "in pieces of {piece}: {text:?}"
                );
            }
        }
        let invalid = futures::stream::iter([Ok(Bytes::from_static(b"data: \xff\n\n"))]);
        let events: Vec<_> = bounded(invalid, 20).collect().await;
        assert!(matches!(events[..], [Err(SseError::Utf8Parse(_)), ..]));
    }

    #[tokio::test]
    async fn gives_up_an_event_without_end() {
        let chunks = futures::stream::repeat_with(|| Ok(Bytes::from_static(&[b'x'; 100])));
        let events: Vec<_> = bounded(chunks, 20).take(1).collect().await;
        assert!(events[0].is_err());
    }
}
