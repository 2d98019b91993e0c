//! Several messages in one write: a reader that takes a read for a message loses all but the first.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shape::Draft;

/// Messages in one write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Coalesce {
    /// How many messages make a write. The answer is never held back, whatever the number.
    pub messages: u64,
}

impl Coalesce {
    /// Whether the n-th message of an exchange, counted from 1, is held back.
    pub(crate) fn holds(self, nth: u64) -> bool {
        !nth.is_multiple_of(self.messages.max(1))
    }
}

pub(super) fn play(draft: &mut Draft) {
    draft.hold = true;
}
