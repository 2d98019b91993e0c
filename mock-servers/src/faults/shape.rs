//! What becomes of the bytes of one message: a pure function from framed bytes to timed pieces and an ending.

use std::{collections::BTreeMap, ops::Range, time::Duration};

use bytes::Bytes;
use http::HeaderValue;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{
    Fault, How, bad_retry, byte_order_mark, coalesce, deep_nesting, no_event_id, truncate, wrong_content_type,
};
use crate::frame::Body;

/// What is to be done with the bytes of one message. The front frames them (a line, a body, an event), plays the pieces
/// and ends as it is told.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    strokes: Vec<Stroke>,
}

/// One fault's part in it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stroke {
    pub(crate) fault: Fault,
    /// The seed of what is drawn.
    pub(crate) seed: u64,
}

/// Bytes as a transport frames them, and where in them the message itself lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Framed {
    pub(crate) bytes: Vec<u8>,
    pub(crate) payload: Range<usize>,
    /// Whether they are a server-sent event.
    pub(crate) event: bool,
}

/// What a front has to do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rendered {
    /// What is to be recorded as said.
    pub(crate) said: Body,
    /// What is to be written, in this order.
    pub(crate) pieces: Vec<Piece>,
    /// How many bytes there would be if nothing were cut off.
    pub(crate) promised: usize,
    /// Whether they are to be written together with what follows.
    pub(crate) hold: bool,
    /// What comes then.
    pub(crate) finish: Finish,
}

/// Bytes to be written at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// How long to wait before.
    pub(crate) after: Duration,
    pub(crate) bytes: Bytes,
}

/// What comes after the pieces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Finish {
    /// Nothing out of the ordinary.
    #[default]
    Keep,
    /// The connection ends although more was promised.
    Amid(How),
    /// The connection ends once the message is out.
    After(How),
}

/// The bytes of a message while faults decide how they are written.
pub(crate) struct Draft {
    pub(crate) framed: Framed,
    pub(crate) finish: Finish,
    pub(crate) hold: bool,
    /// Before which bytes to cut, and how long to wait there.
    cuts: BTreeMap<usize, Duration>,
    end: usize,
}

impl Framed {
    /// A message and what ends it.
    pub(crate) fn line(payload: &[u8]) -> Self {
        let mut bytes = payload.to_vec();
        bytes.push(b'\n');
        Self { bytes, payload: 0..payload.len(), event: false }
    }

    /// A message alone.
    pub(crate) fn body(payload: &[u8]) -> Self {
        Self { bytes: payload.to_vec(), payload: 0..payload.len(), event: false }
    }

    /// A server-sent event: this is one without data, whose `data:` line is filled here. Data of several lines takes
    /// several of them.
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

    /// Adds bytes.
    pub(super) fn insert(&mut self, at: usize, bytes: &[u8]) {
        self.bytes.splice(at..at, bytes.iter().copied());
        let moved = |place: usize| if place >= at { place + bytes.len() } else { place };
        let start = if at < self.payload.start || at == 0 { moved(self.payload.start) } else { self.payload.start };
        self.payload = start..moved(self.payload.end);
    }

    /// Rewrites what stands before the message, and what stands behind it.
    pub(super) fn rewrite_envelope(&mut self, rewrite: impl Fn(&[u8]) -> Vec<u8>) {
        let mut bytes = rewrite(&self.bytes[..self.payload.start]);
        let start = bytes.len();
        bytes.extend_from_slice(&self.bytes[self.payload.clone()]);
        let end = bytes.len();
        bytes.extend_from_slice(&rewrite(&self.bytes[self.payload.end..]));
        *self = Self { bytes, payload: start..end, event: self.event };
    }
}

impl Draft {
    /// Cuts before this byte; a cut outside of the bytes is none. Of two waits at one place the longer one counts.
    pub(super) fn cut(&mut self, at: usize, pause: Duration) {
        if (1..self.framed.bytes.len()).contains(&at) {
            let wait = self.cuts.entry(at).or_default();
            *wait = pause.max(*wait);
        }
    }

    /// Ends after this many bytes of the message.
    pub(super) fn end_at(&mut self, bytes: usize, finish: Finish) {
        let payload = &self.framed.payload;
        self.end = self.end.min(payload.start.saturating_add(bytes).min(payload.end));
        self.finish = finish;
    }

