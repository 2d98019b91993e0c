//! Server-sent events as the HTML standard interprets them (server-sent events, 9.2.6), with what a validation needs in
//! addition: events without data, and the text of `retry`. Parsers for applications drop both, and some end the stream at a
//! field that the standard ignores.

use std::{collections::VecDeque, io, pin::Pin};

use bytes::Bytes;
use futures::{Stream, StreamExt};

/// One event, without its comments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerEvent {
    /// `event`.
    pub event: Option<String>,
    /// The lines of `data`.
    pub data: Option<String>,
    /// `id`.
    pub id: Option<String>,
    /// `retry` as sent.
    pub retry: Option<String>,
}

/// The events of a body.
pub(super) struct ServerEvents {
    body: Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>,
    parser: EventParser,
    ready: VecDeque<ServerEvent>,
}

impl ServerEvents {
    pub(super) fn new(body: impl Stream<Item = io::Result<Bytes>> + Send + 'static) -> Self {
        Self { body: Box::pin(body), parser: EventParser::default(), ready: VecDeque::new() }
    }

    /// The next event; `None` at the end. An incomplete event at the end is none.
    ///
    /// # Errors
    /// If the body breaks off, or is not UTF-8.
    pub(super) async fn next(&mut self) -> Option<io::Result<ServerEvent>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            match self.body.next().await? {
                Ok(chunk) => {
                    if let Err(error) = self.parser.read(&chunk, &mut self.ready) {
                        return Some(Err(error));
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// Parses events from the bytes of a body. The caller limits how many bytes one event may have.
#[derive(Debug, Default)]
pub struct EventParser {
    line: Vec<u8>,
    /// Whether a line feed belongs to the last line end.
    skips_line_feed: bool,
    /// Whether a line was read, which may begin with a byte order mark.
    has_begun: bool,
    event: Option<ServerEvent>,
}

impl EventParser {
    /// Reads the next bytes, and adds the events that they complete.
    ///
    /// # Errors
    /// If the bytes are not UTF-8.
    pub fn read(&mut self, chunk: &[u8], ready: &mut VecDeque<ServerEvent>) -> io::Result<()> {
        for byte in chunk {
            let skips = std::mem::replace(&mut self.skips_line_feed, *byte == b'\r');
            match byte {
                b'\n' if skips => {}
                b'\r' | b'\n' => self.end_line(ready)?,
                other => self.line.push(*other),
            }
        }
        Ok(())
    }

    fn end_line(&mut self, ready: &mut VecDeque<ServerEvent>) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8(line).map_err(|_| io::Error::other("the stream of events is not UTF-8"))?;
        let mut line = line.as_str();
        if !std::mem::replace(&mut self.has_begun, true) {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        if line.is_empty() {
            ready.extend(self.event.take());
            return Ok(());
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        if !matches!(name, "event" | "data" | "id" | "retry") {
            return Ok(());
        }
        let event = self.event.get_or_insert_default();
        match name {
            "event" => event.event = Some(value.to_owned()),
            "id" if !value.contains('\0') => event.id = Some(value.to_owned()),
            "retry" => event.retry = Some(value.to_owned()),
            "data" => match &mut event.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => event.data = Some(value.to_owned()),
            },
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use futures::stream;

    use super::*;

    async fn parsed(chunks: &[&[u8]]) -> Vec<io::Result<ServerEvent>> {
        let chunks: Vec<_> = chunks.iter().map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect();
        let mut events = ServerEvents::new(stream::iter(chunks));
        let mut all = Vec::new();
        while let Some(event) = events.next().await {
            let is_error = event.is_err();
            all.push(event);
            if is_error {
                break;
            }
        }
        all
    }

    async fn only(text: &str) -> ServerEvent {
        let mut events = parsed(&[text.as_bytes()]).await;
        assert_eq!(events.len(), 1, "{text:?}");
        events.remove(0).unwrap()
    }

    fn data(text: &str) -> ServerEvent {
        ServerEvent { data: Some(text.to_owned()), ..ServerEvent::default() }
    }

    #[tokio::test]
    async fn fields_comments_and_line_ends_are_read_as_in_the_standard() {
        for text in ["data: a\n\n", "data:a\r\n\r\n", "data: a\r\r", "\u{feff}data: a\n\n", ": x\ndata: a\n\n"] {
            assert_eq!(only(text).await, data("a"), "{text:?}");
        }
        assert_eq!(only("data: a\ndata:  b\n\n").await, data("a\n b"));
        assert_eq!(only("data\n\n").await, data(""));
        let full = ServerEvent {
            event: Some("message".to_owned()),
            data: Some("a".to_owned()),
            id: Some("2".to_owned()),
            retry: Some("soon".to_owned()),
        };
        assert_eq!(only("id: 1\nid: 2\nx-unknown: y\nanything\nevent: message\nretry: soon\ndata: a\n\n").await, full);
    }

    #[tokio::test]
    async fn an_event_may_have_only_an_id() {
        let event = ServerEvent { id: Some("7".to_owned()), ..ServerEvent::default() };
        assert_eq!(only("id: 7\n\n").await, event);
        assert!(parsed(&[b": ping\n\n"]).await.is_empty());
    }

    #[tokio::test]
    async fn chunks_may_end_anywhere() {
        let text = "id: 1\r\ndata: \u{e4}\r\n\r\ndata: b\n\n".as_bytes();
        for cut in 0..text.len() {
            let (one, other) = text.split_at(cut);
            let events: Vec<_> = parsed(&[one, other]).await.into_iter().map(Result::unwrap).collect();
            assert_eq!(events.len(), 2, "{cut}");
            assert_eq!(events[0].data.as_deref(), Some("\u{e4}"));
            assert_eq!(events[1], data("b"));
        }
    }

    #[tokio::test]
    async fn an_event_without_end_is_none_and_other_bytes_than_utf8_are_an_error() {
        assert!(parsed(&[b"data: a\n"]).await.is_empty());
        assert!(parsed(&[b"data: \xff\n\n"]).await[0].is_err());
    }
}
