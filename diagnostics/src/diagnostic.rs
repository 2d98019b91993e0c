//! Diagnostics of files: severity, message, location and help, and how they are printed.
//!
//! Characters that a terminal interprets never reach the output, whether they come from the file or from its name.

use std::fmt;

use unicode_width::UnicodeWidthChar as _;

/// Maximum length of an excerpt, in characters. Longer lines are truncated around the location.
const EXCERPT_CHARS: usize = 120;

/// Maximum length of a message or help text, in characters: both may quote the file.
const MESSAGE_CHARS: usize = 400;

/// Whether a diagnostic rejects what it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The input is usable, but may not mean what its author intended.
    Warning,
    /// The input is rejected.
    Error,
}

/// One error or warning about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// A lower-case fragment, at most 400 characters.
    pub message: String,
    /// The file name as the caller gave it.
    pub file: String,
    /// `None` if the diagnostic is about the whole file, for example its size.
    pub location: Option<Box<Location>>,
    /// How to fix it.
    pub help: Option<String>,
}

/// A range of characters on one line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// 1-based.
    pub line: usize,
    /// 1-based column of the first character, counted in characters.
    pub column: usize,
    /// Number of characters, at least 1.
    pub width: usize,
    /// The line with secrets masked. Very long lines are truncated around the location.
    pub excerpt: String,
    /// Number of characters omitted before the excerpt.
    pub omitted: usize,
}

impl Diagnostic {
    /// Creates an error without location and help.
    #[must_use]
    pub fn new(file: &str, message: impl AsRef<str>) -> Self {
        Self {
            severity: Severity::Error,
            message: bounded(message.as_ref()),
            file: file.to_owned(),
            location: None,
            help: None,
        }
    }

    /// Sets the location.
    #[must_use]
    pub fn at(self, location: Location) -> Self {
        Self { location: Some(Box::new(location)), ..self }
    }

    /// Sets the help text.
    #[must_use]
    pub fn with_help(self, help: impl AsRef<str>) -> Self {
        Self { help: Some(bounded(help.as_ref())), ..self }
    }

    /// Turns the error into a warning.
    #[must_use]
    pub fn as_warning(self) -> Self {
        Self { severity: Severity::Warning, ..self }
    }

    /// Whether the severity is [`Severity::Error`].
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Diagnostic {
    /// Writes several lines, without a trailing line feed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let file = bounded(&self.file);
        write!(f, "{word}: {}", self.message)?;
        let Some(location) = &self.location else {
            write!(f, "\n  {file}")?;
            return self.help.iter().try_for_each(|help| write!(f, "\n  help: {help}"));
        };
        let number = location.line.to_string();
        let (excerpt, indent, width) = location.window();
        write!(f, "\n  {file}:{}:{}", location.line, location.column)?;
        write!(f, "\n{number} | {excerpt}")?;
        write!(f, "\n{:gutter$} | {:indent$}{}", "", "", "^".repeat(width), gutter = number.len())?;
        self.help.iter().try_for_each(|help| write!(f, " {help}"))
    }
}

impl std::error::Error for Diagnostic {}

/// All errors of one file, or of several files that are read together. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// Creates the list; `None` if it is empty.
    #[must_use]
    pub fn new(diagnostics: Vec<Diagnostic>) -> Option<Self> {
        if diagnostics.is_empty() { None } else { Some(Self(diagnostics)) }
    }

    /// The diagnostics, in the order of the files.
    #[must_use]
    pub fn as_slice(&self) -> &[Diagnostic] {
        &self.0
    }

    /// The diagnostics, in the order of the files.
    #[must_use]
    pub fn into_vec(self) -> Vec<Diagnostic> {
        self.0
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }
}

