//! A number of bytes with its unit.

use std::{borrow::Cow, fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The units, with those whose names end with another one before it.
const UNITS: [(&str, u64); 7] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("B", 1),
];

/// A number of bytes: `500MB`, `1.5GiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let size = UNITS.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?.trim_end(), *unit)));
        let size = size.filter(|(digits, _)| digits.chars().all(|ch| matches!(ch, '0'..='9' | '.')));
        let bytes = size.and_then(|(digits, unit)| Some(digits.parse::<f64>().ok()? * unit as f64));
        let bytes = bytes.filter(|bytes| *bytes < 1e18);
        bytes
            .map(|bytes| Self(bytes as u64))
            .ok_or_else(|| format!("`{text}` is not a size; write it as `500MB` or `1GiB`"))
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(bytes) = *self;
        match bytes {
            0..1_000 => write!(f, "{bytes}B"),
            1_000..1_000_000 => write!(f, "{}KB", decimal(bytes, 1_000)),
            1_000_000..1_000_000_000 => write!(f, "{}MB", decimal(bytes, 1_000_000)),
            _ => write!(f, "{}GB", decimal(bytes, 1_000_000_000)),
        }
    }
}

/// The number of units, with one decimal if it is not whole.
fn decimal(bytes: u64, unit: u64) -> f64 {
    (bytes as f64 / unit as f64 * 10.0).round() / 10.0
}

impl Serialize for ByteSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for ByteSize {
    fn schema_name() -> Cow<'static, str> {
        "ByteSize".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A number of bytes with its unit: `500MB`, `1.5GiB`.",
            "pattern": "^[0-9]+(\\.[0-9]+)? *([KMG]i?)?B$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in [("500MB", 500_000_000), ("1.5 GiB", 1_610_612_736), ("7B", 7), ("2KiB", 2_048)] {
            assert_eq!(text.parse(), Ok(ByteSize(bytes)), "{text}");
        }
        for text in ["", "500", "MB", "-1MB", "1e9B", "infB", "1.2.3MB", "5 apples", "9999999999GB"] {
            assert!(text.parse::<ByteSize>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_short() {
        for (bytes, text) in
            [(7, "7B"), (2_048, "2KB"), (85_349_000, "85.3MB"), (500_000_000, "500MB"), (1_610_612_736, "1.6GB")]
        {
            assert_eq!(ByteSize(bytes).to_string(), text);
        }
    }
}
