//! Calls that are answered with a task: what a tool says about them, and how long they take.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::human_duration::HumanDuration;

/// How a tool is called as a task: with the tasks of 2025-11-25, or with the extension `io.modelcontextprotocol/tasks`
/// of 2026-07-28. The actions of the rule that decides about the call, or the default answer, are what the task does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct ToolTask {
    /// Whether a call is, may be, or never is a task.
    pub support: TaskSupport,
    /// How long it works before it goes on with the rule's actions, or with the answer; not at all if absent. It may
    /// be filled from the request: `{{arguments.seconds}}s`. A call that is no task takes the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<DurationTemplate>,
    /// How often the client should ask about it; 100 ms if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll: Option<HumanDuration>,
    /// How long it is kept, from its creation; absent: as long as the client wishes, or else an hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<HumanDuration>,
    /// Its first status message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

impl ToolTask {
    /// How its tasks go.
    #[must_use]
    pub fn times(&self) -> TaskTimes {
        TaskTimes { after: self.after.clone(), poll: self.poll, ttl: self.ttl, status: self.status.clone() }
    }
}

/// Whether calls of a tool are tasks: `execution.taskSupport` of 2025-11-25. In the extension it is the server alone
/// that decides, and both of the first two make a task for every client that declares the extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TaskSupport {
    /// Clients that do not support tasks are refused.
    Required,
    /// Clients that do not support tasks are answered as usual.
    Optional,
    /// Never a task.
    Forbidden,
}

/// How a task goes. What is absent is as the tool has it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct TaskTimes {
    /// How long it works before it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<DurationTemplate>,
    /// How often the client should ask about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll: Option<HumanDuration>,
    /// How long it is kept, from its creation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<HumanDuration>,
    /// Its first status message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

impl TaskTimes {
    /// These, and what they leave open as the others have it.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            after: self.after.or(others.after),
            poll: self.poll.or(others.poll),
            ttl: self.ttl.or(others.ttl),
            status: self.status.or(others.status),
        }
    }
}

/// A length of time that may be filled from the request: `2s`, or `{{arguments.seconds}}s`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DurationTemplate(String);

impl DurationTemplate {
    /// The length of time, after `fill` has filled in what its text leaves open; none if that makes no length of time.
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
