//! The server's description of itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Members of `serverInfo` except the name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Info {
    /// The version [default: that of the mock].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The title, since 2025-06-18; absent: none is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description, since 2025-11-25; absent: none is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The icons, since 2025-11-25; absent: none are sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icons: Option<Value>,
    /// `websiteUrl`, since 2025-11-25; absent: none is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub website_url: Option<String>,
}

impl Info {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
