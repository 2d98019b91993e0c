//! The tools of a validated server: which were called, and how they reach models.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A tool that a validated server listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCalls {
    /// Name of the tool.
    pub tool: String,
    /// Number of calls, with valid and invalid arguments.
    pub calls: usize,
    /// Why it was not called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How a model provider accepts the tools of a validated server. It is information and no verdict: the specification
/// allows more schemas than any provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Portability {
    /// The provider's format, as in `schema convert --to`.
    pub provider: String,
    /// Number of tools whose schemas accept the same arguments after the conversion.
    pub equal: usize,
    /// The other tools, in the order of the server's list.
    pub different: Vec<ToolPortability>,
}

/// A tool that reaches the models of a provider with another schema, or not at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolPortability {
    /// Name of the tool.
    pub tool: String,
    /// Whether it cannot be converted.
    pub rejected: bool,
    /// The differences with their reasons, or the reason why it cannot be converted.
    pub reasons: Vec<String>,
}
