//! Faults of lines, events and writes.

use std::time::Duration;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FaultHooks, Framed, ParameterProblem, write::MessageBuffer};
use crate::human_duration::HumanDuration;

/// Writes messages in several chunks, so that one read returns part of a message or of a character.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Fragment {
    /// Where to cut the written bytes.
    pub cut: Cut,
    /// The pause between two chunks [default: 5ms]. Without a pause the system can join them again.
    #[serde(default = "five_millis")]
    pub pause: HumanDuration,
}

/// Where bytes are cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cut {
    /// Before each of these bytes, from 0 at the start of the frame.
    At(Vec<usize>),
    /// After each group of this many bytes.
    Every(usize),
    /// At this many random positions in each message.
    Random(usize),
    /// Inside every character of more than one byte.
    InsideUtf8,
    /// Between the carriage return and the line feed of each line end; without a carriage return, before the line
    /// feed.
    InsideLineEnd,
}

fn five_millis() -> HumanDuration {
    HumanDuration::from_millis(5)
}

impl Fragment {
    pub(super) fn problems(&self) -> Vec<ParameterProblem> {
        let problem = || ParameterProblem::key(&["cut"], "count is zero", "write at least 1");
        matches!(self.cut, Cut::Every(0) | Cut::Random(0)).then(problem).into_iter().collect()
    }
}

impl FaultHooks for Fragment {
    fn schedule(&self, buffer: &mut MessageBuffer, random: &mut ChaCha8Rng) {
        let bytes = &buffer.framed.bytes;
        let whole = 1..bytes.len();
        let cuts: Vec<usize> = match &self.cut {
            Cut::At(positions) => positions.clone(),
            Cut::Every(count) => ((*count).max(1)..bytes.len()).step_by((*count).max(1)).collect(),
            Cut::Random(_) if whole.is_empty() => Vec::new(),
            Cut::Random(count) => (0..*count).map(|_| random.random_range(whole.clone())).collect(),
            Cut::InsideUtf8 => {
                whole.filter(|at| is_continuation(bytes[*at]) && !is_continuation(bytes[at - 1])).collect()
            }
            Cut::InsideLineEnd => whole.filter(|at| bytes[*at] == b'\n').collect(),
        };
        let pause: Duration = self.pause.0;
        for at in cuts {
            buffer.cut(at, pause);
        }
    }
}

/// Whether a byte continues a UTF-8 character.
fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// Writes several messages at once, so that one read returns more than one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Coalesce {
    /// The number of messages in a write. A response is never delayed.
    pub messages: u64,
}

impl Coalesce {
    pub(super) fn problems(&self) -> Vec<ParameterProblem> {
        let message = "one message is written at once anyway";
        let problem = || ParameterProblem::value("messages", message, "write at least 2");
        (self.messages < 2).then(problem).into_iter().collect()
    }
}

impl FaultHooks for Coalesce {
    fn keeps_bytes(&self, nth: u64, is_response: bool) -> bool {
        is_response || nth.is_multiple_of(self.messages.max(1))
    }

    fn schedule(&self, buffer: &mut MessageBuffer, _: &mut ChaCha8Rng) {
        buffer.hold = true;
    }
}

/// Writes messages a few bytes at a time. A timeout since the last byte never expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct SlowDrip {
    /// The number of bytes at a time [default: 1].
    #[serde(default = "one")]
    pub bytes: usize,
    /// The pause before each of them except the first.
    pub every: HumanDuration,
}

fn one() -> usize {
    1
}

impl SlowDrip {
    pub(super) fn problems(&self) -> Vec<ParameterProblem> {
        let problem = || ParameterProblem::value("bytes", "count is zero", "write at least 1");
        (self.bytes == 0).then(problem).into_iter().collect()
    }
}

impl FaultHooks for SlowDrip {
    fn schedule(&self, buffer: &mut MessageBuffer, _: &mut ChaCha8Rng) {
        let step = self.bytes.max(1);
        for at in (step..buffer.framed.bytes.len()).step_by(step) {
            buffer.cut(at, self.every.0);
        }
    }
}

