//! Incremental parsing of HTTP/1.1 responses: a JSON body, or server-sent events. Pure: bytes in, messages out.

use thiserror::Error;

use super::events::EventReader;

/// Maximum size of a response in bytes.
pub(super) const MAX_BYTES: usize = 16 * 1024 * 1024;
/// Maximum size of a response head in bytes.
const MAX_HEAD: usize = 64 * 1024;
/// Free space for one read, in bytes.
const READ_BYTES: usize = 16 * 1024;
/// Maximum number of headers.
const MAX_HEADERS: usize = 96;

/// A response that is not valid HTTP, or too long.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum InvalidResponse {
    /// The head or a chunk has a syntax error.
    #[error("invalid HTTP response: {0}")]
    Syntax(String),
    /// The connection was closed within the response.
    #[error("the connection was closed within the response")]
    Closed,
    /// It exceeds the limit.
    #[error("the response has more than {MAX_BYTES} bytes")]
    TooLong,
}

/// The type of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// `application/json`.
    Json,
    /// `text/event-stream`.
    Events,
    /// Another type, or none.
    Other,
}

/// The end of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Length(usize),
    Chunked,
    /// It ends with the connection.
    Close,
}

/// The parsed head of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) content: Content,
    /// Whether the connection can be used again.
    pub(super) keep_alive: bool,
    framing: Framing,
}

/// The next part of a chunked body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chunk {
    Size,
    Data(usize),
    DataEnd,
    Trailer,
}

/// Reads one response after the other from a connection.
#[derive(Debug)]
pub(super) struct ResponseReader {
    /// Received bytes; the first `filled` are valid.
    buffer: Vec<u8>,
    filled: usize,
    /// Start of the bytes that were not consumed.
    at: usize,
    head: Option<Head>,
    /// The body, unless it is a range of the buffer.
    body: Vec<u8>,
    chunk: Chunk,
    done: bool,
    events: EventReader,
}

impl ResponseReader {
    pub(super) fn new() -> Self {
        Self {
            buffer: vec![0; READ_BYTES],
            filled: 0,
            at: 0,
            head: None,
            body: Vec::new(),
            chunk: Chunk::Size,
            done: false,
            events: EventReader::default(),
        }
    }

    /// Free space for a read.
    pub(super) fn space(&mut self) -> &mut [u8] {
        if self.buffer.len() - self.filled < READ_BYTES / 2 {
            self.buffer.resize(self.buffer.len() + READ_BYTES, 0);
        }
        &mut self.buffer[self.filled..]
    }

    /// Parses bytes that were read into the space. Returns whether the response is complete.
    pub(super) fn received(&mut self, count: usize) -> Result<bool, InvalidResponse> {
        self.filled += count;
        if self.head.is_none() && !self.read_head()? {
            return Ok(false);
        }
        let Some(head) = self.head else { return Ok(false) };
        match head.framing {
            Framing::Length(length) => {
                self.done = self.filled - self.at >= length;
                if self.done || head.content == Content::Events {
                    let end = self.filled.min(self.at + length);
                    if head.content == Content::Events {
                        let from = self.at + self.body.len();
                        self.body.extend_from_slice(&self.buffer[from..end]);
                    }
                }
            }
            Framing::Chunked => self.done = self.read_chunks()?,
            Framing::Close => {
                self.body.extend_from_slice(&self.buffer[self.at..self.filled]);
                self.at = self.filled;
            }
        }
        if self.filled.max(self.body.len()) > MAX_BYTES {
            return Err(InvalidResponse::TooLong);
        }
        Ok(self.done)
    }

    /// The connection was closed. Returns whether the response is complete.
    pub(super) fn closed(&mut self) -> Result<bool, InvalidResponse> {
        match self.head {
            Some(Head { framing: Framing::Close, .. }) => {
                self.done = true;
                Ok(true)
            }
            _ => Err(InvalidResponse::Closed),
        }
    }

    /// The head, once it is complete.
    pub(super) fn head(&self) -> Option<Head> {
        self.head
    }

    /// The body of a complete response.
    pub(super) fn body(&self) -> &[u8] {
        match self.head {
            Some(Head { framing: Framing::Length(length), content: Content::Json | Content::Other, .. }) => {
                &self.buffer[self.at..(self.at + length).min(self.filled)]
            }
            _ => &self.body,
        }
    }

