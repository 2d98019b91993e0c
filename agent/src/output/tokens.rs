//! How many tokens a text is, in o200k, without ever tokenising more of it than has to be.
//!
//! A text is counted in chunks that end where a token must end: the tokeniser first splits a text by a regular expression
//! (`tiktoken_rs`, `O200K_BASE_PAT_STR`), and tokens never reach over the pieces of it. No alternative of that expression holds
//!
//! - a visible ASCII character followed by a space or tab (only `\r`, `\n` and `/` may follow punctuation in a piece),
//! - a line feed followed by a visible ASCII character, but for `/`,
//! - a digit beside anything visible that is no digit,
//! - a letter followed by ASCII punctuation, but for the `'` of `it's`.
//!
//! Between two such characters the counts of both sides add up exactly. Where there is no such place in [`CHUNK`] bytes (a
//! million equal signs, Chinese without a space) the chunk ends between two characters, and its count is one too many or too
//! few now and then; [`Count::exact`] tells. Chunks also bound what a tokeniser does with texts made to be slow.

use tiktoken_rs::{CoreBPE, o200k_base_singleton};
use unicode_segmentation::GraphemeCursor;

/// How much is tokenised at once, in bytes.
const CHUNK: usize = 4_096;
/// How many bytes of a text that has no places to count exactly are shown for each token: what is shown is then counted whole.
const BYTES_A_TOKEN: usize = 8;

/// The longest token, in bytes; a test looks at all of them.
const MAX_TOKEN_BYTES: usize = 128;

/// A count that ends where a limit does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Count {
    /// The tokens of what was counted: at most the limit, unless the text has more.
    pub(super) tokens: usize,
    /// Whether the text has more tokens than the limit.
    pub(super) exceeds: bool,
    /// Whether no chunk had to end within a piece.
    pub(super) exact: bool,
    /// The ends of the chunks within the limit, and the tokens up to each.
    marks: Vec<(usize, usize)>,
}

impl Count {
    /// How far the chunks within the limit reach.
    fn end(&self) -> usize {
        self.marks.last().map_or(0, |(end, _)| *end)
    }

    /// How many tokens this beginning of the text is, which reaches no further than one chunk behind the limit.
    fn count_prefix(&self, beginning: &str) -> usize {
        let known = self.marks.partition_point(|(end, _)| *end <= beginning.len());
        let (end, tokens) = known.checked_sub(1).map_or((0, 0), |last| self.marks[last]);
        tokens + tokenise(&beginning[end..]).len()
    }
}

fn tokeniser() -> &'static CoreBPE {
    o200k_base_singleton()
}

fn tokenise(chunk: &str) -> Vec<u32> {
    tokeniser().encode_ordinary(chunk)
}

/// How many tokens a text is. One of many megabytes takes seconds.
#[must_use]
pub fn count(text: &str) -> usize {
    up_to(text, usize::MAX).tokens
}

/// How many tokens a text is, unless it has more than `limit`. Counting ends there.
pub(crate) fn count_within(text: &str, limit: usize) -> Option<usize> {
    let count = up_to(text, limit);
    (!count.exceeds).then_some(count.tokens)
}

/// Counts until there are more than `limit`.
pub(super) fn up_to(text: &str, limit: usize) -> Count {
    let mut count = Count { tokens: 0, exceeds: false, exact: true, marks: Vec::new() };
    while count.end() < text.len() {
        let begin = count.end();
        let (end, sure) = chunk_end(text, begin);
        let tokens = tokenise(&text[begin..end]).len();
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

/// How many tokens the text is, if that is within the limit; by the count of the whole where that of chunks is not exact.
pub(super) fn within(text: &str, limit: usize) -> Option<usize> {
    // Longer than that many of the longest token.
    if text.len() / MAX_TOKEN_BYTES > limit {
        return None;
    }
    let count = up_to(text, limit);
    match (count.exceeds, count.exact) {
        (true, _) => None,
        (false, true) => Some(count.tokens),
        (false, false) if text.len() / BYTES_A_TOKEN > limit => None,
        (false, false) => Some(tokenise(text).len()).filter(|tokens| *tokens <= limit),
    }
}

/// The longest beginning of the text within the limit that ends well: at the end of a line or a word if one is near, and
/// never within what a reader sees as one character.
pub(super) fn beginning(text: &str, limit: usize) -> &str {
    let count = up_to(text, limit);
    if !count.exceeds && count.exact {
        return text;
    }
    let mut end = count.end();
    if count.exceeds {
        let tokens = tokenise(&text[end..chunk_end(text, end).0]);
        let left = tokeniser().decode_bytes(&tokens[..limit - count.tokens]);
        end += left.map_or(0, |bytes| bytes.len());
    }
    let mut end = well(text, if count.exact { end } else { end.min(limit.saturating_mul(BYTES_A_TOKEN)) });
    // The tokens of a beginning need not be the beginning of the tokens, so it is counted again, from the last end of a chunk
    // on where that is exact. Each round gives up a little.
    let tokens = |end: usize| if count.exact { count.count_prefix(&text[..end]) } else { tokenise(&text[..end]).len() };
    while tokens(end) > limit {
        end = well(text, end - (end / 64).max(1));
    }
    &text[..end]
}

/// The end of the chunk that begins here, and whether a token surely ends there.
fn chunk_end(text: &str, start: usize) -> (usize, bool) {
    if text.len() - start <= CHUNK {
        return (text.len(), true);
    }
    let bytes = text.as_bytes();
    let sure = (start + 1..=start + CHUNK).rev().find(|&at| is_sure(bytes[at - 1], bytes[at]));
    match sure {
        Some(at) => (at, true),
        None => (floor(text, start + CHUNK), false),
    }
}

/// Whether a token surely ends between these two bytes; see the module.
fn is_sure(before: u8, after: u8) -> bool {
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

/// The last place at or before this one that is between two characters.
pub(super) fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// The best place to end at or a little before this one.
fn well(text: &str, end: usize) -> usize {
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
    fn no_token_is_longer_than_the_longest() {
        let lengths = (0..200_000).filter_map(|token| tokeniser().decode_bytes(&[token]).ok()).map(|bytes| bytes.len());
        assert_eq!(lengths.max(), Some(MAX_TOKEN_BYTES));
    }
}
