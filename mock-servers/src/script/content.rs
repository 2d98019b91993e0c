//! Content blocks of tool results, prompts and resources.

use std::fmt;

use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::{Map, Value};

/// A content block of a tool's result or of a prompt's message. A block that the negotiated revision does not have
/// (audio before 2025-03-26, links before 2025-06-18) is sent as a text that names it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// A text: `text: hello`, or with further members `text: { text: hello, annotations: { … } }`.
    Text(
        #[serde(with = "short_text")]
        #[schemars(with = "ShortText")]
        TextBlock,
    ),
    /// An image.
    Image(MediaBlock),
    /// Audio, since 2025-03-26.
    Audio(MediaBlock),
    /// A link to a resource; since 2025-06-18.
    ResourceLink(LinkBlock),
    /// An embedded resource.
    Resource(ResourceBlock),
}

/// A text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TextBlock {
    /// The text.
    pub text: String,
    /// The annotations; absent: none are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Value>,
    /// `_meta`; absent: none is sent.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

/// An image or audio.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MediaBlock {
    /// The bytes, in base64.
    pub data: String,
    /// The media type.
    pub mime_type: String,
    /// The annotations; absent: none are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Value>,
    /// `_meta`; absent: none is sent.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

/// A link to a resource.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkBlock {
    /// The URI.
    pub uri: String,
    /// The name.
    pub name: String,
    /// The title; absent: none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description; absent: none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The media type; absent: none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The size in bytes; absent: none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The annotations; absent: none are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Value>,
    /// The icons, since 2025-11-25; absent: none are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Value>,
    /// `_meta`; absent: none is sent.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

/// An embedded resource.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResourceBlock {
    /// The URI.
    pub uri: String,
    /// The media type; absent: none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The contents, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The contents, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// The annotations of the block; absent: none are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Value>,
    /// `_meta` of the block; absent: none is sent.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

/// The JSON Schema of a text block, with or without its mapping.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it is only ever described")]
enum ShortText {
    /// The text alone.
    Short(String),
    /// The text with further members.
    Long(TextBlock),
}

/// Reads a text with or without its mapping. It is a visitor and not an untagged enum, so that errors keep their
/// position.
mod short_text {
    use super::*;

    pub(super) fn serialize<S: Serializer>(block: &TextBlock, serializer: S) -> Result<S::Ok, S::Error> {
        match block {
            TextBlock { text, annotations: None, meta: None } => serializer.serialize_str(text),
            more => more.serialize(serializer),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TextBlock, D::Error> {
        struct Text;

        impl<'de> Visitor<'de> for Text {
            type Value = TextBlock;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, or a mapping with `text`")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<TextBlock, E> {
                Ok(TextBlock { text: text.to_owned(), ..TextBlock::default() })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<TextBlock, A::Error> {
                TextBlock::deserialize(MapAccessDeserializer::new(map))
            }
        }

        deserializer.deserialize_any(Text)
    }
}