    /// The data of the next complete event.
    pub(super) fn next_event(&mut self) -> Option<Vec<u8>> {
        self.events.next(&self.body)
    }

    /// Prepares for the next response. Returns whether the connection is in order: nothing follows the response.
    pub(super) fn reset(&mut self) -> bool {
        let consumed = match self.head {
            Some(Head { framing: Framing::Length(length), .. }) => self.at + length,
            _ => self.at,
        };
        let in_order = self.done && consumed == self.filled;
        (self.filled, self.at) = (0, 0);
        self.head = None;
        self.done = false;
        self.chunk = Chunk::Size;
        self.body.clear();
        self.events.reset();
        in_order
    }

    /// Parses the head, after any interim responses. Returns whether it is complete.
    fn read_head(&mut self) -> Result<bool, InvalidResponse> {
        loop {
            let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
            let mut response = httparse::Response::new(&mut headers);
            let parsed = response.parse(&self.buffer[self.at..self.filled]);
            let length = match parsed.map_err(|cause| InvalidResponse::Syntax(cause.to_string()))? {
                httparse::Status::Partial if self.filled - self.at > MAX_HEAD => return Err(InvalidResponse::TooLong),
                httparse::Status::Partial => return Ok(false),
                httparse::Status::Complete(length) => length,
            };
            let head = head_of(&response)?;
            self.at += length;
            // 100 and other interim responses precede the final one (RFC 9110, 15.2).
            if !(100..200).contains(&head.status) {
                self.head = Some(head);
                return Ok(true);
            }
        }
    }

    /// Decodes chunks (RFC 9112, 7.1). Returns whether the body is complete.
    fn read_chunks(&mut self) -> Result<bool, InvalidResponse> {
        let invalid = || InvalidResponse::Syntax("invalid chunk".to_owned());
        loop {
            let rest = &self.buffer[self.at..self.filled];
            match self.chunk {
                Chunk::Size => match httparse::parse_chunk_size(rest).map_err(|_| invalid())? {
                    httparse::Status::Partial => return Ok(false),
                    httparse::Status::Complete((used, size)) => {
                        self.at += used;
                        let size = usize::try_from(size).ok().filter(|size| *size <= MAX_BYTES);
                        self.chunk = match size.ok_or(InvalidResponse::TooLong)? {
                            0 => Chunk::Trailer,
                            size => Chunk::Data(size),
                        };
                    }
                },
                Chunk::Data(left) => {
                    let taken = left.min(rest.len());
                    self.body.extend_from_slice(&rest[..taken]);
                    self.at += taken;
                    self.chunk = if taken == left { Chunk::DataEnd } else { Chunk::Data(left - taken) };
                    if taken < left {
                        (self.at, self.filled) = (0, 0);
                        return Ok(false);
                    }
                }
                Chunk::DataEnd if rest.len() < 2 => return Ok(false),
                Chunk::DataEnd if rest.starts_with(b"\r\n") => {
                    self.at += 2;
                    self.chunk = Chunk::Size;
                }
                Chunk::DataEnd => return Err(invalid()),
                Chunk::Trailer => {
                    let Some(length) = memchr::memchr(b'\n', rest) else { return Ok(false) };
                    let last = matches!(&rest[..length], b"" | b"\r");
                    self.at += length + 1;
                    if last {
                        return Ok(true);
                    }
                }
            }
        }
    }
}

fn head_of(response: &httparse::Response<'_, '_>) -> Result<Head, InvalidResponse> {
    let status = response.code.unwrap_or_default();
    let (mut content, mut framing) = (Content::Other, Framing::Close);
    let mut keep_alive = response.version == Some(1);
    for header in response.headers.iter() {
        let value = header.value;
        if header.name.eq_ignore_ascii_case("content-length") && framing != Framing::Chunked {
            let length = std::str::from_utf8(value).ok().and_then(|text| text.trim().parse().ok());
            let length = length.ok_or_else(|| InvalidResponse::Syntax("invalid Content-Length".to_owned()))?;
            if length > MAX_BYTES {
                return Err(InvalidResponse::TooLong);
            }
            framing = Framing::Length(length);
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") && contains(value, b"chunked") {
            framing = Framing::Chunked;
        } else if header.name.eq_ignore_ascii_case("content-type") {
            content = content_of(value);
        } else if header.name.eq_ignore_ascii_case("connection") {
            keep_alive = !contains(value, b"close") && (keep_alive || contains(value, b"keep-alive"));
        }
    }
    if matches!(status, 100..200 | 204 | 304) {
        framing = Framing::Length(0);
    }
    keep_alive &= framing != Framing::Close;
    Ok(Head { status, content, keep_alive, framing })
}

