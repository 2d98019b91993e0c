//! The resources and resource templates that a script offers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::one_or_many;

/// A resource of a mock server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Resource {
    /// The URI, of whatever shape.
    pub uri: String,
    /// The name; absent: the URI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The title, since 2025-06-18; absent: none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description; absent: none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The media type; absent: none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// How many bytes it is said to have; absent: nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The annotations; absent: none are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Value>,
    /// The icons, since 2025-11-25; absent: none are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Value>,
    /// `_meta`, since 2025-06-18; absent: none is sent.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
    /// What it holds: one part, or several. Absent: a text that is the URI.
    #[serde(default, with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "one_or_many::OneOrManySchema<ResourcePart>")]
    pub contents: Vec<ResourcePart>,
    /// It can be read, but no list shows it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
}

/// A family of resources whose URIs follow a template.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct ResourceTemplate {
    /// The template (RFC 6570): `{name}` stands for a part without `/`, `{+name}` for any part. What they stand for in a
    /// URI that is read fills the placeholders `{{variables.name}}`.
    pub uri_template: String,
    /// The name; absent: the template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The title, since 2025-06-18; absent: none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description; absent: none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The media type; absent: none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The annotations; absent: none are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Value>,
    /// The icons, since 2025-11-25; absent: none are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Value>,
    /// `_meta`, since 2025-06-18; absent: none is sent.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
    /// What a resource of the family holds: one part, or several. Absent: a text that is the URI.
    #[serde(default, with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "one_or_many::OneOrManySchema<ResourcePart>")]
    pub contents: Vec<ResourcePart>,
    /// What `completion/complete` offers for its variables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub complete: BTreeMap<String, Vec<String>>,
}

/// One part of what a resource holds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct ResourcePart {
    /// Its URI; absent: the one that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Its media type; absent: that of the resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Its bytes, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its bytes, in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// `_meta`, since 2025-06-18; absent: none is sent.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}
