//! Tools of a script.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Reply, ToolTask};

/// A tool of a mock server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Tool {
    /// The name, which can be invalid.
    pub name: String,
    /// The description; absent: none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The title; absent: none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The input schema [default: an object with one optional string, `text`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
    /// The output schema; absent: none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// The annotations; absent: none are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Value>,
    /// The icons, since 2025-11-25; absent: none are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Value>,
    /// `execution` (`taskSupport`) of 2025-11-25; absent: none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<Value>,
    /// `_meta`, since 2025-06-18; absent: none is sent.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
    /// Whether the arguments of a call are validated against the input schema. Invalid arguments are rejected: with an
    /// error up to 2025-06-18, with a result that is an error since 2025-11-25. Rules apply only to valid arguments.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub validate: bool,
    /// The result of a call without a rule [default: the text `<name>: <arguments as JSON>`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Reply>,
    /// The task support of the tool's calls [default: none].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<ToolTask>,
}
