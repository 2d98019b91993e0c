//! What is wrong with a file, and where: data first, and one way of writing it down for a person.
//!
//! Nothing of a file, or of its name, that a terminal could act upon gets through.

use std::fmt;

use unicode_width::UnicodeWidthChar as _;

/// The longest part of a line that is shown, in characters: a longer one is cut around the place that matters.
const EXCERPT_CHARS: usize = 120;

/// The longest message or advice, in characters: both may quote a file.
const MESSAGE_CHARS: usize = 400;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// What it is about can be used, though perhaps not as its author thinks.
    Warning,
    /// What it is about cannot be used.
    Error,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong: a lower-case fragment.
    pub message: String,
    /// The file, as it was named by whoever asked for it.
    pub file: String,
    /// Where in the file; absent where it is the file itself (its size, its encoding).
    pub place: Option<Box<Place>>,
    /// What to do about it.
    pub advice: Option<String>,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The line, counted from 1.
    pub line: usize,
    /// The column of the first character, counted in characters from 1.
    pub column: usize,
    /// How many characters it covers on that line; at least 1.
    pub width: usize,
    /// The line's text, without what is nobody's business; of a very long one what is around the place.
    pub excerpt: String,
    /// How many characters of the line are left out in front of the excerpt.
    pub cut: usize,
}

impl Diagnostic {
    /// Something that makes what it is about unusable, with neither place nor advice.
    #[must_use]
    pub fn new(file: &str, message: impl AsRef<str>) -> Self {
        Self {
            severity: Severity::Error,
            message: bounded(message.as_ref()),
            file: file.to_owned(),
            place: None,
            advice: None,
        }
    }

    /// The same, at this place.
    #[must_use]
    pub fn at(self, place: Place) -> Self {
        Self { place: Some(Box::new(place)), ..self }
    }

    /// The same, with this advice.
    #[must_use]
    pub fn advise(self, advice: impl AsRef<str>) -> Self {
        Self { advice: Some(bounded(advice.as_ref())), ..self }
    }

    /// The same, as something that prevents nothing.
    #[must_use]
    pub fn as_warning(self) -> Self {
        Self { severity: Severity::Warning, ..self }
    }

    /// Whether what it is about cannot be used.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Diagnostic {
    /// Writes it in the house form, several lines without a line feed at the end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let file = bounded(&self.file);
        write!(f, "{word}: {}", self.message)?;
        let Some(place) = &self.place else {
            write!(f, "\n  {file}")?;
            return self.advice.iter().try_for_each(|advice| write!(f, "\n  help: {advice}"));
        };
        let number = place.line.to_string();
        let (excerpt, indent, width) = place.window();
        write!(f, "\n  {file}:{}:{}", place.line, place.column)?;
        write!(f, "\n{number} | {excerpt}")?;
        write!(f, "\n{:gutter$} | {:indent$}{}", "", "", "^".repeat(width), gutter = number.len())?;
        self.advice.iter().try_for_each(|advice| write!(f, " {advice}"))
    }
}

impl std::error::Error for Diagnostic {}

impl Place {
    /// The part of the line that is shown, the terminal columns in front of the place, and those that it covers.
    fn window(&self) -> (String, usize, usize) {
        let start = self.column.saturating_sub(1 + self.cut);
        let length = self.excerpt.chars().count();
        // A line that fits is shown whole; of a longer one a third of the window leads up to the place.
        let from = if length <= EXCERPT_CHARS { 0 } else { start.saturating_sub(EXCERPT_CHARS / 3) };
        let mut shown = String::new();
        let (mut indent, mut covered) = (0, 0);
        if from + self.cut > 0 {
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

/// The text without anything that a terminal would act upon: such characters are written as `\u{1b}`, and a line feed
/// among them. The other characters stay as they are.
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

/// The same, no longer than a message is.
fn bounded(text: &str) -> String {
    let mut rest = text.char_indices().skip(MESSAGE_CHARS);
    match rest.next() {
        Some((end, _)) => format!("{}…", printable(&text[..end])),
        None => printable(text),
    }
}

/// Whether a terminal could act upon the character: controls, line separators, and those that change the direction of
/// the text around them.
#[must_use]
pub fn is_unsafe(ch: char) -> bool {
    ch.is_control()
        || matches!(ch, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(excerpt: &str, column: usize, width: usize) -> Place {
        Place { line: 4, column, width, excerpt: excerpt.to_owned(), cut: 0 }
    }

    #[test]
    fn is_written_in_the_house_form() {
        let diagnostic = Diagnostic::new(".mcp.json", "unknown key `comand`")
            .at(place("      \"comand\": \"x\"", 7, 8))
            .advise("did you mean `command`?");
        assert_eq!(
            diagnostic.to_string(),
            "error: unknown key `comand`\n  .mcp.json:4:7\n4 |       \"comand\": \"x\"\n  |       ^^^^^^^^ did you mean `command`?"
        );
        assert!(diagnostic.clone().as_warning().to_string().starts_with("warning: unknown key"));
        assert!(diagnostic.is_error() && !diagnostic.as_warning().is_error());
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let line = format!("{}HERE{}", "a".repeat(500), "b".repeat(500));
        let text = Diagnostic::new("f", "m").at(place(&line, 501, 4)).to_string();
        points_to(&text, "HERE");
        // What is left out already counts too.
        let left_out = Place { line: 1, column: 1_000_001, width: 4, excerpt: "xxxHEREyyy".to_owned(), cut: 999_997 };
        points_to(&Diagnostic::new("f", "m").at(left_out).to_string(), "HERE");
    }

    fn points_to(text: &str, expected: &str) {
        let [.., shown, carets] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
        assert!(shown.chars().count() < 130, "{shown}");
        let at = carets.find('^').expect("a caret");
        assert_eq!(shown.chars().skip(at).take(expected.len()).collect::<String>(), expected);
    }

    #[test]
    fn nothing_that_a_terminal_acts_upon_gets_through() {
        let text = Diagnostic::new("a\u{1b}[2J", "m\u{7}\u{202e}").at(place("x\u{1b}[31m\ty", 1, 1)).to_string();
        assert!(!text.chars().any(|ch| (ch.is_control() && ch != '\n') || ch == '\u{202e}'), "{text:?}");
    }
}
