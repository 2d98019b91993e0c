//! The parameters of steps of both subjects that only name a server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::expect::Expect;

/// A step with a server and no other parameter.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Target {
    /// The server [default: the only one, or all].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The expected outcome.
    #[serde(skip_serializing_if = "Expect::is_default")]
    pub expect: Expect,
}
