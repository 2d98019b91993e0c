//! Limits the size of a tool result for a model. The complete result is stored on disk.
//!
//! The limit applies to the tokens of all parts together ([`count`]); images and recordings have a fixed cost. Within the
//! limit nothing changes. Otherwise parts are kept in order while they fit, the first that does not fit is truncated, and the
//! rest is omitted. Text ends at a line, a word or at least a character; JSON becomes shorter JSON. A notice within the
//! limit reports the size and the path of the complete result.

mod json;
mod store;
#[cfg(test)]
mod tests;
mod tokens;

use std::{io, path::PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use store::{OutputStore, OutputStoreError};
pub use tokens::count;
pub(crate) use tokens::{count_within, fewest};

use crate::filter::{ContentPart, ModelContent, size};

/// Cost of an image in tokens: roughly what providers charge for a typical size.
const IMAGE_TOKENS: usize = 1_600;
/// Cost of a recording in tokens: roughly one minute.
const AUDIO_TOKENS: usize = 1_600;
/// Tokens reserved for the numbers in the notice.
const NOTICE_NUMBERS: usize = 16;

/// Limits of a tool result, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputLimits {
    /// Above this size the result is reported as large.
    pub warn: usize,
    /// Above this size the result is truncated.
    pub truncate: usize,
}

impl Default for OutputLimits {
    fn default() -> Self {
        Self { warn: 10_000, truncate: 25_000 }
    }
}

impl OutputLimits {
    /// The default limits with another truncation limit (`MAX_MCP_OUTPUT_TOKENS`).
    #[must_use]
    pub fn with_truncate(truncate: usize) -> Self {
        Self { truncate, ..Self::default() }
    }
}

/// Effect of the limits on a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Unchanged.
    Whole,
    /// Unchanged, but larger than the warning limit.
    Large {
        /// Size in tokens.
        tokens: usize,
    },
    /// Truncated.
    Truncated(Truncation),
}

/// What was omitted from a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Truncation {
    /// Bytes of text in the complete result.
    pub bytes: usize,
    /// Bytes of text that remain.
    pub shown: usize,
    /// Number of omitted images and recordings.
    pub media: usize,
    /// File with the complete text.
    pub stored: Option<PathBuf>,
    /// Why the complete text was not stored.
    pub store_error: Option<String>,
}

/// Applies the limits. If the result is truncated, its complete text is written to `store` (blocking).
#[must_use]
pub fn limit(content: ModelContent, limits: OutputLimits, store: Option<&OutputStore>) -> (ModelContent, Outcome) {
    if is_short(&content, limits) {
        return (content, Outcome::Whole);
    }
    let texts: Vec<Option<String>> = content.parts.iter().map(json_text).collect();
    match tokens_up_to(&content.parts, &texts, limits) {
        Some(tokens) if tokens <= limits.warn => (content, Outcome::Whole),
        Some(tokens) => (content, Outcome::Large { tokens }),
        None => truncate(content, &texts, limits.truncate, store),
    }
}

/// Whether a result is so short that [`limit`] returns it unchanged and at once. It is not tokenized: it has at most as many
/// tokens as bytes.
pub(crate) fn is_short(content: &ModelContent, limits: OutputLimits) -> bool {
    let mut left = Bytes(limits.warn.min(limits.truncate));
    content.parts.iter().all(|part| match part {
        ContentPart::Text { text } => left.take(text.len()),
        ContentPart::Json { value } => serde_json::to_writer(&mut left, value).is_ok(),
        ContentPart::Image { .. } | ContentPart::Audio { .. } => left.take(media_tokens(part)),
    })
}

/// A number of bytes that may still be written.
struct Bytes(usize);

impl Bytes {
    fn take(&mut self, count: usize) -> bool {
        self.0.checked_sub(count).map(|left| self.0 = left).is_some()
    }
}

