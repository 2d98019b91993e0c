//! The message of a recorded frame.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A JSON value that is kept as text, because the values of a run with thousands of frames need several times as much
/// memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameBody(Box<str>);

impl FrameBody {
    /// The value.
    #[must_use]
    pub fn value(&self) -> Value {
        // The text was written from a value.
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

impl From<&Value> for FrameBody {
    fn from(value: &Value) -> Self {
        Self(value.to_string().into())
    }
}

impl Serialize for FrameBody {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

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
