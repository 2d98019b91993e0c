//! A document is answered with an error.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Deception, Document};
use crate::oauth::answer::Answer;

/// A document is answered with an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct DocumentStatus {
    /// Which one.
    #[serde(default)]
    pub document: Document,
    /// The status.
    pub status: u16,
}

impl Deception for DocumentStatus {
    fn document(&self, which: Document, answer: &mut Answer) {
        if which == self.document {
            answer.status = self.status;
        }
    }
}
