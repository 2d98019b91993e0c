//! What nobody wants to write down: thousands of tools, resources and prompts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// More to offer, made up: the same numbers make the same things.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Generate {
    /// How many tools: `tool-00000`, `tool-00001` and so on.
    #[serde(skip_serializing_if = "is_zero")]
    pub tools: usize,
    /// How many resources: `generated://resource/00000` and so on.
    #[serde(skip_serializing_if = "is_zero")]
    pub resources: usize,
    /// How many resource templates: `generated://template/00000/{id}` and so on.
    #[serde(skip_serializing_if = "is_zero")]
    pub resource_templates: usize,
    /// How many prompts: `prompt-00000` and so on.
    #[serde(skip_serializing_if = "is_zero")]
    pub prompts: usize,
    /// How large the input schemas of the tools are; absent: an object with one optional string, `text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<GenerateSchema>,
    /// How many characters each description has at least; absent: one sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description_chars: Option<usize>,
}

/// The size of made-up input schemas: a tree of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GenerateSchema {
    /// How many objects are nested in each other, 1 to 32.
    pub depth: usize,
    /// How many properties each object has, 1 to 1,000.
    pub width: usize,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}
