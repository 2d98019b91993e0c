//! A document ends in the middle, though its length is right.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Deception, Document};
use crate::oauth::answer::Answer;

/// A document ends in the middle, though its length is right.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct BrokenJson {
    /// Which one.
    #[serde(default)]
    pub document: Document,
}

impl Deception for BrokenJson {
    fn document(&self, which: Document, answer: &mut Answer) {
        if which == self.document {
            answer.body.truncate(answer.body.len() / 2);
        }
    }
}
