//! Durations in scripts and scenarios: `500ms`, `2s`, `1m 30s`.

use std::{borrow::Cow, fmt, str::FromStr, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A duration with its unit (`500ms`, `2s`, `1m 30s`). A number without a unit is an error: a reader could not tell
/// seconds from milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HumanDuration(pub Duration);

impl HumanDuration {
    /// A duration of this many milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(Duration::from_millis(millis))
    }
}

impl fmt::Display for HumanDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
    }
}

impl FromStr for HumanDuration {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        humantime::parse_duration(text).map(Self).map_err(|cause| {
            format!("`{text}` is not a length of time ({cause}); write it with a unit, as in `500ms` or `2s`")
        })
    }
}

impl Serialize for HumanDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for HumanDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Numbers are accepted here so that the error can name the missing unit.
        deserializer.deserialize_any(DurationVisitor)
    }
}

/// Parses a duration.
struct DurationVisitor;

impl DurationVisitor {
    fn without_unit<E: de::Error>(number: impl fmt::Display) -> E {
        E::custom(format!("`{number}` has no unit; write `{number}ms` or `{number}s`"))
    }
}

impl de::Visitor<'_> for DurationVisitor {
    type Value = HumanDuration;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a length of time, as in `500ms` or `2s`")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<HumanDuration, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<HumanDuration, E> {
        Err(Self::without_unit(number))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<HumanDuration, E> {
        Err(Self::without_unit(number))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<HumanDuration, E> {
        Err(E::custom(format!("`{number}` has no unit; write it with one, as in `500ms` or `2s`")))
    }

    fn visit_bool<E: de::Error>(self, truth: bool) -> Result<HumanDuration, E> {
        self.visit_str(if truth { "true" } else { "false" })
    }
}

impl JsonSchema for HumanDuration {
    fn schema_name() -> Cow<'static, str> {
        "Period".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A length of time with its unit, as in 500ms, 2s or 1m 30s.",
            "pattern": "^([0-9]+ ?(ns|us|ms|s|sec|m|min|h)( |$))+$",
            "examples": ["500ms", "2s"]
        })
    }
}
