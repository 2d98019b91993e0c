//! Generated tools, resources and prompts, for lists with thousands of items.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Generated items. The same numbers produce the same items.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Generate {
    /// The number of tools: `tool-00000`, `tool-00001` and so on.
    #[serde(skip_serializing_if = "is_zero")]
    pub tools: usize,
    /// The number of resources: `generated://resource/00000` and so on.
    #[serde(skip_serializing_if = "is_zero")]
    pub resources: usize,
    /// The number of resource templates: `generated://template/00000/{id}` and so on.
    #[serde(skip_serializing_if = "is_zero")]
    pub resource_templates: usize,
    /// The number of prompts: `prompt-00000` and so on.
    #[serde(skip_serializing_if = "is_zero")]
    pub prompts: usize,
    /// The size of the tools' input schemas [default: an object with one optional string, `text`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<GenerateSchema>,
    /// The minimum number of characters of each description [default: one sentence].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description_chars: Option<usize>,
}

/// The size of generated input schemas: a tree of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GenerateSchema {
    /// The nesting depth of objects, 1 to 32.
    pub depth: usize,
    /// The number of properties of each object, 1 to 1,000.
    pub width: usize,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}
