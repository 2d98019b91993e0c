//! Bytes inside a string that are no UTF-8, which JSON has to be in (RFC 8259, section 8.1).

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes that are no UTF-8.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct InvalidUtf8 {
    /// Which bytes; drawn for each message if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<Sequence>,
}

/// A sequence of bytes that is no UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sequence {
    /// A byte that goes on with nothing: 80.
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

const ALL: [Sequence; 5] =
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

impl InvalidUtf8 {
    pub(super) fn respell(self, payload: &mut Vec<u8>, random: &mut ChaCha8Rng) {
        let sequence = self.sequence.unwrap_or_else(|| ALL[random.random_range(0..ALL.len())]);
        // Before the last quotation mark is inside the last string.
        let at = payload.iter().rposition(|byte| *byte == b'"').unwrap_or(payload.len());
        payload.splice(at..at, sequence.bytes().iter().copied());
    }
}
