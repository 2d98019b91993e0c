//! Converts a tool result to the content kinds that a model supports. Unsupported parts are replaced by a description.
//!
//! Text that repeats `structuredContent` is omitted (2025-06-18, tools, "Structured Content": servers should send both).
//! In a result with `isError` the text is kept and comes first.

#[cfg(test)]
mod tests;
mod text;

use client::ToolResult;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use text::{printable, size};

/// Image types that the model providers accept.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/// Audio types that the model providers accept.
const AUDIO: [&str; 6] = ["audio/wav", "audio/x-wav", "audio/mpeg", "audio/mp3", "audio/ogg", "audio/flac"];
/// Maximum number of content blocks of a result.
const MAX_BLOCKS: usize = 1_000;
/// Maximum length of a value in a description, in characters.
const MAX_CHARS: usize = 500;

/// The content kinds that a model supports in addition to text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelCapabilities {
    /// PNG, JPEG, GIF and WebP.
    pub images: bool,
    /// WAV, MP3, Ogg and FLAC.
    pub audio: bool,
}

/// One part of the content for a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ContentPart {
    /// Text of the server, or a description of a part that the model does not support.
    Text {
        /// The text.
        text: String,
    },
    /// The structured result.
    Json {
        /// The value.
        value: Value,
    },
    /// An image.
    Image {
        /// Media type in lower case.
        mime: String,
        /// Base64.
        data: String,
    },
    /// An audio recording.
    Audio {
        /// Media type in lower case.
        mime: String,
        /// Base64.
        data: String,
    },
}

impl ContentPart {
    fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// The content of a tool result for a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelContent {
    /// The parts, the most important first.
    pub parts: Vec<ContentPart>,
    /// Whether the tool reported an error (`isError`).
    pub is_error: bool,
}

/// Converts a tool result for a model with these capabilities.
#[must_use]
pub fn for_model(result: &ToolResult, capabilities: ModelCapabilities) -> ModelContent {
    blocks_for_model(result.content(), result.structured(), result.is_error(), capabilities)
}

/// Converts content blocks from any source, for example the messages of a prompt.
#[must_use]
pub fn blocks_for_model(
    blocks: &[Value],
    structured: Option<&Value>,
    is_error: bool,
    capabilities: ModelCapabilities,
) -> ModelContent {
    // Some servers send `null` for absent content.
    let structured = structured.filter(|value| !value.is_null());
    let repeats = |block: &Value| structured.is_some_and(|value| repeats(block, value));
    let mut content = Vec::new();
    let mut repeated = false;
    for block in blocks.iter().take(MAX_BLOCKS) {
        match repeats(block) {
            // The specification requires the text of an error (2025-11-25, tools, "Error Handling").
            true if is_error => repeated = true,
            true => continue,
            false => {}
        }
        add_part(&mut content, block, capabilities);
    }
    if blocks.len() > MAX_BLOCKS {
        content.push(ContentPart::text(format!("[{} more blocks omitted]", blocks.len() - MAX_BLOCKS)));
    }
    let value = structured.filter(|_| !repeated).map(|value| ContentPart::Json { value: value.clone() });
    let is_text = |part: &ContentPart| matches!(part, ContentPart::Text { .. });
    let texts_first = if is_error {
        // Stable: only the texts move to the front.
        content.sort_by_key(|part| !is_text(part));
        content.partition_point(is_text)
    } else {
        0
    };
    content.splice(texts_first..texts_first, value);
    ModelContent { parts: content, is_error }
}

/// Whether a text block contains the structured value and nothing else.
fn repeats(block: &Value, structured: &Value) -> bool {
    let Some(text) = block.get("text").and_then(Value::as_str).filter(|_| block["type"] == "text") else {
        return false;
    };
    // Servers wrap a string result in an object: `{"result": "the text"}`.
    let wrapped = structured.as_object().filter(|object| object.len() == 1).and_then(|object| object.values().next());
    if wrapped.is_some_and(|value| value.as_str() == Some(text)) {
        return true;
    }
    serde_json::from_str::<Value>(text).is_ok_and(|value| value == *structured || Some(&value) == wrapped)
}

