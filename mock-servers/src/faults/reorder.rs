//! Answers out of their order, which JSON-RPC allows and some clients do not expect.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::period::Period;

/// An answer that others overtake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Reorder {
    /// How many answers of the same session have to go out first; 1 if absent.
    pub behind: u64,
    /// How long it waits for them at most; 1s if absent.
    pub within: Period,
}

impl Default for Reorder {
    fn default() -> Self {
        Self { behind: 1, within: Period::from_millis(1_000) }
    }
}