    fn pieces(&self) -> Vec<Piece> {
        let bytes = Bytes::copy_from_slice(&self.framed.bytes[..self.end]);
        let mut pieces = Vec::with_capacity(self.cuts.len() + 1);
        let (mut from, mut after) = (0, Duration::ZERO);
        for (at, pause) in self.cuts.range(..self.end) {
            pieces.push(Piece { after, bytes: bytes.slice(from..*at) });
            (from, after) = (*at, *pause);
        }
        pieces.push(Piece { after, bytes: bytes.slice(from..) });
        pieces
    }
}

impl Shape {
    /// What these faults do, in this order; none if there are none.
    pub(crate) fn of(strokes: Vec<Stroke>) -> Option<Box<Self>> {
        (!strokes.is_empty()).then(|| Box::new(Self { strokes }))
    }

    /// The content type to answer under, if it is not the right one.
    pub(crate) fn content_type(&self) -> Option<HeaderValue> {
        self.strokes.iter().rev().find_map(|stroke| match &stroke.fault {
            Fault::WrongContentType(text) => wrong_content_type::header(text),
            _ => None,
        })
    }

    /// Whether events go out without an id, the first one of a stream included.
    pub(crate) fn leaves_out_ids(&self) -> bool {
        self.strokes.iter().any(|stroke| stroke.fault == Fault::NoEventId)
    }

    /// What these faults make of the text of a message.
    pub(crate) fn respell(&self, payload: &mut Vec<u8>) {
        for stroke in &self.strokes {
            let random = &mut stroke.random();
            match &stroke.fault {
                Fault::DeepNesting(levels) => deep_nesting::respell(*levels, payload),
                Fault::ByteOrderMark => byte_order_mark::respell(payload),
                Fault::InvalidUtf8(bytes) => bytes.respell(payload, random),
                Fault::MalformedJson(json) => json.respell(payload, random),
                _ => {}
            }
        }
    }

    fn reframe(&self, framed: &mut Framed) {
        for stroke in &self.strokes {
            match &stroke.fault {
                Fault::LineEnds(end) => end.reframe(framed),
                Fault::NoEventId => no_event_id::reframe(framed),
                Fault::BadRetry(text) => bad_retry::reframe(text, framed),
                Fault::LogLines(lines) => lines.reframe(framed),
                _ => {}
            }
        }
    }

    fn play(&self, draft: &mut Draft) {
        for stroke in &self.strokes {
            match &stroke.fault {
                Fault::Truncate(bytes) => truncate::play(*bytes, draft),
                Fault::Disconnect(disconnect) => disconnect.play(draft),
                Fault::Fragment(fragment) => fragment.play(draft, &mut stroke.random()),
                Fault::SlowDrip(drip) => drip.play(draft),
                Fault::Coalesce(_) => coalesce::play(draft),
                _ => {}
            }
        }
    }

    /// What is to be written for a message with this text.
    pub(crate) fn render(&self, text: Vec<u8>, said: Body, frame: impl FnOnce(&[u8]) -> Framed) -> Rendered {
        let mut payload = text.clone();
        self.respell(&mut payload);
        let altered = payload != text;
        let mut framed = frame(&payload);
        self.reframe(&mut framed);
        let mut draft =
            Draft { end: framed.bytes.len(), framed, finish: Finish::Keep, hold: false, cuts: BTreeMap::new() };
        self.play(&mut draft);
        let kept = draft.framed.payload.start..draft.framed.payload.end.min(draft.end);
        let said = if altered || kept != draft.framed.payload || draft.framed.bytes[kept.clone()] != payload {
            heard(&draft.framed.bytes[kept])
        } else {
            said
        };
        let (pieces, promised) = (draft.pieces(), draft.framed.bytes.len());
        Rendered { said, pieces, promised, hold: draft.hold, finish: draft.finish }
    }

    /// What arrives of a message that is sent through these faults: the bytes in the end, and whether they are all.
    pub(crate) fn convey(&self, text: Vec<u8>) -> (Vec<u8>, Finish) {
        let rendered = self.render(text, Body::Text(String::new()), Framed::body);
        (rendered.pieces.iter().flat_map(|piece| piece.bytes.to_vec()).collect(), rendered.finish)
    }
}

impl Stroke {
    fn random(&self) -> ChaCha8Rng {
        ChaCha8Rng::seed_from_u64(self.seed)
    }
}

/// Bytes as the record holds them.
fn heard(bytes: &[u8]) -> Body {
    serde_json::from_slice(bytes).map_or_else(|_| Body::Text(String::from_utf8_lossy(bytes).into_owned()), Body::Json)
}
