//! Faults of the bytes of messages: text that is not JSON, not UTF-8, or too deeply nested.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{FaultHooks, message::meta};

/// Starts messages with a byte order mark, which JSON forbids (RFC 8259, section 8.1).
#[derive(JsonSchema)]
pub(super) struct ByteOrderMark;

impl FaultHooks for ByteOrderMark {
    fn encode_bytes(&self, payload: &mut Vec<u8>, _: &mut ChaCha8Rng) {
        payload.splice(0..0, [0xef, 0xbb, 0xbf]);
    }
}

/// Nests arrays to this depth inside `_meta`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeepNesting(pub usize);

/// Placeholder for the arrays in the message. A value of that depth would overflow the stack when it is dropped, so the
/// arrays exist only as bytes. The character is from the private use area, so no other message contains it.
const PLACEHOLDER: &str = "\u{e000}nested\u{e000}";
/// The deepest nesting, so that a typing error in a script does not exhaust the memory.
const MAX_DEPTH: usize = 10_000_000;

impl FaultHooks for DeepNesting {
    fn rewrite(&self, message: &mut Value, _: &mut ChaCha8Rng) {
        if let Some(members) = meta(message) {
            members.insert("nested".into(), PLACEHOLDER.into());
        }
    }

    fn encode_bytes(&self, payload: &mut Vec<u8>, _: &mut ChaCha8Rng) {
        let levels = self.0.min(MAX_DEPTH);
        let placeholder = format!("\"{PLACEHOLDER}\"").into_bytes();
        let Some(at) = payload.windows(placeholder.len()).position(|window| window == placeholder) else { return };
        let arrays = std::iter::repeat_n(b'[', levels).chain(std::iter::repeat_n(b']', levels));
        // Without any level there would be no value.
        let nested: Vec<u8> = if levels == 0 { b"0".to_vec() } else { arrays.collect() };
        payload.splice(at..at + placeholder.len(), nested);
    }
}

/// Puts bytes that are not UTF-8 into a string, though JSON has to be UTF-8 (RFC 8259, section 8.1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct InvalidUtf8 {
    /// The bytes [default: random ones for each message].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<Sequence>,
}

/// A sequence of bytes that is not UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sequence {
    /// A continuation byte without a first byte: 80.
    LoneContinuation,
    /// A slash in more bytes than it needs: C0 AF.
    Overlong,
    /// Half of a surrogate pair: ED A0 80.
    Surrogate,
    /// The first two bytes of three: E2 82.
    CutShort,
    /// An e with an acute accent in Latin-1: E9.
    Latin1,
}

const SEQUENCES: [Sequence; 5] =
    [Sequence::LoneContinuation, Sequence::Overlong, Sequence::Surrogate, Sequence::CutShort, Sequence::Latin1];

impl Sequence {
    fn bytes(self) -> &'static [u8] {
        match self {
            Self::LoneContinuation => &[0x80],
            Self::Overlong => &[0xc0, 0xaf],
            Self::Surrogate => &[0xed, 0xa0, 0x80],
            Self::CutShort => &[0xe2, 0x82],
            Self::Latin1 => &[0xe9],
        }
    }
}

impl FaultHooks for InvalidUtf8 {
    fn encode_bytes(&self, payload: &mut Vec<u8>, random: &mut ChaCha8Rng) {
        let sequence = self.sequence.unwrap_or_else(|| SEQUENCES[random.random_range(0..SEQUENCES.len())]);
        // The position before the last quotation mark is inside the last string.
        let at = payload.iter().rposition(|byte| *byte == b'"').unwrap_or(payload.len());
        payload.splice(at..at, sequence.bytes().iter().copied());
    }
}

/// Breaks the JSON of messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct MalformedJson {
    /// The mistake [default: a random one for each message].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with: Option<Malformation>,
}

/// A mistake in a JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Malformation {
    /// The last brace is missing.
    MissingBrace,
    /// There is an extra brace.
    ExtraBrace,
    /// There is a comma before the last brace.
    TrailingComma,
    /// The first member's name is in single quotes.
    SingleQuotes,
    /// The first member's name has no quotes.
    UnquotedName,
    /// A member's value is `NaN`.
    NotANumber,
    /// There is a comment.
    Comment,
}

const MALFORMATIONS: [Malformation; 7] = [
    Malformation::MissingBrace,
    Malformation::ExtraBrace,
    Malformation::TrailingComma,
    Malformation::SingleQuotes,
    Malformation::UnquotedName,
    Malformation::NotANumber,
    Malformation::Comment,
];

impl FaultHooks for MalformedJson {
    fn encode_bytes(&self, payload: &mut Vec<u8>, random: &mut ChaCha8Rng) {
        let with = self.with.unwrap_or_else(|| MALFORMATIONS[random.random_range(0..MALFORMATIONS.len())]);
        let last = payload.len().saturating_sub(1);
        match with {
            Malformation::MissingBrace => drop(payload.pop()),
            Malformation::ExtraBrace => payload.push(b'}'),
            Malformation::TrailingComma => payload.insert(last, b','),
            Malformation::SingleQuotes => quote_first_name(payload, b"'"),
            Malformation::UnquotedName => quote_first_name(payload, b""),
            Malformation::NotANumber => drop(payload.splice(1..1, *b"\"n\":NaN,")),
            Malformation::Comment => drop(payload.splice(1..1, *b"/* no comment */")),
        }
    }
}

fn quote_first_name(payload: &mut Vec<u8>, quote: &[u8]) {
    for _ in 0..2 {
        if let Some(at) = payload.iter().position(|byte| *byte == b'"') {
            payload.splice(at..=at, quote.iter().copied());
        }
    }
}