impl fmt::Display for Diagnostics {
    /// Separates the diagnostics by empty lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, diagnostic) in self.0.iter().enumerate() {
            if position > 0 {
                f.write_str("\n\n")?;
            }
            diagnostic.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

impl Location {
    /// Returns the printed part of the line, and the offset and width of the marker in terminal columns.
    fn window(&self) -> (String, usize, usize) {
        let start = self.column.saturating_sub(1 + self.omitted);
        let length = self.excerpt.chars().count();
        // In a truncated line, a third of the window precedes the location.
        let from = if length <= EXCERPT_CHARS { 0 } else { start.saturating_sub(EXCERPT_CHARS / 3) };
        let mut shown = String::new();
        let (mut indent, mut covered) = (0, 0);
        if from + self.omitted > 0 {
            shown.push('…');
            indent += 1;
        }
        for (position, ch) in self.excerpt.chars().enumerate().skip(from).take(EXCERPT_CHARS) {
            let ch = match ch {
                '\t' => ' ',
                _ if is_unsafe(ch) => '\u{fffd}',
                _ => ch,
            };
            let columns = ch.width().unwrap_or(0);
            shown.push(ch);
            if position < start {
                indent += columns;
            } else if position < start + self.width {
                covered += columns;
            }
        }
        if length > from + EXCERPT_CHARS {
            shown.push('…');
        }
        (shown.trim_end().to_owned(), indent, covered.max(1))
    }
}

/// Escapes all characters that a terminal interprets, line feeds included, as in `\u{1b}`.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for ch in text.chars() {
        if is_unsafe(ch) {
            out.extend(ch.escape_unicode());
        } else {
            out.push(ch);
        }
    }
    out
}

/// Escapes the text and truncates it to [`MESSAGE_CHARS`].
fn bounded(text: &str) -> String {
    let mut rest = text.char_indices().skip(MESSAGE_CHARS);
    match rest.next() {
        Some((end, _)) => format!("{}…", printable(&text[..end])),
        None => printable(text),
    }
}

/// Whether a terminal interprets the character: control characters, line separators and characters that change the text
/// direction.
#[must_use]
pub fn is_unsafe(ch: char) -> bool {
    ch.is_control()
        || matches!(ch, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(excerpt: &str, column: usize, width: usize) -> Location {
        Location { line: 4, column, width, excerpt: excerpt.to_owned(), omitted: 0 }
    }

    #[test]
    fn prints_message_location_excerpt_and_help() {
        let diagnostic = Diagnostic::new(".mcp.json", "unknown key `comand`")
            .at(location("      \"comand\": \"x\"", 7, 8))
            .with_help("did you mean `command`?");
        assert_eq!(
            diagnostic.to_string(),
            "error: unknown key `comand`\n  .mcp.json:4:7\n4 |       \"comand\": \"x\"\n  |       ^^^^^^^^ did you mean `command`?"
        );
        assert!(diagnostic.clone().as_warning().to_string().starts_with("warning: unknown key"));
        assert!(diagnostic.is_error() && !diagnostic.as_warning().is_error());
    }

    #[test]
    fn truncates_a_long_line_around_the_location() {
        let line = format!("{}HERE{}", "a".repeat(500), "b".repeat(500));
        let text = Diagnostic::new("f", "m").at(location(&line, 501, 4)).to_string();
        assert_marks(&text, "HERE");
        // Characters that the excerpt omits count as well.
        let truncated =
            Location { line: 1, column: 1_000_001, width: 4, excerpt: "xxxHEREyyy".to_owned(), omitted: 999_997 };
        assert_marks(&Diagnostic::new("f", "m").at(truncated).to_string(), "HERE");
    }

    fn assert_marks(text: &str, expected: &str) {
        let [.., shown, carets] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
        assert!(shown.chars().count() < 130, "{shown}");
        let at = carets.find('^').expect("a caret");
        assert_eq!(shown.chars().skip(at).take(expected.len()).collect::<String>(), expected);
    }

    #[test]
    fn escapes_what_a_terminal_interprets() {
        let text = Diagnostic::new("a\u{1b}[2J", "m\u{7}\u{202e}").at(location("x\u{1b}[31m\ty", 1, 1)).to_string();
        assert!(!text.chars().any(|ch| (ch.is_control() && ch != '\n') || ch == '\u{202e}'), "{text:?}");
    }
}
