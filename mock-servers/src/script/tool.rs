//! The tools that a script offers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Reply, ToolTask};

/// A tool of a mock server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Tool {
    /// The name, of whatever shape: a mock may offer illegal ones.
    pub name: String,
    /// The description; absent: none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The title; absent: none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The input schema; absent: an object with one optional string, `text`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
    /// The output schema; absent: none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// The annotations; absent: none are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Value>,
    /// What a call answers unless a rule says otherwise; absent: the text `<name>: <arguments as JSON>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Reply>,
    /// Whether and how calls of the tool are tasks; absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<ToolTask>,
}

/// Tools that nobody wants to write down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Generate {
    /// How many tools.
    pub tools: usize,
}
