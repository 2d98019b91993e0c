//! What of a result a model can take: what it cannot is replaced by words.
//!
//! Text that merely repeats `structuredContent` is left out (2025-06-18, tools, "Structured Content": servers should send
//! both); of a result with `isError` the text is kept, and comes first. Nothing disappears without a word in its place.

#[cfg(test)]
mod tests;
mod words;

use client::ToolResult;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use words::{printable, size};

/// The kinds of images that the providers take.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/// The kinds of audio that providers take.
const AUDIO: [&str; 6] = ["audio/wav", "audio/x-wav", "audio/mpeg", "audio/mp3", "audio/ogg", "audio/flac"];
/// The most blocks of a result.
const BLOCKS: usize = 1_000;
/// The longest form of a block that is text_line in words, in characters.
const MAX_CHARS: usize = 500;

/// What a model can take beside text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelCapabilities {
    /// PNG, JPEG, GIF and WebP.
    pub images: bool,
    /// WAV, MP3, Ogg and FLAC.
    pub audio: bool,
}

/// A piece of what a model is given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ContentPart {
    /// Text, as the server sent it or in words of ours.
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
        /// Its kind, in lower case.
        mime: String,
        /// Base64.
        data: String,
    },
    /// A recording.
    Audio {
        /// Its kind, in lower case.
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

/// What a model is given of a result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelContent {
    /// The pieces, the most important first.
    pub pieces: Vec<ContentPart>,
    /// Whether the tool itself reports a failure.
    pub is_error: bool,
}

/// What of a result a model with these abilities is given.
#[must_use]
pub fn for_model(result: &ToolResult, abilities: ModelCapabilities) -> ModelContent {
    blocks_for_model(result.content(), result.structured(), result.is_error(), abilities)
}

/// The same for blocks of content wherever they come from, the messages of a prompt for instance.
#[must_use]
pub fn blocks_for_model(
    blocks: &[Value],
    structured: Option<&Value>,
    is_error: bool,
    abilities: ModelCapabilities,
) -> ModelContent {
    // `null` is what some servers send for "none".
    let structured = structured.filter(|value| !value.is_null());
    let repeats = |block: &Value| structured.is_some_and(|value| repeats(block, value));
    let mut content = Vec::new();
    let mut repeated = false;
    for block in blocks.iter().take(BLOCKS) {
        match repeats(block) {
            // The text of an error is what the specification promises (2025-11-25, tools, "Error Handling").
            true if is_error => repeated = true,
            true => continue,
            false => {}
        }
        content.extend(piece(block, abilities));
    }
    if blocks.len() > BLOCKS {
        content.push(ContentPart::text(format!("[{} more blocks left out]", blocks.len() - BLOCKS)));
    }
    let value = structured.filter(|_| !repeated).map(|value| ContentPart::Json { value: value.clone() });
    let mut pieces = Vec::with_capacity(content.len() + 1);
    if is_error {
        let (texts, others): (Vec<_>, Vec<_>) =
            content.into_iter().partition(|piece| matches!(piece, ContentPart::Text { .. }));
        pieces.extend(texts.into_iter().chain(value).chain(others));
    } else {
        pieces.extend(value.into_iter().chain(content));
    }
    ModelContent { pieces, is_error }
}

/// Whether a block of text says what the structured value says, and nothing else.
fn repeats(block: &Value, structured: &Value) -> bool {
    let Some(text) = block.get("text").and_then(Value::as_str).filter(|_| block["type"] == "text") else {
        return false;
    };
    // Where a tool returns a text, servers wrap it to have an object: `{"result": "the text"}`.
    let wrapped = structured.as_object().filter(|object| object.len() == 1).and_then(|object| object.values().next());
    if wrapped.is_some_and(|value| value.as_str() == Some(text)) {
        return true;
    }
    serde_json::from_str::<Value>(text).is_ok_and(|value| value == *structured || Some(&value) == wrapped)
}

/// The piece that a block becomes, and for a resource its words in front.
fn piece(block: &Value, abilities: ModelCapabilities) -> Vec<ContentPart> {
    let text = |name: &str| block.get(name).and_then(Value::as_str);
    match text("type") {
        Some("text") => match text("text") {
            Some(text) => vec![ContentPart::text(text)],
            None => vec![unknown("text", block)],
        },
        Some(kind @ ("image" | "audio")) => match text("data") {
            Some(data) => vec![media(kind, text("mimeType").unwrap_or_default(), data, abilities)],
            None => vec![unknown(kind, block)],
        },
        Some("resource_link") => vec![link(block)],
        Some("resource") => match block.get("resource").and_then(Value::as_object) {
            Some(resource) => embedded(resource, abilities),
            None => vec![unknown("resource", block)],
        },
        kind => vec![unknown(kind.unwrap_or("no type"), block)],
    }
}

/// An image or a recording, for those who can take it: one bad one would have the provider refuse the whole request.
fn media(kind: &str, mime: &str, data: &str, abilities: ModelCapabilities) -> ContentPart {
    let lower = mime.trim().to_ascii_lowercase();
    let (mime, data) = (mime.to_owned(), data.to_owned());
    if !is_base64(&data) {
        return ContentPart::text(format!("[{kind}: {}, its data is no base64]", shortened(&mime)));
    }
    if kind == "image" && abilities.images && IMAGES.contains(&lower.as_str()) {
        return ContentPart::Image { mime: lower, data };
    }
    if kind == "audio" && abilities.audio && AUDIO.contains(&lower.as_str()) {
        return ContentPart::Audio { mime: lower, data };
    }
    ContentPart::text(format!("[{kind}: {}, {}]", shortened(&mime), size(decoded_bytes(&data))))
}

/// What a link leads to, in words; the URI is what the model needs to read it.
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

fn embedded(resource: &Map<String, Value>, abilities: ModelCapabilities) -> Vec<ContentPart> {
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
    match media(kind, mime, blob, abilities) {
        ContentPart::Text { text } => vec![ContentPart::text(format!("[resource: {uri}] {text}"))],
        piece => vec![ContentPart::text(format!("[resource: {uri}]")), piece],
    }
}

fn unknown(kind: &str, block: &Value) -> ContentPart {
    ContentPart::text(format!("[block of unknown form, {}: {}]", shortened(kind), shortened(&block.to_string())))
}

/// A server's words among ours: on one line, bounded, with nothing in them that a terminal acts upon.
fn shortened(text: &str) -> String {
    let mut text_line = printable(&text.chars().take(MAX_CHARS + 1).collect::<String>()).replace('\n', " ");
    if text_line.is_empty() {
        return "of no given kind".to_owned();
    }
    if let Some((end, _)) = text_line.char_indices().nth(MAX_CHARS) {
        text_line.truncate(end);
        text_line.push('…');
    }
    text_line
}

/// Whether this is base64 as RFC 4648, section 4, has it.
fn is_base64(data: &str) -> bool {
    let digits = data.trim_end_matches('=');
    data.len().is_multiple_of(4)
        && !digits.is_empty()
        && data.len() - digits.len() <= 2
        && digits.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

/// How many bytes stand behind this base64.
fn decoded_bytes(data: &str) -> u64 {
    (data.trim_end_matches('=').len() as u64) * 3 / 4
}
