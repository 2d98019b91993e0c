//! A list whose single element may be written without the brackets.
//!
//! It is a visitor and not an untagged enum, so that an error inside the element keeps its position and message.

use std::{fmt, marker::PhantomData};

use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{
        MapAccess, SeqAccess, Visitor,
        value::{MapAccessDeserializer, SeqAccessDeserializer, StrDeserializer},
    },
};

/// The JSON Schema of such a list: one element, or several.
#[derive(JsonSchema)]
#[serde(untagged)]
pub enum OneOrManySchema<T> {
    /// One element.
    One(T),
    /// Several.
    Many(Vec<T>),
}

/// Writes a list of one as that one.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer, T: Serialize>(items: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    match items {
        [one] => one.serialize(serializer),
        many => many.serialize(serializer),
    }
}

/// Reads one element, or a list of them.
///
/// # Errors
/// Those of the element.
pub fn deserialize<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    struct OneOrMany<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrMany<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("one element or a list of them")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
            T::deserialize(StrDeserializer::new(text)).map(|one| vec![one])
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            T::deserialize(MapAccessDeserializer::new(map)).map(|one| vec![one])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(seq))
        }
    }

    deserializer.deserialize_any(OneOrMany(PhantomData))
}
