//! A document is of any size: its JSON is followed by blanks, which JSON allows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Deception, Document};
use crate::oauth::answer::Answer;

/// A document is of any size: its JSON is followed by blanks, which JSON allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct HugeDocument {
    /// Which one.
    #[serde(default)]
    pub document: Document,
    /// How many blanks.
    pub bytes: u64,
}

impl Deception for HugeDocument {
    fn document(&self, which: Document, answer: &mut Answer) {
        if which == self.document {
            answer.padding = self.bytes;
        }
    }
}