/// Ends lines with these characters: those of events over HTTP, where all three are valid (HTML, server-sent events,
/// parsing), and those of messages over stdio, where only the line feed is (all revisions, transports).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LineEnd {
    /// A line feed.
    Lf,
    /// A carriage return and a line feed.
    Crlf,
    /// A carriage return. It does not end a message over stdio.
    Cr,
}

impl FaultHooks for LineEnd {
    fn rewrite_frame(&self, framed: &mut Framed) {
        let end: &[u8] = match self {
            Self::Lf => b"\n",
            Self::Crlf => b"\r\n",
            Self::Cr => b"\r",
        };
        let with_end = |part: &[u8]| -> Vec<u8> {
            part.iter().flat_map(|byte| if *byte == b'\n' { end.to_vec() } else { vec![*byte] }).collect()
        };
        framed.rewrite_envelope(with_end);
        // A message of several lines has several fields. Over stdio its line feeds are a fault of their own.
        if framed.event {
            framed.rewrite_payload(with_end);
        }
    }
}

/// Sends events without an `id`, so that the stream cannot be resumed (2025-03-26 to 2025-11-25, transports,
/// resumability).
#[derive(JsonSchema)]
pub(super) struct NoEventId;

impl FaultHooks for NoEventId {
    fn rewrite_frame(&self, framed: &mut Framed) {
        if framed.event {
            remove_field(framed, "id");
        }
    }

    fn omits_event_ids(&self) -> bool {
        true
    }
}

/// Removes a field of an event.
fn remove_field(framed: &mut Framed, name: &str) {
    let field = format!("{name}:");
    framed.rewrite_envelope(|part| {
        let lines = part.split_inclusive(|byte| *byte == b'\n');
        lines.filter(|line| !line.starts_with(field.as_bytes())).flatten().copied().collect()
    });
}

/// Sends events with these fields in place of their own, and with these lines before them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventFields {
    /// The `id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The `event`, which is `message` otherwise. An event without the field is of that type too; an empty text omits it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// Lines that clients ignore: comments, and fields that the HTML standard does not define (server-sent events,
    /// interpretation).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
    /// Whether no space follows the colons of fields, which is optional (HTML, server-sent events, parsing).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tight: bool,
}

impl FaultHooks for EventFields {
    fn rewrite_frame(&self, framed: &mut Framed) {
        let fields = [("id", &self.id), ("event", &self.event)];
        let fields = fields.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        if framed.event {
            for (name, value) in fields {
                remove_field(framed, name);
                if !value.is_empty() {
                    framed.insert(0, format!("{name}: {value}\n").as_bytes());
                }
            }
            for line in self.ignored.iter().rev() {
                framed.insert(0, format!("{line}\n").as_bytes());
            }
            if self.tight {
                framed.rewrite_envelope(without_spaces);
            }
        }
    }
}

/// Removes the space after the name of each field.
fn without_spaces(envelope: &[u8]) -> Vec<u8> {
    let tight = |line: &[u8]| {
        let colon = line.iter().position(|byte| *byte == b':');
        match colon.filter(|colon| line.get(colon + 1) == Some(&b' ')) {
            Some(colon) => [&line[..=colon], &line[colon + 2..]].concat(),
            None => line.to_vec(),
        }
    };
    envelope.split_inclusive(|byte| *byte == b'\n').flat_map(tight).collect()
}

/// Sends events with this text as `retry`, which has to be a number of milliseconds. Clients have to ignore other text
/// and to limit large numbers (HTML, server-sent events, interpretation).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BadRetry(pub String);

impl FaultHooks for BadRetry {
    fn rewrite_frame(&self, framed: &mut Framed) {
        if framed.event {
            framed.insert(0, format!("retry: {}\n", self.0).as_bytes());
        }
    }
}
