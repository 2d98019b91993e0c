//! The load of a scenario. `crate::bench` executes it.

use mock_servers::HumanDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ValueExpectation;

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
    /// Minimum share of the rate of an open loop that must return a result; `0%` accepts any [default: 95%].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_rate: Option<String>,
    /// What sends the calls [default: `raw` where it supports the server and the tool, otherwise `client`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<Driver>,
    /// Expected result of each call. A call with another result fails [default: any result that is no error].
    #[serde(default, skip_serializing_if = "LoadExpect::is_default")]
    pub expect: LoadExpect,
}

impl Load {
    /// A load of one tool without arguments, and with defaults.
    #[must_use]
    pub fn new(tool: impl Into<String>, shape: Shape, duration: HumanDuration) -> Self {
        Self {
            tool: tool.into(),
            arguments: None,
            shape,
            duration,
            warmup: None,
            timeout: None,
            thresholds: Vec::new(),
            min_rate: None,
            driver: None,
            expect: LoadExpect::default(),
        }
    }
}

/// What sends the calls of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Driver {
    /// Encoded requests over stdio or Streamable HTTP, at the lowest cost.
    Raw,
    /// The complete client, as applications use it.
    Client,
}

impl Driver {
    /// The name in options, files and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Client => "client",
        }
    }
}

/// The expected result of a call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct LoadExpect {
    /// Text that the text blocks of the result contain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Expectations on the result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<ValueExpectation>,
    /// JSON Schema of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
}

impl LoadExpect {
    /// Whether every result is accepted.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
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
