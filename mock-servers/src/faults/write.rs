//! The faults of one message's bytes: a pure function from framed bytes to timed chunks and the end of the connection.

use std::{collections::BTreeMap, ops::Range, time::Duration};

use bytes::Bytes;
use http::HeaderValue;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{CloseMethod, Fault, HttpHead};
use evidence::Body;

/// The faults that act on the bytes of one message. The transport frames the message (a line, a body, an event), and
/// writes the chunks of the [`WritePlan`].
#[derive(Debug, Clone, PartialEq)]
pub struct WriteFaults {
    faults: Vec<AppliedFault>,
}

/// One of these faults.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AppliedFault {
    pub(crate) fault: Fault,
    /// The seed of its random values.
    pub(crate) seed: u64,
}

/// The bytes of a frame, and the range of the message in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Framed {
    pub(crate) bytes: Vec<u8>,
    pub(crate) payload: Range<usize>,
    /// Whether the frame is a server-sent event.
    pub(crate) event: bool,
}

/// The writes of a transport for one message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WritePlan {
    /// The body to record.
    pub(crate) body: Body,
    /// The chunks to write, in this order.
    pub(crate) chunks: Vec<Chunk>,
    /// The number of bytes without truncation.
    pub(crate) promised: usize,
    /// Whether the chunks are written together with the next message.
    pub(crate) hold: bool,
    /// What follows the chunks.
    pub(crate) finish: Finish,
}

/// Bytes that are written at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// The pause before.
    pub(crate) after: Duration,
    pub(crate) bytes: Bytes,
}

/// What follows the chunks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Finish {
    /// The connection stays open.
    #[default]
    Keep,
    /// The connection is closed inside the message.
    Inside(CloseMethod),
    /// The connection is closed after the message.
    After(CloseMethod),
}

/// The bytes of a message while faults decide how they are written.
pub(crate) struct MessageBuffer {
    pub(crate) framed: Framed,
    pub(crate) finish: Finish,
    pub(crate) hold: bool,
    /// The positions of cuts, each with its pause.
    cuts: BTreeMap<usize, Duration>,
    end: usize,
}

impl Framed {
    /// A message and its line feed.
    pub(crate) fn line(payload: &[u8]) -> Self {
        let mut bytes = payload.to_vec();
        bytes.push(b'\n');
        Self { bytes, payload: 0..payload.len(), event: false }
    }

    /// Only a message.
    pub(crate) fn body(payload: &[u8]) -> Self {
        Self { bytes: payload.to_vec(), payload: 0..payload.len(), event: false }
    }

    /// A server-sent event. `empty` is the event without data; each line of the payload becomes a `data:` line.
    pub(crate) fn event(empty: &str, payload: &[u8]) -> Self {
        const DATA: &str = "data: ";
        let start = empty.find(DATA).map_or(empty.len(), |at| at + DATA.len());
        let mut bytes = empty.as_bytes()[..start].to_vec();
        for (number, line) in payload.split(|byte| *byte == b'\n').enumerate() {
            if number > 0 {
                bytes.push(b'\n');
                bytes.extend_from_slice(DATA.as_bytes());
            }
            bytes.extend_from_slice(line.strip_suffix(b"\r").unwrap_or(line));
        }
        let end = bytes.len();
        bytes.extend_from_slice(&empty.as_bytes()[start..]);
        Self { bytes, payload: start..end, event: true }
    }

    /// Inserts bytes; inside the message they become part of it.
    pub(super) fn insert(&mut self, at: usize, bytes: &[u8]) {
        self.bytes.splice(at..at, bytes.iter().copied());
        let moved = |position: usize| if position >= at { position + bytes.len() } else { position };
        let start = if at < self.payload.start || at == 0 { moved(self.payload.start) } else { self.payload.start };
        self.payload = start..moved(self.payload.end);
    }

    /// Rewrites the bytes of the message.
    pub(super) fn rewrite_payload(&mut self, rewrite: impl Fn(&[u8]) -> Vec<u8>) {
        let payload = rewrite(&self.bytes[self.payload.clone()]);
        let end = self.payload.start + payload.len();
        self.bytes.splice(self.payload.clone(), payload);
        self.payload.end = end;
    }

    /// Rewrites the bytes before the message, and those after it.
    pub(super) fn rewrite_envelope(&mut self, rewrite: impl Fn(&[u8]) -> Vec<u8>) {
        let mut bytes = rewrite(&self.bytes[..self.payload.start]);
        let start = bytes.len();
        bytes.extend_from_slice(&self.bytes[self.payload.clone()]);
        let end = bytes.len();
        bytes.extend_from_slice(&rewrite(&self.bytes[self.payload.end..]));
        *self = Self { bytes, payload: start..end, event: self.event };
    }
}

