//! How much of a result reaches a model: the rest is kept on disk, and that is said.
//!
//! The tokens of all pieces together count, by [`count`]; images and recordings by their kind, not by their base64. Within
//! the limit nothing is touched. Beyond it the pieces are taken in their order, which has the text of an error first: what
//! fits is kept, the first that does not is cut, what comes after is left out. Text is cut at the end of a line, a word or at
//! least a character; JSON becomes shorter JSON ([`ModelContent`] with a value, or text that is JSON). A last piece says what
//! was left out and where the whole is, and is within the limit as well.

mod json;
mod store;
#[cfg(test)]
mod tests;
mod tokens;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use store::{OutputStore, OutputStoreError};
pub use tokens::count;
pub(crate) use tokens::count_within;

use crate::filter::{ContentPart, ModelContent, size};

/// What an image counts as: about what providers charge for one of a usual size.
const IMAGE: usize = 1_600;
/// What a recording counts as: about a minute of it.
const AUDIO: usize = 1_600;
/// Room for the numbers in the words about what was left out.
const NUMBERS: usize = 16;

/// How many tokens of a result are too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputLimits {
    /// Beyond this many somebody is told.
    pub warn: usize,
    /// Beyond this many it is cut.
    pub cut: usize,
}

impl Default for OutputLimits {
    fn default() -> Self {
        Self { warn: 10_000, cut: 25_000 }
    }
}

impl OutputLimits {
    /// The usual limits, with this one in place of 25,000: what `MAX_MCP_OUTPUT_TOKENS` says.
    #[must_use]
    pub fn with_cut(cut: usize) -> Self {
        Self { cut, ..Self::default() }
    }
}

/// What became of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It is whole.
    Whole,
    /// It is whole, and so large that somebody should know.
    Large {
        /// How many tokens it is.
        tokens: usize,
    },
    /// It was cut.
    Truncation(Truncation),
}

/// What was left out of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Truncation {
    /// How many bytes of text the result had.
    pub bytes: usize,
    /// How many bytes of text are shown.
    pub shown: usize,
    /// How many images and recordings are left out.
    pub media: usize,
    /// Where the whole text is.
    pub kept: Option<PathBuf>,
    /// Why it is nowhere.
    pub not_kept: Option<String>,
}

/// Brings a result within its limits. The whole text of one that is cut goes to `spill`, which writes to the disk.
#[must_use]
pub fn limit(content: ModelContent, limits: OutputLimits, spill: Option<&OutputStore>) -> (ModelContent, Outcome) {
    let texts: Vec<Option<String>> = content.pieces.iter().map(text_of).collect();
    match tokens_up_to(&content.pieces, &texts, limits) {
        Some(tokens) if tokens <= limits.warn => (content, Outcome::Whole),
        Some(tokens) => (content, Outcome::Large { tokens }),
        None => cut(content, &texts, limits.cut, spill),
    }
}

/// The text of a value; other pieces are text themselves, or none.
fn text_of(piece: &ContentPart) -> Option<String> {
    match piece {
        ContentPart::Json { value } => Some(value.to_string()),
        _ => None,
    }
}

fn words<'a>(piece: &'a ContentPart, text: &'a Option<String>) -> &'a str {
    match piece {
        ContentPart::Text { text } => text,
        _ => text.as_deref().unwrap_or_default(),
    }
}

fn media(piece: &ContentPart) -> usize {
    match piece {
        ContentPart::Image { .. } => IMAGE,
        ContentPart::Audio { .. } => AUDIO,
        ContentPart::Text { .. } | ContentPart::Json { .. } => 0,
    }
}

/// How many tokens all pieces are; `None` where they are more than the limit. What is so short that it cannot be too much is
/// not counted: a token is at least one byte, so there are no more tokens than bytes.
fn tokens_up_to(pieces: &[ContentPart], texts: &[Option<String>], limits: OutputLimits) -> Option<usize> {
    let bytes: usize = pieces.iter().zip(texts).map(|(piece, text)| media(piece) + words(piece, text).len()).sum();
    if bytes <= limits.warn.min(limits.cut) {
        return Some(bytes);
    }
    let mut left = limits.cut;
    for (piece, text) in pieces.iter().zip(texts) {
        left = left.checked_sub(media(piece))?;
        left -= tokens::within(words(piece, text), left)?;
    }
    Some(limits.cut - left)
}

fn cut(
    content: ModelContent,
    texts: &[Option<String>],
    limit: usize,
    spill: Option<&OutputStore>,
) -> (ModelContent, Outcome) {
    let bytes = content.pieces.iter().zip(texts).map(|(piece, text)| words(piece, text).len()).sum();
    let (kept, not_kept) = match spill.map(|spill| keep(spill, &content.pieces)) {
        Some(Ok(path)) => (Some(path), None),
        Some(Err(error)) => (None, Some(error.to_string())),
        None => (None, None),
    };
    let mut what =
        Truncation { bytes, shown: 0, media: content.pieces.iter().filter(|p| media(p) > 0).count(), kept, not_kept };
    let mut left = limit.saturating_sub(count(&notice(&what, limit)) + NUMBERS);
    let mut pieces = Vec::new();
    for (piece, text) in content.pieces.into_iter().zip(texts) {
        let cost = media(&piece);
        let text = words(&piece, text).to_owned();
        if let Some(tokens) = left.checked_sub(cost).and_then(|left| tokens::within(&text, left)) {
            left -= cost + tokens;
            what.shown += text.len();
            what.media -= usize::from(cost > 0);
            pieces.push(piece);
        } else if cost == 0 {
            let piece = shorter(piece, &text, left);
            what.shown += words(&piece, &text_of(&piece)).len().min(text.len());
            pieces.push(piece);
            break;
        }
    }
    let notice = notice(&what, limit);
    pieces.push(ContentPart::Text { text: tokens::beginning(&notice, limit).to_owned() });
    (ModelContent { pieces, is_error: content.is_error }, Outcome::Truncation(what))
}

/// As much of a piece as fits.
fn shorter(piece: ContentPart, text: &str, limit: usize) -> ContentPart {
    let is_value = matches!(piece, ContentPart::Json { .. });
    let value = match piece {
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
        None => ContentPart::Text { text: tokens::beginning(text, limit).to_owned() },
    }
}

/// Keeps the text of all pieces, values indented so that lines can be searched.
fn keep(spill: &OutputStore, pieces: &[ContentPart]) -> Result<PathBuf, OutputStoreError> {
    let texts: Vec<String> = pieces
        .iter()
        .filter_map(|piece| match piece {
            ContentPart::Text { text } => Some(text.clone()),
            ContentPart::Json { value } => Some(format!("{value:#}")),
            ContentPart::Image { .. } | ContentPart::Audio { .. } => None,
        })
        .collect();
    let extension = if matches!(pieces, [ContentPart::Json { .. }]) { "json" } else { "txt" };
    spill.keep(&texts.join("\n\n"), extension)
}

fn notice(what: &Truncation, limit: usize) -> String {
    let (shown, bytes) = (size(what.shown as u64), size(what.bytes as u64));
    let mut words = format!("[cut: the output is longer than {limit} tokens; {shown} of {bytes} are shown");
    if what.media > 0 {
        words.push_str(&format!(", {} images or recordings are left out", what.media));
    }
    match (&what.kept, &what.not_kept) {
        (Some(path), _) => words.push_str(&format!(". The whole text is in {}]", path.display())),
        (None, Some(reason)) => words.push_str(&format!(". The rest could not be kept: {reason}]")),
        (None, None) => words.push_str(". The rest is not kept]"),
    }
    words
}
