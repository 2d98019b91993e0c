//! A document is served as something else than JSON.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Deception, Document};
use crate::oauth::answer::Answer;

/// A document is served as something else than JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct WrongContentType {
    /// Which one.
    #[serde(default)]
    pub document: Document,
    /// As what: `text/html`, say.
    pub content_type: String,
}

impl Deception for WrongContentType {
    fn document(&self, which: Document, answer: &mut Answer) {
        if which == self.document {
            answer.set("content-type", self.content_type.clone());
        }
    }
}
