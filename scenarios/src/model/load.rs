//! The load of a scenario. `crate::bench` executes it.

use std::{fmt, num::NonZeroU64, path::PathBuf, str::FromStr};

use mock_servers::HumanDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{LoadOperation, MixEntry, UserSetup, ValueExpectation};

/// A load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Load {
    /// The tool to call. A load has either `tool`, `mix` or `steps`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The arguments of `tool` [default: none].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// Operations with weights. Each iteration is one of them, chosen at random.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mix: Vec<MixEntry>,
    /// Operations of each iteration, one after the other. A failure ends the iteration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<LoadOperation>,
    /// File with values for placeholders, one row per iteration: CSV with a header, or JSON Lines. Relative to the scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<PathBuf>,
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
    /// Whether to use HTTP/2 instead of HTTP/1.1, with the raw driver over Streamable HTTP. A connection has many calls in
    /// flight.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub http2: bool,
    /// Whether each request asks for notifications about its progress (`_meta.progressToken`). Needs the raw driver.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub request_progress: bool,
    /// What the user does when the server asks for a form, a URL, the model or the roots. The client declares exactly these
    /// features [default: none].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserSetup>,
    /// Expected result of each call of `tool`. A call with another result fails [default: any result that is not an error].
    #[serde(default, skip_serializing_if = "LoadExpect::is_default")]
    pub expect: LoadExpect,
}

impl Load {
    /// A load of one tool without arguments, and with defaults.
    #[must_use]
    pub fn new(tool: impl Into<String>, shape: Shape, duration: HumanDuration) -> Self {
        Self {
            tool: Some(tool.into()),
            arguments: None,
            mix: Vec::new(),
            steps: Vec::new(),
            data: None,
            shape,
            duration,
            warmup: None,
            timeout: None,
            thresholds: Vec::new(),
            min_rate: None,
            driver: None,
            http2: false,
            request_progress: false,
            user: None,
            expect: LoadExpect::default(),
        }
    }

    /// The name in results: the tool, or all operations (`8:echo, 2:tools/list`).
    #[must_use]
    pub fn name(&self) -> String {
        let mix = self.mix.iter().map(|entry| format!("{}:{}", entry.weight, entry.operation.name()));
        let steps = self.steps.iter().map(LoadOperation::name);
        self.tool.iter().cloned().chain(mix).chain(steps).collect::<Vec<_>>().join(", ")
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Pause of a user between a response and the next call [default: none].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_time: Option<HumanDuration>,
    /// Number of measured calls after which the load ends, before its `duration` is over [default: none].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<NonZeroU64>,
}

impl Closed {
    /// Users without pauses, until the end of the load.
    #[must_use]
    pub fn new(users: usize) -> Self {
        Self { users, think_time: None, calls: None }
    }
}

/// An open loop. It has either `rate` or `stages`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// Calls per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Rates one after the other, from the end of the warm-up. The last one continues until the end of the load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<Stage>,
    /// Intervals between calls [default: uniform].
    #[serde(default, skip_serializing_if = "Arrivals::is_uniform")]
    pub arrivals: Arrivals,
    /// Maximum number of calls in flight [default: 10,000]. Further calls wait, and their latency includes the wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<usize>,
}

/// A part of an open loop.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Its duration.
    pub duration: HumanDuration,
    /// Calls per second at its start.
    pub rate: f64,
    /// Calls per second at its end; the rate changes linearly [default: the same rate].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<f64>,
}

impl fmt::Display for Stage {
    /// Writes `10s:100`, or `10s:100-500` for a ramp.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.duration, self.rate)?;
        self.to.map_or(Ok(()), |to| write!(f, "-{to}"))
    }
}

impl FromStr for Stage {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            let (duration, rates) = text.split_once(':')?;
            let (rate, to) = match rates.split_once('-') {
                Some((rate, to)) => (rate, Some(to.trim().parse().ok()?)),
                None => (rates, None),
            };
            Some(Self { duration: duration.trim().parse().ok()?, rate: rate.trim().parse().ok()?, to })
        };
        read().ok_or_else(|| {
            format!("`{text}` is not a stage; write a duration and a rate, as `10s:100` or `10s:100-500`")
        })
    }
}

/// Intervals between the calls of an open loop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Equal intervals.
    #[default]
    Uniform,
    /// Random intervals, as those of many independent users.
    Poisson,
}

impl Arrivals {
    // serde passes a reference.
    fn is_uniform(&self) -> bool {
        *self == Self::Uniform
    }
}
