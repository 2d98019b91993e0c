//! The scenario of the official conformance suite to which a scenario is equivalent.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The tag by which the scenarios with the key `official` are selected, without being written.
pub const OFFICIAL_TAG: &str = "official";

/// The equivalent scenario of the official conformance suite (subject `client`). A program that was written for the suite
/// executes it by its name.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Official {
    /// The name in the suite, such as `tools_call`. Clients read it from MCP_CONFORMANCE_SCENARIO, and it selects the
    /// scenario.
    pub name: String,
    /// Keys that the suite puts into MCP_CONFORMANCE_CONTEXT, such as `toolCalls` [default: none].
    #[serde(default)]
    pub context: Map<String, Value>,
    /// Whether a program without a report may exit with an error [default: false].
    #[serde(default)]
    pub may_fail: bool,
}