impl MessageBuffer {
    /// Cuts before this byte, unless it is outside of the frame. The longer of two pauses at one position is used.
    pub(super) fn cut(&mut self, at: usize, pause: Duration) {
        if (1..self.framed.bytes.len()).contains(&at) {
            let wait = self.cuts.entry(at).or_default();
            *wait = pause.max(*wait);
        }
    }

    /// Truncates the message to this many bytes.
    pub(super) fn end_at(&mut self, bytes: usize, finish: Finish) {
        let payload = &self.framed.payload;
        self.end = self.end.min(payload.start.saturating_add(bytes).min(payload.end));
        self.finish = finish;
    }

    fn chunks(&self) -> Vec<Chunk> {
        let bytes = Bytes::copy_from_slice(&self.framed.bytes[..self.end]);
        let mut chunks = Vec::with_capacity(self.cuts.len() + 1);
        let (mut from, mut after) = (0, Duration::ZERO);
        for (at, pause) in self.cuts.range(..self.end) {
            chunks.push(Chunk { after, bytes: bytes.slice(from..*at) });
            (from, after) = (*at, *pause);
        }
        chunks.push(Chunk { after, bytes: bytes.slice(from..) });
        chunks
    }
}

impl WriteFaults {
    /// The faults in this order; `None` for an empty list.
    pub(crate) fn new(faults: Vec<AppliedFault>) -> Option<Box<Self>> {
        (!faults.is_empty()).then(|| Box::new(Self { faults }))
    }

    /// The content type of the last fault that sets one.
    pub(crate) fn content_type(&self) -> Option<HeaderValue> {
        self.faults.iter().rev().find_map(|applied| applied.fault.hooks().content_type())
    }

    /// The changes of the status and headers of the HTTP response.
    pub(crate) fn http_heads(&self) -> impl Iterator<Item = &HttpHead> {
        self.faults.iter().filter_map(|applied| applied.fault.hooks().http_head())
    }

    /// Whether events are sent without an id, the first event of a stream included.
    pub(crate) fn omits_event_ids(&self) -> bool {
        self.faults.iter().any(|applied| applied.fault.hooks().omits_event_ids())
    }

    /// The writes for a message with this text. `body` is recorded unless a fault changes the bytes.
    pub(crate) fn render(&self, text: Vec<u8>, body: Body, frame: impl FnOnce(&[u8]) -> Framed) -> WritePlan {
        let mut payload = text.clone();
        self.faults.iter().for_each(|one| one.fault.hooks().encode_bytes(&mut payload, &mut one.random()));
        let altered = payload != text;
        let mut framed = frame(&payload);
        self.faults.iter().for_each(|one| one.fault.hooks().rewrite_frame(&mut framed));
        let mut buffer =
            MessageBuffer { end: framed.bytes.len(), framed, finish: Finish::Keep, hold: false, cuts: BTreeMap::new() };
        self.faults.iter().for_each(|one| one.fault.hooks().schedule(&mut buffer, &mut one.random()));
        let kept = buffer.framed.payload.start..buffer.framed.payload.end.min(buffer.end);
        let body = if altered || kept != buffer.framed.payload || buffer.framed.bytes[kept.clone()] != payload {
            recorded_body(&buffer.framed.bytes[kept])
        } else {
            body
        };
        let (chunks, promised) = (buffer.chunks(), buffer.framed.bytes.len());
        WritePlan { body, chunks, promised, hold: buffer.hold, finish: buffer.finish }
    }

    /// The bytes that arrive of a message with these faults, and what follows them.
    pub(crate) fn write(&self, text: Vec<u8>) -> (Vec<u8>, Finish) {
        let rendered = self.render(text, Body::Text(String::new()), Framed::body);
        (rendered.chunks.iter().flat_map(|piece| piece.bytes.to_vec()).collect(), rendered.finish)
    }
}

impl AppliedFault {
    fn random(&self) -> ChaCha8Rng {
        ChaCha8Rng::seed_from_u64(self.seed)
    }
}

/// Bytes as a recorded body. The lines of data of one event are joined, as its receiver does.
fn recorded_body(bytes: &[u8]) -> Body {
    let text = String::from_utf8_lossy(bytes);
    let json = serde_json::from_slice(bytes).or_else(|_| serde_json::from_str(&text.replace("\ndata: ", "\n")));
    json.map_or_else(|_| Body::Text(text.into_owned()), Body::json)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lines_of_data_are_recorded_as_one_message() {
        assert_eq!(recorded_body(b"{\ndata:   \"id\": 1\ndata: }"), Body::json(json!({"id": 1})));
        assert_eq!(recorded_body(b"{\ndata: x"), Body::Text("{\ndata: x".to_owned()));
    }
}
