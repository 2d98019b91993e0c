//! A value that is read and let go, as strictly as one that is kept: what the long way would refuse to read must not be
//! answered on the short one. (`IgnoredAny` lets through numbers, strings and depths that `Value` does not.)

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// What was skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Skipped {
    Object,
    Other,
}

impl<'de> Deserialize<'de> for Skipped {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Skip)
    }
}

struct Skip;

impl<'de> Visitor<'de> for Skip {
    type Value = Skipped;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Skipped, E> {
        Ok(Skipped::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Skipped, E> {
        Ok(Skipped::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Skipped, E> {
        Ok(Skipped::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Skipped, E> {
        Ok(Skipped::Other)
    }

    fn visit_str<E>(self, _: &str) -> Result<Skipped, E> {
        Ok(Skipped::Other)
    }

    fn visit_unit<E>(self) -> Result<Skipped, E> {
        Ok(Skipped::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Skipped, A::Error> {
        while items.next_element::<Skipped>()?.is_some() {}
        Ok(Skipped::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Skipped, A::Error> {
        while members.next_entry::<Skipped, Skipped>()?.is_some() {}
        Ok(Skipped::Object)
    }
}
