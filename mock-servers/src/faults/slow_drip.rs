//! Bytes one by one, or a few at a time: a client that measures the time since the last byte waits for ever.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shape::Draft;
use crate::period::Period;

/// Messages a few bytes at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct SlowDrip {
    /// How many bytes at a time; 1 if absent.
    #[serde(default = "one")]
    pub bytes: usize,
    /// How long to wait before each of them but the first.
    pub every: Period,
}

fn one() -> usize {
    1
}

impl SlowDrip {
    pub(super) fn play(self, draft: &mut Draft) {
        let step = self.bytes.max(1);
        for at in (step..draft.framed.bytes.len()).step_by(step) {
            draft.cut(at, self.every.0);
        }
    }
}
