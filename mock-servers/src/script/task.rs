//! Task support and times of tools.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::human_duration::HumanDuration;

/// Task support of a tool: the tasks of 2025-11-25, or the extension `io.modelcontextprotocol/tasks` of 2026-07-28. A
/// task executes the actions of the call's rule, or the default response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct ToolTask {
    /// Whether a call is always, possibly or never a task.
    pub support: TaskSupport,
    /// The time that it works before its actions or response [default: none]. It can contain placeholders:
    /// `{{arguments.seconds}}s`. A call that is not a task takes the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<DurationTemplate>,
    /// The poll interval for the client [default: 100 ms].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll: Option<HumanDuration>,
    /// The lifetime from its creation [default: the requested one, else an hour].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<HumanDuration>,
    /// Its first status message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Whether the client gets no notifications about its status, which are optional.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quiet: bool,
}

impl ToolTask {
    /// The times of its tasks.
    #[must_use]
    pub fn times(&self) -> TaskTimes {
        TaskTimes {
            after: self.after.clone(),
            poll: self.poll,
            ttl: self.ttl,
            status: self.status.clone(),
            quiet: self.quiet,
        }
    }
}

/// Whether calls of a tool are tasks: `execution.taskSupport` of 2025-11-25. In the extension the server alone decides,
/// and both of the first two values create a task for every client that declares the extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TaskSupport {
    /// Clients without task support are rejected.
    Required,
    /// Clients without task support get a normal response.
    Optional,
    /// Never a task.
    Forbidden,
}

/// Times of a task. Absent values are those of the tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct TaskTimes {
    /// The time that it works before it continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<DurationTemplate>,
    /// The poll interval for the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll: Option<HumanDuration>,
    /// The lifetime from its creation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<HumanDuration>,
    /// Its first status message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Whether the client gets no notifications about its status.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub quiet: bool,
}

impl TaskTimes {
    /// These times; absent ones come from `others`.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            after: self.after.or(others.after),
            poll: self.poll.or(others.poll),
            ttl: self.ttl.or(others.ttl),
            status: self.status.or(others.status),
            quiet: self.quiet || others.quiet,
        }
    }
}

/// A duration with placeholders: `2s`, or `{{arguments.seconds}}s`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DurationTemplate(String);

impl DurationTemplate {
    /// The duration after `fill` has filled its placeholders; `None` if the result is not a duration.
    pub fn resolve(&self, fill: impl FnOnce(&str) -> String) -> Option<HumanDuration> {
        fill(&self.0).parse().ok()
    }
}

impl From<HumanDuration> for DurationTemplate {
    fn from(period: HumanDuration) -> Self {
        Self(period.to_string())
    }
}

impl fmt::Display for DurationTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for DurationTemplate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for DurationTemplate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?.into_owned();
        if !text.contains("{{") {
            text.parse::<HumanDuration>().map_err(de::Error::custom)?;
        }
        Ok(Self(text))
    }
}

impl JsonSchema for DurationTemplate {
    fn schema_name() -> Cow<'static, str> {
        "Lapse".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A length of time with its unit, which may be filled from the request.",
            "examples": ["2s", "{{arguments.seconds}}s"]
        })
    }
}
