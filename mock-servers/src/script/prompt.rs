//! Prompts of a script.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Content;
use crate::one_or_many;

/// A prompt of a mock server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Prompt {
    /// The name, which can be invalid.
    pub name: String,
    /// The title, since 2025-06-18; absent: none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description; absent: none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The icons, since 2025-11-25; absent: none are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Value>,
    /// `_meta`, since 2025-06-18; absent: none is sent.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
    /// Its arguments. A request without a required one is rejected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<PromptArgument>,
    /// Its messages, one or several. Strings can contain placeholders, as in replies [default: a user message with the
    /// prompt's name].
    #[serde(default, with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "one_or_many::OneOrManySchema<PromptMessage>")]
    pub messages: Vec<PromptMessage>,
}

/// An argument of a prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct PromptArgument {
    /// The name.
    pub name: String,
    /// The title, since 2025-06-18; absent: none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description; absent: none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it is required.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// The values that `completion/complete` suggests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub complete: Vec<String>,
}

/// A message of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptMessage {
    /// The role [default: user].
    #[serde(default)]
    pub role: Role,
    /// The content.
    pub content: Content,
}

/// The role of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The user.
    #[default]
    User,
    /// The assistant.
    Assistant,
}
