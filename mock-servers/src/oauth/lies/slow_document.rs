//! A document comes late, or byte by byte.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Deception, Document};
use crate::{oauth::answer::Answer, period::Period};

/// A document comes late, or byte by byte.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct SlowDocument {
    /// Which one.
    #[serde(default)]
    pub document: Document,
    /// How long it waits.
    #[serde(default)]
    pub delay: Period,
    /// How long it waits before each byte of the body.
    #[serde(default)]
    pub per_byte: Period,
}

impl Deception for SlowDocument {
    fn document(&self, which: Document, answer: &mut Answer) {
        if which == self.document {
            (answer.delay, answer.drip) = (self.delay.0, self.per_byte.0);
        }
    }
}
