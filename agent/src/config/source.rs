//! A file's text, and how places in it are shown.
//!
//! This module is the only one that takes excerpts, and it blacks out in them what may be secret: everything in the file but
//! what is known to be harmless (see [`super::hidden`]).

use std::{
    fmt,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{Diagnostic, Location, redaction, tree::Format};

/// How much of a line is kept on either side of where a place begins, in bytes: more than is ever shown.
const EXCERPT_BYTES: usize = 1_000;

/// A file, or a text that stands for one.
pub struct Source {
    /// How it is called in messages.
    name: String,
    /// Where it is, if it is a file.
    path: Option<PathBuf>,
    text: String,
    format: Format,
    /// Where each line begins, in bytes.
    lines: Vec<usize>,
}

impl Source {
    pub(super) fn new(name: &str, path: Option<&Path>, text: &str, format: Format) -> Self {
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { name: name.to_owned(), path: path.map(Path::to_owned), text: text.to_owned(), format, lines }
    }

    /// How it is called in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is, if it is a file.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn format(&self) -> Format {
        self.format
    }

    /// Where in the file a text that is written between quotation marks begins, if it is written there word for word.
    pub(super) fn inside(&self, span: &Range<usize>, text: &str) -> Option<usize> {
        let written = self.text.get(span.clone())?;
        let quotes = written.len().checked_sub(text.len())? / 2;
        (written.get(quotes..quotes + text.len()) == Some(text) && quotes <= 1).then_some(span.start + quotes)
    }

    /// The place of these bytes, or of those of them that are on the first line.
    pub(super) fn place(&self, span: &Range<usize>, hidden: &[Range<usize>]) -> Location {
        let start = self.boundary(span.start);
        let line = self.lines.partition_point(|begin| *begin <= start).max(1);
        let begin = self.lines[line - 1];
        let end = self.text[begin..].find('\n').map_or(self.text.len(), |length| begin + length);
        let end = if self.text[begin..end].ends_with('\r') { end - 1 } else { end };
        let end = end.max(start);
        let stop = self.boundary(span.end).clamp(start, end);
        // A file may be one line, and each of its places would keep all of it.
        let from = self.boundary(start.saturating_sub(EXCERPT_BYTES).max(begin));
        let to = self.boundary(end.min(start + EXCERPT_BYTES));
        Location {
            line,
            column: self.text[begin..start].chars().count() + 1,
            width: self.text[start..stop.min(to)].chars().count().max(1),
            excerpt: redaction::excerpt(&self.text, from..to.max(start), hidden),
            omitted: self.text[begin..from].chars().count(),
        }
    }

    /// The byte at which the character begins that this byte is in.
    fn boundary(&self, byte: usize) -> usize {
        let byte = byte.min(self.text.len());
        (0..=byte).rev().find(|byte| self.text.is_char_boundary(*byte)).unwrap_or(0)
    }
}

impl fmt::Debug for Source {
    /// Tells nothing of the text, which may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("name", &self.name).field("format", &self.format).finish_non_exhaustive()
    }
}

/// A file that was understood, and which of its bytes are not to be shown.
#[derive(Clone)]
pub struct Origin {
    source: Arc<Source>,
    hidden: Arc<[Range<usize>]>,
}

impl Origin {
    pub(super) fn new(source: Arc<Source>, hidden: Vec<Range<usize>>) -> Self {
        Self { source, hidden: hidden.into() }
    }

    /// The file.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// An error about these bytes.
    pub(super) fn error(&self, span: &Range<usize>, message: impl AsRef<str>) -> Diagnostic {
        Diagnostic::new(&self.source.name, message).at(self.source.place(span, &self.hidden))
    }

    /// An error about this part of a text that is written in these bytes.
    pub(super) fn error_within(
        &self,
        span: &Range<usize>,
        text: &str,
        part: Range<usize>,
        message: impl AsRef<str>,
    ) -> Diagnostic {
        match self.source.inside(span, text) {
            Some(start) => self.error(&(start + part.start..start + part.end), message),
            None => self.error(span, message),
        }
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source::new("f", None, text, Format::Json)
    }

    #[test]
    fn places_are_counted_in_characters() {
        let source = source("a\r\nüü x\nlast");
        let place = source.place(&(8..9), &[]);
        assert_eq!((place.line, place.column, place.width, place.excerpt.as_str()), (2, 4, 1, "üü x"));
        let whole = source.place(&(3..500), &[]);
        assert_eq!((whole.line, whole.column, whole.width), (2, 1, 4));
        let end = source.place(&(14..14), &[]);
        assert_eq!((end.line, end.column, end.width, end.excerpt.as_str()), (3, 5, 1, "last"));
        // In the middle of a character.
        assert_eq!(source.place(&(4..5), &[]).column, 1);
    }

    #[test]
    fn a_very_long_line_is_not_kept_for_each_of_its_places() {
        let text = format!("{}HERE{}", "ü".repeat(400_000), "x".repeat(100_000));
        let place = source(&text).place(&(800_000..800_004), &[]);
        assert!(place.excerpt.len() < 3_000, "{}", place.excerpt.len());
        assert_eq!((place.column, place.width), (400_001, 4));
        assert_eq!(place.excerpt.chars().skip(place.column - 1 - place.omitted).take(4).collect::<String>(), "HERE");
    }

    #[test]
    fn debug_tells_nothing_of_the_text() {
        assert!(!format!("{:?}", source("hunter2")).contains("hunter2"));
    }
}
