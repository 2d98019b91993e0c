//! Counts the tokens of a text (o200k), and tokenizes no more of it than necessary.
//!
//! A text is counted in chunks that end at a certain token boundary: the tokenizer first splits a text by a regular expression
//! (`tiktoken_rs`, `O200K_BASE_PAT_STR`), and tokens never cross its matches. No alternative of that expression contains
//!
//! - a visible ASCII character followed by a space or tab (only `\r`, `\n` and `/` may follow punctuation in a piece),
//! - a line feed followed by a visible ASCII character, but for `/`,
//! - a digit next to a visible character other than a digit,
//! - a letter followed by ASCII punctuation, but for the `'` of `it's`.
//!
//! Between two such characters the counts of both sides add up exactly. Without such a boundary in [`CHUNK`] bytes (a
//! million equal signs, Chinese without a space) the chunk ends between two characters, and its count may be off by one;
//! then [`Count::exact`] is false. Chunks also limit the time for texts that are slow to tokenize.

use tiktoken_rs::{CoreBPE, o200k_base_singleton};
use unicode_segmentation::GraphemeCursor;

/// Bytes that are tokenized at once.
const CHUNK: usize = 4_096;
/// Maximum bytes per token of a text without exact boundaries: its prefix is then tokenized as a whole.
const MAX_BYTES_PER_TOKEN: usize = 8;

/// Length of the longest token in bytes; a test checks all tokens.
const MAX_TOKEN_BYTES: usize = 128;

/// A count that stops at a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Count {
    /// Tokens of the counted chunks, at most the limit.
    pub(super) tokens: usize,
    /// Whether the text has more tokens than the limit.
    pub(super) exceeds: bool,
    /// Whether every chunk ends at a certain token boundary.
    pub(super) exact: bool,
    /// Ends of the chunks within the limit, with the tokens up to each.
    marks: Vec<(usize, usize)>,
}

impl Count {
    /// End of the last chunk within the limit.
    fn end(&self) -> usize {
        self.marks.last().map_or(0, |(end, _)| *end)
    }

    /// Tokens of a prefix that ends at most one chunk after the limit.
    fn count_prefix(&self, prefix: &str) -> usize {
        let known = self.marks.partition_point(|(end, _)| *end <= prefix.len());
        let (end, tokens) = known.checked_sub(1).map_or((0, 0), |last| self.marks[last]);
        tokens + tokenize(&prefix[end..]).len()
    }
}

fn tokenizer() -> &'static CoreBPE {
    o200k_base_singleton()
}

fn tokenize(chunk: &str) -> Vec<u32> {
    tokenizer().encode_ordinary(chunk)
}

/// Counts the tokens of a text. Several megabytes take seconds.
#[must_use]
pub fn count(text: &str) -> usize {
    up_to(text, usize::MAX).tokens
}

/// A number of tokens that the text has at least, without the tokenizer: one between each two certain boundaries.
pub(crate) fn fewest(text: &str) -> usize {
    let boundaries = text.as_bytes().windows(2).filter(|pair| is_boundary_between(pair[0], pair[1])).count();
    usize::from(!text.is_empty()) + boundaries
}

/// Counts the tokens of a text, or returns `None` above `limit`. Counting stops at the limit.
pub(crate) fn count_within(text: &str, limit: usize) -> Option<usize> {
    let count = up_to(text, limit);
    (!count.exceeds).then_some(count.tokens)
}

pub(super) fn up_to(text: &str, limit: usize) -> Count {
    let mut count = Count { tokens: 0, exceeds: false, exact: true, marks: Vec::new() };
    while count.end() < text.len() {
        let begin = count.end();
        let (end, sure) = chunk_end(text, begin);
        let tokens = tokenize(&text[begin..end]).len();
        if tokens > limit - count.tokens {
            count.exceeds = true;
            break;
        }
        count.tokens += tokens;
        count.exact &= sure;
        count.marks.push((end, count.tokens));
    }
    count
}

/// Counts the tokens of a text exactly, or returns `None` above the limit.
pub(super) fn within(text: &str, limit: usize) -> Option<usize> {
    // Even with the longest tokens the text exceeds the limit.
    if text.len() / MAX_TOKEN_BYTES > limit {
        return None;
    }
    let count = up_to(text, limit);
    match (count.exceeds, count.exact) {
        (true, _) => None,
        (false, true) => Some(count.tokens),
        (false, false) if text.len() / MAX_BYTES_PER_TOKEN > limit => None,
        (false, false) => Some(tokenize(text).len()).filter(|tokens| *tokens <= limit),
    }
}

/// The longest prefix within the limit that ends at a line or a word if one is near, and never inside a grapheme.
pub(super) fn prefix(text: &str, limit: usize) -> &str {
    let count = up_to(text, limit);
    if !count.exceeds && count.exact {
        return text;
    }
    let mut end = count.end();
    if count.exceeds {
        let tokens = tokenize(&text[end..chunk_end(text, end).0]);
        let left = tokenizer().decode_bytes(&tokens[..limit - count.tokens]);
        end += left.map_or(0, |bytes| bytes.len());
    }
    let mut end =
        nearest_break(text, if count.exact { end } else { end.min(limit.saturating_mul(MAX_BYTES_PER_TOKEN)) });
    // The tokens of a prefix are not always a prefix of the tokens, so it is counted again (from the last chunk if exact).
    // Each attempt shortens it a little.
    let tokens = |end: usize| if count.exact { count.count_prefix(&text[..end]) } else { tokenize(&text[..end]).len() };
    while tokens(end) > limit {
        end = nearest_break(text, end - (end / 64).max(1));
    }
    &text[..end]
}

/// The end of the chunk that begins at `start`, and whether it is a certain token boundary.
fn chunk_end(text: &str, start: usize) -> (usize, bool) {
    if text.len() - start <= CHUNK {
        return (text.len(), true);
    }
    let bytes = text.as_bytes();
    let sure = (start + 1..=start + CHUNK).rev().find(|&at| is_boundary_between(bytes[at - 1], bytes[at]));
    match sure {
        Some(at) => (at, true),
        None => (floor(text, start + CHUNK), false),
    }
}

/// Whether a token always ends between these two bytes; see the module.
fn is_boundary_between(before: u8, after: u8) -> bool {
    if before == b'\n' {
        return after.is_ascii_graphic() && after != b'/';
    }
    before.is_ascii_graphic()
        && match after {
            b' ' | b'\t' => true,
            _ if before.is_ascii_digit() != after.is_ascii_digit() => after.is_ascii_graphic(),
            _ => before.is_ascii_alphabetic() && after.is_ascii_punctuation() && after != b'\'',
        }
}

/// The last character boundary at or before `at`.
pub(super) fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// The best position to end at `end` or shortly before it.
fn nearest_break(text: &str, end: usize) -> usize {
    let end = floor(text, end);
    if end == text.len() {
        return end;
    }
    let near = floor(text, end - end / 20);
    if let Some(at) = text[near..end].rfind('\n') {
        return near + at + 1;
    }
    if let Some(at) = text[near..end].rfind(' ') {
        return near + at;
    }
    let mut cursor = GraphemeCursor::new(end, text.len(), true);
    match cursor.is_boundary(text, 0) {
        Ok(false) => cursor.prev_boundary(text, 0).ok().flatten().unwrap_or(end),
        _ => end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_token_is_longer_than_the_maximum() {
        let lengths = (0..200_000).filter_map(|token| tokenizer().decode_bytes(&[token]).ok()).map(|bytes| bytes.len());
        assert_eq!(lengths.max(), Some(MAX_TOKEN_BYTES));
    }
}
