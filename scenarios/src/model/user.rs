//! The user of a client under test: responses to requests of servers, and roots.

use mock_servers::HumanDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The user of a client, and its model. The client declares exactly the features that have a key here.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct UserSetup {
    /// The response to a form (elicitation, form mode).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<FormAction>,
    /// The response to a URL (elicitation, URL mode). The URL is not opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<UrlAction>,
    /// The text that the model `model` generates (sampling).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<String>,
    /// The roots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<Vec<Root>>,
    /// How long the user takes to respond to a form, a URL or a request for the model [default: not at all].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<HumanDuration>,
}

/// The response of the user to a form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FormAction {
    /// Submit it with these values; other fields keep their defaults.
    Accept(Map<String, Value>),
    /// Decline it.
    Decline,
    /// Dismiss it.
    Cancel,
    /// No user is present.
    Absent,
}

/// The response of the user to a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UrlAction {
    /// Consent.
    Accept,
    /// Decline it.
    Decline,
    /// Dismiss it.
    Cancel,
}

/// A root directory of the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Root {
    /// A `file://` URI.
    pub uri: String,
    /// A display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}
