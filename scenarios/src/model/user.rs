//! Who sits in front of a client under test: what they answer to what servers ask, and where they work.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The user of a client, and the model behind it. The client declares what is written here, and nothing else.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct UserSetup {
    /// What they do with a form (elicitation, form mode).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<FormAnswer>,
    /// What they do when they are asked to visit a URL (elicitation, URL mode). Nothing is visited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<UrlAnswer>,
    /// What the model says (sampling): one block of text, by a model called `model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<String>,
    /// Where they work (roots).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<Vec<Root>>,
}

/// What a user does with a form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FormAnswer {
    /// They send it with these values, and leave the other fields as they find them.
    Accept(Map<String, Value>),
    /// They refuse.
    Decline,
    /// They dismiss it.
    Cancel,
    /// There is nobody to answer.
    Absent,
}

/// What a user does when asked to visit a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UrlAnswer {
    /// They agree.
    Accept,
    /// They refuse.
    Decline,
    /// They dismiss it.
    Cancel,
}

/// A place in which a user works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Root {
    /// A `file://` URI.
    pub uri: String,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}
