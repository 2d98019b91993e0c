//! The text of a file, and locations in it.

use std::{fmt, ops::Range};

use super::Syntax;
use crate::{Diagnostic, Location};

/// Number of bytes of a line that are kept on either side of a location: more than is ever printed.
const EXCERPT_BYTES: usize = 1_000;

/// The text of a file with its name and syntax.
pub struct Source {
    name: String,
    text: String,
    syntax: Syntax,
    /// Byte offsets of the starts of all lines.
    lines: Vec<usize>,
}

impl Source {
    /// Creates a source with an explicit syntax.
    #[must_use]
    pub fn new(name: &str, text: &str, syntax: Syntax) -> Self {
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { name: name.to_owned(), text: text.to_owned(), syntax, lines }
    }

    /// Creates a source whose syntax follows from the ending of its name.
    #[must_use]
    pub fn named(name: &str, text: &str) -> Self {
        Self::new(name, text, Syntax::from_name(name))
    }

    /// The file name in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The syntax.
    #[must_use]
    pub fn syntax(&self) -> Syntax {
        self.syntax
    }

    /// Returns the 1-based line of a byte offset.
    #[must_use]
    pub fn line(&self, byte: usize) -> usize {
        self.lines.partition_point(|begin| *begin <= byte).max(1)
    }

    /// Returns the start of a string within the quotation marks of its span, if the source has no escapes.
    #[must_use]
    pub fn unescaped_start(&self, span: &Range<usize>, text: &str) -> Option<usize> {
        let written = self.text.get(span.clone())?;
        let quotes = written.len().checked_sub(text.len())? / 2;
        (written.get(quotes..quotes + text.len()) == Some(text) && quotes <= 1).then_some(span.start + quotes)
    }

    /// Creates an error at these bytes.
    #[must_use]
    pub fn error(&self, span: &Range<usize>, message: impl AsRef<str>) -> Diagnostic {
        Diagnostic::new(&self.name, message).at(self.location(span, &[]))
    }

    /// Locates the part of these bytes that is on their first line. In the excerpt, each character of a hidden range is
    /// printed as `*`. The hidden ranges are sorted.
    #[must_use]
    pub fn location(&self, span: &Range<usize>, hidden: &[Range<usize>]) -> Location {
        let start = self.boundary(span.start);
        let line = self.line(start);
        let begin = self.lines[line - 1];
        let end = self.lines.get(line).map_or(self.text.len(), |next| next - 1);
        let end = if self.text[begin..end].ends_with('\r') { end - 1 } else { end };
        let end = end.max(start);
        let stop = self.boundary(span.end).clamp(start, end);
        // A file may be one long line, which each of its diagnostics would copy.
        let from = self.boundary(start.saturating_sub(EXCERPT_BYTES).max(begin));
        let to = self.boundary(end.min(start + EXCERPT_BYTES)).max(start);
        Location {
            line,
            column: self.text[begin..start].chars().count() + 1,
            width: self.text[start..stop.min(to)].trim_end().chars().count().max(1),
            excerpt: self.masked(from..to, hidden),
            omitted: self.text[begin..from].chars().count(),
        }
    }

    fn masked(&self, line: Range<usize>, hidden: &[Range<usize>]) -> String {
        let start = line.start;
        let mask = |(at, ch): (usize, char)| {
            let at = start + at;
            let next = hidden.partition_point(|range| range.end <= at);
            if hidden.get(next).is_some_and(|range| range.start <= at) { '*' } else { ch }
        };
        self.text[line].char_indices().map(mask).collect()
    }

    /// Returns the start of the character that contains this byte.
    fn boundary(&self, byte: usize) -> usize {
        let byte = byte.min(self.text.len());
        (0..=byte).rev().find(|byte| self.text.is_char_boundary(*byte)).unwrap_or(0)
    }
}

impl fmt::Debug for Source {
    /// Omits the text, which may contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("name", &self.name).field("syntax", &self.syntax).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source::new("f", text, Syntax::Json)
    }

    #[test]
    fn columns_and_widths_count_characters() {
        let source = source("a\r\nüü x\nlast");
        let location = source.location(&(8..9), &[]);
        assert_eq!((location.line, location.column, location.width, location.excerpt.as_str()), (2, 4, 1, "üü x"));
        let whole = source.location(&(3..500), &[]);
        assert_eq!((whole.line, whole.column, whole.width), (2, 1, 4));
        let end = source.location(&(14..14), &[]);
        assert_eq!((end.line, end.column, end.width, end.excerpt.as_str()), (3, 5, 1, "last"));
        assert_eq!(source.location(&(4..5), &[]).column, 1, "inside a character");
    }

    #[test]
    fn an_excerpt_of_a_long_line_is_short() {
        let text = format!("{}HERE{}", "ü".repeat(400_000), "x".repeat(100_000));
        let location = source(&text).location(&(800_000..800_004), &[]);
        assert!(location.excerpt.len() < 3_000, "{}", location.excerpt.len());
        assert_eq!((location.column, location.width), (400_001, 4));
        let marked = location.excerpt.chars().skip(location.column - 1 - location.omitted).take(4);
        assert_eq!(marked.collect::<String>(), "HERE");
    }

    #[test]
    fn debug_omits_the_text() {
        assert!(!format!("{:?}", source("hunter2")).contains("hunter2"));
    }
}