impl io::Write for Bytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.take(bytes.len()) { Ok(bytes.len()) } else { Err(io::ErrorKind::FileTooLarge.into()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The text of a JSON value, `None` for other parts.
fn json_text(part: &ContentPart) -> Option<String> {
    match part {
        ContentPart::Json { value } => Some(value.to_string()),
        _ => None,
    }
}

fn part_text<'a>(part: &'a ContentPart, text: &'a Option<String>) -> &'a str {
    match part {
        ContentPart::Text { text } => text,
        _ => text.as_deref().unwrap_or_default(),
    }
}

fn media_tokens(part: &ContentPart) -> usize {
    match part {
        ContentPart::Image { .. } => IMAGE_TOKENS,
        ContentPart::Audio { .. } => AUDIO_TOKENS,
        ContentPart::Text { .. } | ContentPart::Json { .. } => 0,
    }
}

/// Tokens of all parts, or `None` above the limit.
fn tokens_up_to(parts: &[ContentPart], texts: &[Option<String>], limits: OutputLimits) -> Option<usize> {
    let mut left = limits.truncate;
    for (part, text) in parts.iter().zip(texts) {
        left = left.checked_sub(media_tokens(part))?;
        left -= tokens::within(part_text(part, text), left)?;
    }
    Some(limits.truncate - left)
}

fn truncate(
    content: ModelContent,
    texts: &[Option<String>],
    limit: usize,
    store: Option<&OutputStore>,
) -> (ModelContent, Outcome) {
    let bytes = content.parts.iter().zip(texts).map(|(part, text)| part_text(part, text).len()).sum();
    let (stored, store_error) = match store.map(|store| store_text(store, &content.parts)) {
        Some(Ok(path)) => (Some(path), None),
        Some(Err(error)) => (None, Some(error.to_string())),
        None => (None, None),
    };
    let mut what = Truncation {
        bytes,
        shown: 0,
        media: content.parts.iter().filter(|p| media_tokens(p) > 0).count(),
        stored,
        store_error,
    };
    let mut left = limit.saturating_sub(count(&notice(&what, limit)) + NOTICE_NUMBERS);
    let mut parts = Vec::new();
    for (part, text) in content.parts.into_iter().zip(texts) {
        let cost = media_tokens(&part);
        let text = part_text(&part, text).to_owned();
        if let Some(tokens) = left.checked_sub(cost).and_then(|left| tokens::within(&text, left)) {
            left -= cost + tokens;
            what.shown += text.len();
            what.media -= usize::from(cost > 0);
            parts.push(part);
        } else if cost == 0 {
            let part = shorter(part, &text, left);
            what.shown += part_text(&part, &json_text(&part)).len().min(text.len());
            parts.push(part);
            break;
        }
    }
    let notice = notice(&what, limit);
    parts.push(ContentPart::Text { text: tokens::prefix(&notice, limit).to_owned() });
    (ModelContent { parts, is_error: content.is_error }, Outcome::Truncated(what))
}

/// Shortens a part to the limit.
fn shorter(part: ContentPart, text: &str, limit: usize) -> ContentPart {
    let is_value = matches!(part, ContentPart::Json { .. });
    let value = match part {
        ContentPart::Json { value } => Some(value),
        _ if text.trim_start().starts_with(['{', '[']) => serde_json::from_str(text).ok(),
        _ => None,
    };
    let short = value.and_then(|value: Value| json::shorten(&value, limit));
    match short {
        Some(short) if is_value => match serde_json::from_str(&short) {
            Ok(value) => ContentPart::Json { value },
            Err(_) => ContentPart::Text { text: short },
        },
        Some(short) => ContentPart::Text { text: short },
        None => ContentPart::Text { text: tokens::prefix(text, limit).to_owned() },
    }
}

/// Stores the text of all parts. JSON is indented so that its lines can be searched.
fn store_text(store: &OutputStore, parts: &[ContentPart]) -> Result<PathBuf, OutputStoreError> {
    let texts: Vec<String> = parts
        .iter()
        .filter_map(|part| match part {
            ContentPart::Text { text } => Some(text.clone()),
            ContentPart::Json { value } => Some(format!("{value:#}")),
            ContentPart::Image { .. } | ContentPart::Audio { .. } => None,
        })
        .collect();
    let extension = if matches!(parts, [ContentPart::Json { .. }]) { "json" } else { "txt" };
    store.write(&texts.join("\n\n"), extension)
}

fn notice(what: &Truncation, limit: usize) -> String {
    let (shown, bytes) = (size(what.shown as u64), size(what.bytes as u64));
    let mut text = format!("[truncated: the output is longer than {limit} tokens; {shown} of {bytes} are shown");
    if what.media > 0 {
        text.push_str(&format!(", {} images or recordings are omitted", what.media));
    }
    match (&what.stored, &what.store_error) {
        (Some(path), _) => text.push_str(&format!(". The complete text is in {}]", path.display())),
        (None, Some(reason)) => text.push_str(&format!(". The complete text could not be stored: {reason}]")),
        (None, None) => text.push_str(". The rest is not stored]"),
    }
    text
}
