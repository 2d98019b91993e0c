//! The token response comes late.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Deception;
use crate::{oauth::answer::Answer, period::Period};

/// The token response comes late.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct SlowToken {
    /// How long it waits.
    pub delay: Period,
}

impl Deception for SlowToken {
    fn token_answer(&self, answer: &mut Answer) {
        answer.delay = self.delay.0;
    }
}
