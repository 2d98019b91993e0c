//! The token endpoint sends the client, with its code and its secret, to another place.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Deception, TokenFacts};
use crate::oauth::answer::Answer;

/// The token endpoint sends the client, with its code and its secret, to another place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct RedirectedToken {
    /// Where to.
    pub to: String,
    /// The status: 307 and 308 make a client repeat its form.
    pub status: u16,
}

impl Deception for RedirectedToken {
    fn refuse_token(&self, _: &TokenFacts<'_>) -> Option<Answer> {
        Some(Answer::redirect(self.status, &self.to))
    }
}
