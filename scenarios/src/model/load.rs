//! The load that a scenario puts on its subject. Carried out in `crate::bench`.

use mock_servers::HumanDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Load {
    /// The tool to call.
    pub tool: String,
    /// Its arguments; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// How calls are begun.
    pub shape: Shape,
    /// For how long calls are counted.
    pub duration: HumanDuration,
    /// For how long calls are made before they count; absent: not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup: Option<HumanDuration>,
    /// How long one call may take; absent: 60 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<HumanDuration>,
    /// What must hold: `p99 < 50ms`, `error_rate <= 1%`, `achieved_rate >= 100/s`, `offered_ratio >= 95%`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<String>,
}

/// How the calls of a load are begun.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// So many users, each beginning a call when its last one ended.
    Closed(Closed),
    /// Calls begin at a rate, whatever became of those before.
    Open(Open),
}

/// A closed loop.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Closed {
    /// How many users.
    pub users: usize,
}

/// An open loop.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// How many calls a second.
    pub rate: f64,
    /// The most calls in flight; those above it wait, and their waiting counts. Absent: 10,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<usize>,
}
