//! The file that a value was read from, for diagnostics whose excerpts mask secrets.

use std::{fmt, ops::Range, sync::Arc};

use diagnostics::document::{Source, Syntax};

use super::{Diagnostic, keys::Format};

/// The text of a file, and its bytes that are secret. Cheap to clone.
#[derive(Clone)]
pub(super) struct Origin {
    source: Arc<Source>,
    hidden: Arc<[Range<usize>]>,
}

impl Origin {
    /// `hidden` is sorted.
    pub(super) fn new(source: &Arc<Source>, hidden: Vec<Range<usize>>) -> Self {
        Self { source: Arc::clone(source), hidden: hidden.into() }
    }

    pub(super) fn format(&self) -> Format {
        match self.source.syntax() {
            Syntax::Toml => Format::Toml,
            Syntax::Json | Syntax::Yaml => Format::Json,
        }
    }

    /// Creates an error at these bytes.
    pub(super) fn error(&self, span: &Range<usize>, message: impl AsRef<str>) -> Diagnostic {
        Diagnostic::new(self.source.name(), message).at(self.source.location(span, &self.hidden))
    }

    /// Creates an error at a part of a string. It is located at the whole string if the source has escapes.
    pub(super) fn error_within(&self, string: &ConfigString, part: Range<usize>, message: &str) -> Diagnostic {
        match self.source.unescaped_start(&string.span, &string.text) {
            Some(start) => self.error(&(start + part.start..start + part.end), message),
            None => self.error(&string.span, message),
        }
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

/// A string of a file, which may contain references to variables. Equality ignores the location. `Debug` omits the text,
/// because it may be a secret.
#[derive(Clone)]
pub struct ConfigString {
    text: String,
    span: Range<usize>,
}

impl ConfigString {
    pub(super) fn new(text: &str, span: &Range<usize>) -> Self {
        Self { text: text.to_owned(), span: span.clone() }
    }

    /// The text before expansion. It may be a secret.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.text
    }

    pub(super) fn span(&self) -> &Range<usize> {
        &self.span
    }
}

impl PartialEq for ConfigString {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for ConfigString {}

impl fmt::Debug for ConfigString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConfigString(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_omits_the_text() {
        assert_eq!(format!("{:?}", ConfigString::new("hunter2", &(0..7))), "ConfigString(..)");
        let source = Arc::new(Source::new("f", "hunter2", Syntax::Json));
        assert!(!format!("{:?}", Origin::new(&source, Vec::new())).contains("hunter2"));
    }
}
