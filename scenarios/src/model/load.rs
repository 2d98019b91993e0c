//! The load of a scenario. `crate::bench` executes it.

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
    /// The arguments [default: none].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// When calls are sent.
    pub shape: Shape,
    /// Duration of the measurement.
    pub duration: HumanDuration,
    /// Duration of the warm-up, which is not measured [default: none].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup: Option<HumanDuration>,
    /// Timeout of one call [default: 60s].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<HumanDuration>,
    /// Pass/fail thresholds: `p99 < 50ms`, `error_rate <= 1%`, `achieved_rate >= 100/s`, `offered_ratio >= 95%`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<String>,
}

/// When the calls of a load are sent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// A number of users, each of which sends a call after the response to the previous one.
    Closed(Closed),
    /// A rate, independent of responses.
    Open(Open),
}

/// A closed loop.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Closed {
    /// Number of users.
    pub users: usize,
}

/// An open loop.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// Calls per second.
    pub rate: f64,
    /// Maximum number of calls in flight [default: 10,000]. Further calls wait, and their latency includes the wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<usize>,
}
