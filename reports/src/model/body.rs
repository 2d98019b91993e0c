//! The message of a recorded frame.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, value::RawValue};

/// A JSON value that is kept as text, because the values of a run with thousands of frames need several times as much
/// memory, and are written more often than read.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct FrameBody(Box<RawValue>);

impl FrameBody {
    /// The value.
    #[must_use]
    pub fn value(&self) -> Value {
        // The text was written from a value.
        serde_json::from_str(self.text()).unwrap_or_default()
    }

    /// The JSON text.
    #[must_use]
    pub fn text(&self) -> &str {
        self.0.get()
    }
}

impl From<&Value> for FrameBody {
    fn from(value: &Value) -> Self {
        // A value has no keys that are not text, so it can always be written.
        Self(serde_json::value::to_raw_value(value).unwrap_or_default())
    }
}

impl PartialEq for FrameBody {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for FrameBody {}

impl<'de> Deserialize<'de> for FrameBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|value| Self::from(&value))
    }
}

impl JsonSchema for FrameBody {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Value::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Value::json_schema(generator)
    }
}
