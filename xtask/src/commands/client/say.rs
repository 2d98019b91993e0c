//! What the commands of the client print. Nothing that a server says can move a terminal's cursor, colour it or ring it.

use std::io::Write as _;

use mock_servers::reading::printable;
use serde_json::Value;

use crate::failure::Failure;

/// Prints a text of a server, or one that quotes it. Its line breaks stay.
pub(crate) fn text(text: &str) -> Result<(), Failure> {
    writeln!(std::io::stdout(), "{}", in_lines(text)).map_err(Failure::environment)
}

/// Prints JSON, on one line for each value.
pub(crate) fn json(value: &Value) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(Failure::fault)?;
    writeln!(std::io::stdout(), "{}", ascii_controls(&text)).map_err(Failure::environment)
}

/// Prints what a server offers: its name on one line, and the first line of what the server says about it.
pub(crate) fn entry(offered: &Value, name: &str) -> Result<(), Failure> {
    let field = |name: &str| offered.get(name).and_then(Value::as_str);
    // A name is one line, whatever the server thinks.
    text(&field(name).unwrap_or_default().replace('\n', " "))?;
    let about = field("description").or_else(|| field("title"));
    about.and_then(|about| about.lines().next()).map_or(Ok(()), |line| text(&format!("    {line}")))
}

/// Tells people at the terminal something beside the outcome.
pub(crate) fn aside(text: &str) {
    // Nobody may be there to read it.
    let _ = writeln!(std::io::stderr(), "{}", in_lines(text));
}

/// The same without an end of the line: an answer is to follow.
pub(crate) fn prompt(text: &str) {
    let _ = write!(std::io::stderr(), "{}", in_lines(text));
}

/// A text whose line breaks stay.
fn in_lines(text: &str) -> String {
    text.split('\n').map(harmless).collect::<Vec<_>>().join("\n")
}

/// A line without what a terminal acts upon. A tab is harmless.
fn harmless(line: &str) -> String {
    line.split('\t').map(printable).collect::<Vec<_>>().join("\t")
}

/// JSON in which what a terminal acts upon is written as escapes, which mean the same (RFC 8259, section 7). serde_json
/// escapes only the characters below U+0020.
fn ascii_controls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for ch in text.chars() {
        if printable(ch.encode_utf8(&mut [0; 4])).starts_with('\\') && ch != '\\' {
            out.push_str(&format!("\\u{:04x}", u32::from(ch)));
        } else {
            out.push(ch);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_keeps_its_meaning_without_a_control_character() {
        let value = json!({"text": "a\u{1b}[31m\u{7f}\u{9b}2J\u{202e}b\\\"\n", "plain": "ä→"});
        let text = ascii_controls(&value.to_string());
        assert!(!text.chars().any(|ch| ch.is_control() || ch == '\u{202e}'), "{text}");
        assert!(text.contains("ä→"));
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }

    #[test]
    fn text_keeps_tabs_and_loses_escapes() {
        assert_eq!(harmless("a\tb"), "a\tb");
        assert!(!harmless("a\u{1b}[2J\r\u{9b}").chars().any(char::is_control));
    }
}