/// The type of a body with this Content-Type.
pub(super) fn content_of(value: &[u8]) -> Content {
    let kind = value.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    if kind.eq_ignore_ascii_case(b"application/json") {
        Content::Json
    } else if kind.eq_ignore_ascii_case(b"text/event-stream") {
        Content::Events
    } else {
        Content::Other
    }
}

fn contains(value: &[u8], token: &[u8]) -> bool {
    value.split(|byte| *byte == b',').any(|part| part.trim_ascii().eq_ignore_ascii_case(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Status, body and events.
    type Read = (u16, Vec<u8>, Vec<Vec<u8>>);

    /// Feeds the bytes of several responses in pieces of this size.
    fn read(bytes: &[u8], piece: usize) -> Result<Vec<Read>, InvalidResponse> {
        let mut reader = ResponseReader::new();
        let (mut found, mut events) = (Vec::new(), Vec::new());
        for part in bytes.chunks(piece) {
            reader.space()[..part.len()].copy_from_slice(part);
            let done = reader.received(part.len())?;
            events.extend(std::iter::from_fn(|| reader.next_event()));
            if done {
                let status = reader.head().map(|head| head.status).unwrap_or_default();
                found.push((status, reader.body().to_vec(), std::mem::take(&mut events)));
                assert!(reader.reset(), "nothing may follow");
            }
        }
        Ok(found)
    }

    #[test]
    fn reads_a_body_with_a_length_in_any_pieces() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\ncontent-length: 7\r\n\r\n{\"a\":1}";
        for piece in 1..=text.len() {
            assert_eq!(read(text, piece).unwrap(), [(200, b"{\"a\":1}".to_vec(), vec![])], "{piece}");
        }
    }

    #[test]
    fn reads_chunks_and_events_in_any_pieces() {
        let text = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\
            transfer-encoding: chunked\r\n\r\n9\r\ndata: a\r\n\r\n15\r\ndata: b\n\n: c\n\ndata:d\n\r\n1\r\n\n\r\n0\r\n\r\n";
        for piece in 1..=text.len() {
            let found = read(text, piece).unwrap();
            assert_eq!(found.len(), 1, "{piece}");
            assert_eq!(found[0].2, [b"a\nb".to_vec(), b"d".to_vec()], "{piece}");
        }
    }

    #[test]
    fn a_body_without_a_length_ends_with_the_connection() {
        let mut reader = ResponseReader::new();
        let text = b"HTTP/1.0 500 No\r\n\r\nbroken";
        reader.space()[..text.len()].copy_from_slice(text);
        assert_eq!(reader.received(text.len()), Ok(false));
        assert_eq!(reader.closed(), Ok(true));
        let head = reader.head().unwrap();
        assert_eq!((head.status, head.keep_alive, reader.body()), (500, false, b"broken".as_slice()));
    }

    #[test]
    fn bytes_after_a_response_make_the_connection_unusable() {
        let mut reader = ResponseReader::new();
        let text = b"HTTP/1.1 204 No Content\r\n\r\nHTTP";
        reader.space()[..text.len()].copy_from_slice(text);
        assert_eq!(reader.received(text.len()), Ok(true));
        assert!(!reader.reset());
    }

    #[test]
    fn rejects_what_is_not_http_and_what_was_cut() {
        assert!(matches!(read(b"SSH-2.0\r\n\r\n", 11), Err(InvalidResponse::Syntax(_))));
        let huge = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n";
        assert_eq!(read(huge, huge.len()), Err(InvalidResponse::TooLong));
        let mut reader = ResponseReader::new();
        let text = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab";
        reader.space()[..text.len()].copy_from_slice(text);
        assert_eq!(reader.received(text.len()), Ok(false));
        assert_eq!(reader.closed(), Err(InvalidResponse::Closed));
    }
}