/// Converts one block. An embedded resource becomes its description and its content.
fn add_part(parts: &mut Vec<ContentPart>, block: &Value, capabilities: ModelCapabilities) {
    let text = |name: &str| block.get(name).and_then(Value::as_str);
    parts.push(match text("type") {
        Some("text") => text("text").map_or_else(|| unknown("text", block), ContentPart::text),
        Some(kind @ ("image" | "audio")) => match text("data") {
            Some(data) => media(kind, text("mimeType").unwrap_or_default(), data, capabilities),
            None => unknown(kind, block),
        },
        Some("resource_link") => link(block),
        Some("resource") => match block.get("resource").and_then(Value::as_object) {
            Some(resource) => return parts.extend(embedded(resource, capabilities)),
            None => unknown("resource", block),
        },
        kind => unknown(kind.unwrap_or("no type"), block),
    });
}

/// An image or a recording if the model supports it. The provider would reject the whole request for one invalid image.
fn media(kind: &str, mime: &str, data: &str, capabilities: ModelCapabilities) -> ContentPart {
    let lower = mime.trim().to_ascii_lowercase();
    let (mime, data) = (mime.to_owned(), data.to_owned());
    if !is_base64(&data) {
        return ContentPart::text(format!("[{kind}: {}, invalid base64]", shortened(&mime)));
    }
    if kind == "image" && capabilities.images && IMAGES.contains(&lower.as_str()) {
        return ContentPart::Image { mime: lower, data };
    }
    if kind == "audio" && capabilities.audio && AUDIO.contains(&lower.as_str()) {
        return ContentPart::Audio { mime: lower, data };
    }
    ContentPart::text(format!("[{kind}: {}, {}]", shortened(&mime), size(decoded_bytes(&data))))
}

/// Describes a resource link. The model needs the URI to read the resource.
fn link(block: &Value) -> ContentPart {
    let text = |name: &str| block.get(name).and_then(Value::as_str).map(shortened);
    let mut words = format!("[resource: {}", text("uri").unwrap_or_else(|| "without a URI".to_owned()));
    for name in ["title", "name", "mimeType"] {
        words.extend(text(name).map(|text| format!(", {text}")));
    }
    words.extend(block.get("size").and_then(Value::as_u64).map(|bytes| format!(", {}", size(bytes))));
    words.push(']');
    words.extend(text("description").map(|text| format!(" {text}")));
    ContentPart::text(words)
}

fn embedded(resource: &Map<String, Value>, capabilities: ModelCapabilities) -> Vec<ContentPart> {
    let text = |name: &str| resource.get(name).and_then(Value::as_str);
    let mime = text("mimeType").unwrap_or_default();
    let uri = text("uri").map_or_else(|| "without a URI".to_owned(), shortened);
    if let Some(text) = text("text") {
        let kind = if mime.is_empty() { String::new() } else { format!(", {}", shortened(mime)) };
        return vec![ContentPart::text(format!("[resource: {uri}{kind}]\n{text}"))];
    }
    let Some(blob) = text("blob") else {
        return vec![ContentPart::text(format!("[resource: {uri}, without content]"))];
    };
    let kind = ["image", "audio"].into_iter().find(|kind| mime.split('/').next() == Some(kind)).unwrap_or("blob");
    match media(kind, mime, blob, capabilities) {
        ContentPart::Text { text } => vec![ContentPart::text(format!("[resource: {uri}] {text}"))],
        part => vec![ContentPart::text(format!("[resource: {uri}]")), part],
    }
}

fn unknown(kind: &str, block: &Value) -> ContentPart {
    ContentPart::text(format!("[block of unknown type, {}: {}]", shortened(kind), shortened(&block.to_string())))
}

/// Text of a server as one line of limited length without control characters.
fn shortened(text: &str) -> String {
    let mut text_line = printable(&text.chars().take(MAX_CHARS + 1).collect::<String>()).replace('\n', " ");
    if text_line.is_empty() {
        return "unknown type".to_owned();
    }
    if let Some((end, _)) = text_line.char_indices().nth(MAX_CHARS) {
        text_line.truncate(end);
        text_line.push('…');
    }
    text_line
}

/// Whether this is base64 (RFC 4648, section 4).
fn is_base64(data: &str) -> bool {
    let digits = data.trim_end_matches('=');
    data.len().is_multiple_of(4)
        && !digits.is_empty()
        && data.len() - digits.len() <= 2
        && digits.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

/// Number of bytes that this base64 encodes.
fn decoded_bytes(data: &str) -> u64 {
    (data.trim_end_matches('=').len() as u64) * 3 / 4
}
