//! Messages in pieces: a reader that takes a read for a message, or a piece for whole characters, fails here.

use std::time::Duration;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shape::Draft;
use crate::period::Period;

/// Messages in pieces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Fragment {
    /// Where to cut the bytes, as they are written.
    pub cut: Cut,
    /// How long to wait between two pieces; 5ms if absent. Without a wait the system may join them again.
    #[serde(default = "five_millis")]
    pub pause: Period,
}

/// Where bytes are cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cut {
    /// Before each of these bytes, counted from 0 at the beginning of the frame.
    At(Vec<usize>),
    /// After every so many bytes.
    Every(usize),
    /// At this many places, drawn anew for each message.
    Random(usize),
    /// Inside every character of more than one byte.
    InsideUtf8,
    /// Between the carriage return and the line feed of every line end; where lines end without one, before the line
    /// feed.
    InsideLineEnd,
}

fn five_millis() -> Period {
    Period::from_millis(5)
}

impl Fragment {
    pub(super) fn play(&self, draft: &mut Draft, random: &mut ChaCha8Rng) {
        let bytes = &draft.framed.bytes;
        let whole = 1..bytes.len();
        let cuts: Vec<usize> = match &self.cut {
            Cut::At(places) => places.clone(),
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
            draft.cut(at, pause);
        }
    }
}

/// Whether a byte goes on with a character of UTF-8 that has begun before it.
fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}
