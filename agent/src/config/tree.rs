//! TOML and JSON as one tree of values with their places, within bounds.
//!
//! The parsers are the libraries'. This module refuses what is too large, too deep or given twice, so that whoever reads the
//! tree meets nothing that only one of the two formats can say.

mod json;
mod toml;

use std::{ops::Range, sync::Arc};

pub(super) use self::json::options as json_options;

use super::{
    Diagnostic, redaction,
    source::{Origin, Source},
};

/// The largest file that is read, in bytes.
pub const MAX_BYTES: usize = 1024 * 1024;

/// The deepest nesting.
pub const MAX_DEPTH: usize = 32;

/// The most values in one file.
pub const MAX_VALUES: usize = 50_000;

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// TOML, as Codex has it.
    Toml,
    /// JSON with comments, as Claude Code has it.
    Json,
}

impl Format {
    /// The format that a file's name stands for.
    #[must_use]
    pub fn from_path(path: &std::path::Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "toml" => Some(Self::Toml),
            "json" | "jsonc" => Some(Self::Json),
            _ => None,
        }
    }
}

/// A value.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) data: Data,
}

/// What a value is.
#[derive(Debug, Clone)]
pub(super) enum Data {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    Date,
    List(Vec<Node>),
    Table(Vec<Entry>),
}

/// A key with its value.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) key_span: Range<usize>,
    pub(super) value: Node,
}

impl Node {
    /// What it is, to stand behind "found".
    pub(super) fn kind(&self) -> &'static str {
        match self.data {
            Data::Null => "nothing",
            Data::Bool(_) => "true or false",
            Data::Number(_) => "a number",
            Data::Text(_) => "a text",
            Data::Date => "a date",
            Data::List(_) => "a list",
            Data::Table(_) => "a table",
        }
    }

    /// Its entries, if it is a table.
    pub(super) fn entries(&self) -> &[Entry] {
        match &self.data {
            Data::Table(entries) => entries,
            _ => &[],
        }
    }

    /// The value under this key.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }
}

/// Reads a text.
///
/// # Errors
/// When it is not of its format, or holds too much.
pub(super) fn read(source: &Arc<Source>) -> Result<Node, Diagnostic> {
    let text = source.text();
    if text.len() > MAX_BYTES {
        return Err(Diagnostic::new(source.name(), format!("larger than {MAX_BYTES} bytes")));
    }
    let mut builder = Builder { source, values: 0 };
    if text.starts_with('\u{feff}') {
        return Err(builder.error(&(0..3), "a byte order mark").with_help("save the file as UTF-8 without one"));
    }
    match source.format() {
        Format::Toml => toml::read(text, &mut builder),
        Format::Json => json::read(text, &mut builder),
    }
}

/// Counts what is read.
struct Builder<'s> {
    source: &'s Arc<Source>,
    values: usize,
}

impl Builder<'_> {
    /// An error about these bytes. What is not understood yet is hidden by its looks alone.
    fn error(&self, span: &Range<usize>, message: impl AsRef<str>) -> Diagnostic {
        let hidden = redaction::unread(self.source.text(), self.source.format());
        Origin::new(Arc::clone(self.source), hidden).error(span, message)
    }

    /// Takes note of a value, at this depth.
    fn enter(&mut self, span: &Range<usize>, depth: usize) -> Result<(), Diagnostic> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(self.error(span, format!("more than {MAX_VALUES} values in one file")));
        }
        if depth > MAX_DEPTH {
            return Err(self.error(span, format!("nested more than {MAX_DEPTH} levels deep")));
        }
        Ok(())
    }

    /// A table of these entries, of which no two have the same key.
    fn table(&self, entries: Vec<Entry>) -> Result<Data, Diagnostic> {
        let mut keys = std::collections::BTreeMap::new();
        for entry in &entries {
            if let Some(first) = keys.insert(entry.key.as_str(), &entry.key_span) {
                let line = self.source.place(first, &[]).line;
                let error = self.error(&entry.key_span, format!("`{}` is given twice", entry.key));
                return Err(error.with_help(format!("it was given on line {line}; keep one of them")));
            }
        }
        Ok(Data::Table(entries))
    }
}

#[cfg(test)]
mod tests;
