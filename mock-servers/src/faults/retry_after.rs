//! An HTTP status with `Retry-After` (RFC 9110, section 10.2.3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{HttpStatus, Turn};

/// A status that asks the client to come back later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct RetryAfter {
    /// The status; 429 if absent, 503 is the other one that makes sense.
    pub status: u16,
    /// The header's value, word for word: a number of seconds or an HTTP date, or what is neither.
    pub value: String,
}

impl Default for RetryAfter {
    fn default() -> Self {
        Self { status: 429, value: "1".to_owned() }
    }
}

impl RetryAfter {
    pub(super) fn turn(&self) -> Turn {
        HttpStatus::with_header(self.status, "retry-after", self.value.clone()).turn()
    }
}
