//! Navigation of a document.

use std::{fmt, ops::Range};

use super::{Content, Document, NodeId};
use crate::Location;

/// A value of a document and the key that leads to it. Cheap to copy.
///
/// Navigation to a missing value stays where it is, so that an error about a missing value is located at its parent.
#[derive(Clone, Copy)]
pub struct TreeCursor<'t> {
    document: &'t Document,
    key: Option<NodeId>,
    value: NodeId,
    exists: bool,
}

impl<'t> TreeCursor<'t> {
    pub(super) fn new(document: &'t Document, value: NodeId) -> Self {
        Self { document, key: None, value, exists: true }
    }

    fn content(self) -> &'t Content {
        &self.document.node(self.value).content
    }

    /// The value of a key.
    #[must_use]
    pub fn key(self, name: &str) -> Self {
        self.get(name).unwrap_or(Self { exists: false, ..self })
    }

    /// The value of a key; `None` if there is none.
    #[must_use]
    pub fn get(self, name: &str) -> Option<Self> {
        self.entries().filter(|_| self.exists).find(|entry| entry.name() == Some(name))
    }

    /// The element at an index. A value that is not an array is its own element.
    #[must_use]
    pub fn item(self, index: usize) -> Self {
        match self.content() {
            Content::Array(items) if self.exists => match items.get(index) {
                Some(&value) => Self { key: None, value, ..self },
                None => Self { exists: false, ..self },
            },
            _ => self,
        }
    }

    /// Whether the value has this key.
    #[must_use]
    pub fn has(self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The values of a table, in the order of the file; none for other values.
    pub fn entries(self) -> impl Iterator<Item = Self> {
        let entries = match self.content() {
            Content::Table(entries) => entries.as_slice(),
            _ => &[],
        };
        entries.iter().map(move |&(key, value)| Self { key: Some(key), value, ..self })
    }

    /// The elements of an array; none for other values.
    pub fn items(self) -> impl Iterator<Item = Self> {
        let items = match self.content() {
            Content::Array(items) => items.as_slice(),
            _ => &[],
        };
        items.iter().map(move |&value| Self { key: None, value, ..self })
    }

    /// The key that leads to the value; `None` for the root and for elements.
    #[must_use]
    pub fn name(self) -> Option<&'t str> {
        self.key.map(|key| self.document.key(key))
    }

    /// The string, or the notation of another scalar; `None` for collections.
    #[must_use]
    pub fn text(self) -> Option<&'t str> {
        match self.content() {
            Content::String(text) => Some(text),
            Content::Array(_) | Content::Table(_) => None,
            _ => Some(self.document.written(self.value)),
        }
    }

    /// The string, if the value is one.
    #[must_use]
    pub fn string(self) -> Option<&'t str> {
        match self.content() {
            Content::String(text) => Some(text),
            _ => None,
        }
    }

    /// The number, if the value is one that is finite.
    #[must_use]
    pub fn number(self) -> Option<f64> {
        match self.content() {
            Content::Number(text) => text.parse().ok().filter(|number: &f64| number.is_finite()),
            _ => None,
        }
    }

    /// The boolean, if the value is one.
    #[must_use]
    pub fn boolean(self) -> Option<bool> {
        match self.content() {
            Content::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// Whether the value is a number or a date.
    #[must_use]
    pub fn is_number_or_date(self) -> bool {
        matches!(self.content(), Content::Number(_) | Content::Date)
    }

    /// Whether the value is an array.
    #[must_use]
    pub fn is_array(self) -> bool {
        matches!(self.content(), Content::Array(_))
    }

    /// Whether the value is a table, an object or a mapping.
    #[must_use]
    pub fn is_table(self) -> bool {
        matches!(self.content(), Content::Table(_))
    }

    /// The type of the value with an article: `a string`.
    #[must_use]
    pub fn type_name(self) -> &'static str {
        match self.content() {
            Content::Null | Content::Placeholder => "nothing",
            Content::Bool(_) => "a boolean",
            Content::Number(_) => "a number",
            Content::String(_) => "a string",
            Content::Date => "a date",
            Content::Array(_) => "an array",
            Content::Table(_) => self.document.source.syntax().table_noun(),
        }
    }

    /// The bytes of the value.
    #[must_use]
    pub fn span(self) -> &'t Range<usize> {
        &self.document.node(self.value).span
    }

    /// The bytes of the key that leads to the value, otherwise those of the value.
    #[must_use]
    pub fn key_span(self) -> &'t Range<usize> {
        self.key.map_or_else(|| self.span(), |key| &self.document.node(key).span)
    }

    /// The location to report: of a scalar itself, otherwise of the key that leads to it, otherwise of its first key.
    #[must_use]
    pub fn location(self) -> Location {
        let span = match self.content() {
            Content::Array(_) | Content::Table(_) if self.key.is_some() => self.key_span(),
            Content::Table(entries) => entries.first().map_or(self.span(), |(key, _)| &self.document.node(*key).span),
            // An omitted value has no location.
            _ if self.span().is_empty() => self.key_span(),
            _ => self.span(),
        };
        self.locate(span)
    }

    /// The location of the key that leads to the value, otherwise of the value.
    #[must_use]
    pub fn key_location(self) -> Location {
        if self.key.is_some() { self.locate(self.key_span()) } else { self.location() }
    }

    /// The location of the first key or element.
    #[must_use]
    pub fn first_location(self) -> Location {
        self.entries().chain(self.items()).next().map_or_else(|| self.location(), Self::key_location)
    }

    /// The location of a part of the string, in characters. It is that of the whole value if the source has escapes, and
    /// of the last character if the part is empty or out of range.
    #[must_use]
    pub fn part(self, start: usize, width: usize) -> Location {
        let text = self.text().unwrap_or_default();
        let length = text.chars().count();
        match self.document.source.unescaped_start(self.span(), text) {
            Some(begin) if length > 0 && !text.contains('\n') => {
                let start = start.min(length - 1);
                let bytes = |position: usize| text.char_indices().nth(position).map_or(text.len(), |(at, _)| at);
                self.locate(&(begin + bytes(start)..begin + bytes(start + width.clamp(1, length - start))))
            }
            _ => self.location(),
        }
    }

    fn locate(self, span: &Range<usize>) -> Location {
        self.document.source.location(span, &[])
    }
}

impl fmt::Debug for TreeCursor<'_> {
    /// Omits the text, which may contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeCursor").field("span", self.span()).finish_non_exhaustive()
    }
}
