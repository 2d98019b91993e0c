//! Server-sent events from an HTTP body, with a size limit.
//!
//! The parser buffers events without a limit. Bytes beyond the limit are therefore removed first, and a line of data
//! marks the event for [`is_oversize`]. The event name is preserved: the parser rejects events with two.

use std::{
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures::{
    Stream, StreamExt,
    stream::{BoxStream, Fuse},
};
use serde_json::Value;
use sse_stream::{Error as SseError, Sse, SseStream};

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
    let bounded =
        Bounded { body: body.boxed().fuse(), limit, length: 0, line_empty: true, after_return: false, swallowed: None };
    SseStream::from_bytes_stream(bounded.map(|chunk| chunk.map_err(Wrapped))).boxed()
}

/// The parser requires an error type that implements `Error`.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Wrapped(crate::error::Cause);

/// The removed part of an oversized event.
#[derive(Debug)]
struct Swallowed {
    /// Whether the parser's part ends with a line.
    after_line: bool,
    tail: VecDeque<u8>,
}

impl Swallowed {
    fn keep(&mut self, byte: u8) {
        if self.tail.len() == TAIL_BYTES {
            self.tail.pop_front();
        }
        self.tail.push_back(if matches!(byte, b'\r' | b'\n') { b' ' } else { byte });
    }

    /// The lines that end the event for the parser.
    fn into_end(self) -> Vec<u8> {
        let mut end = Vec::with_capacity(TAIL_BYTES + 64);
        if !self.after_line {
            end.push(b'\n');
        }
        end.extend_from_slice(format!("data: {OVERSIZE} ").as_bytes());
        end.extend(self.tail);
        end.extend_from_slice(b"\n\n");
        end
    }
}

/// Counts the bytes since the last empty line.
struct Bounded {
    body: Fuse<BoxStream<'static, Result<Bytes, crate::error::Cause>>>,
    limit: usize,
    length: usize,
    line_empty: bool,
    after_return: bool,
    swallowed: Option<Swallowed>,
}

impl Bounded {
    /// Returns the part of a chunk for the parser.
    fn admit(&mut self, chunk: Bytes) -> Result<Bytes, Endless> {
        let mut admitted: Option<Vec<u8>> = None;
        let mut from = 0;
        for (at, byte) in chunk.iter().copied().enumerate() {
            // A line ends with a line feed, a carriage return, or both (WHATWG HTML, 9.2.5).
            let second_half = std::mem::replace(&mut self.after_return, byte == b'\r') && byte == b'\n';
            let ends_line = matches!(byte, b'\r' | b'\n') && !second_half;
            let ends_event = ends_line && self.line_empty;
            self.line_empty = ends_line || (second_half && self.line_empty);
            self.length = if ends_event { 0 } else { self.length + 1 };
            match self.swallowed.take() {
                Some(swallowed) if ends_event => {
                    admitted.get_or_insert_default().extend(swallowed.into_end());
                    from = at + 1;
                }
                Some(mut swallowed) => {
                    swallowed.keep(byte);
                    self.swallowed = Some(swallowed);
                    if self.length > self.limit.saturating_mul(MAX_SKIPPED) {
                        return Err(Endless { limit: self.limit, read: self.length });
                    }
                }
                None if self.length > self.limit => {
                    admitted.get_or_insert_default().extend_from_slice(&chunk[from..=at]);
                    self.swallowed = Some(Swallowed { after_line: ends_line || second_half, tail: VecDeque::new() });
                }
                None => {}
            }
        }
        let rest = if self.swallowed.is_some() { &[][..] } else { &chunk[from..] };
        Ok(match admitted {
            Some(mut admitted) => {
                admitted.extend_from_slice(rest);
                admitted.into()
            }
            None if self.swallowed.is_some() => Bytes::new(),
            None => chunk,
        })
    }
}

impl Stream for Bounded {
    type Item = Result<Bytes, crate::error::Cause>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(match std::task::ready!(self.body.poll_next_unpin(context)) {
            Some(Ok(chunk)) => Some(self.admit(chunk).map_err(Into::into)),
            None => self.swallowed.take().map(|swallowed| Ok(swallowed.into_end().into())),
            failed => failed,
        })
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

    #[tokio::test]
    async fn gives_up_an_event_without_end() {
        let chunks = futures::stream::repeat_with(|| Ok(Bytes::from_static(&[b'x'; 100])));
        let events: Vec<_> = bounded(chunks, 20).take(1).collect().await;
        assert!(events[0].is_err());
    }
}
