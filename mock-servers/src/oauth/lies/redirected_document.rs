//! A document is said to be elsewhere: an open redirect that leads a client to where it must not ask.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Deception, Document};
use crate::oauth::answer::Answer;

/// A document is said to be elsewhere: an open redirect that leads a client to where it must not ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct RedirectedDocument {
    /// Which one.
    #[serde(default)]
    pub document: Document,
    /// Where to.
    pub to: String,
    /// The status: 302, 307 and so on.
    pub status: u16,
}

impl Deception for RedirectedDocument {
    fn document(&self, which: Document, answer: &mut Answer) {
        if which == self.document {
            *answer = Answer::redirect(self.status, &self.to);
        }
    }
}
