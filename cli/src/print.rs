//! Printing to stdout and stderr, for all commands.
//!
//! A closed pipe is not an error: the remaining output is discarded, and the command ends with the exit code it would
//! have had. Text from servers cannot move the cursor of a terminal, color it or ring its bell.

use std::io::{self, ErrorKind, Write as _, stderr, stdout};

use diagnostics::printable;
use serde::Serialize;
use serde_json::Value;

use crate::error::CommandError;

/// Prints trusted text as it is.
pub(crate) fn raw(text: &str) -> Result<(), CommandError> {
    let mut out = stdout().lock();
    ignore_closed_pipe(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Prints trusted text and a line break.
pub(crate) fn line(text: &str) -> Result<(), CommandError> {
    raw(&format!("{text}\n"))
}

/// Prints text that a server sent or that quotes one, and a line break. Line breaks inside are kept.
pub(crate) fn text(text: &str) -> Result<(), CommandError> {
    line(&escape_lines(text))
}

/// Prints a JSON value on one line.
pub(crate) fn json(value: &Value) -> Result<(), CommandError> {
    let text = serde_json::to_string(value).map_err(CommandError::internal)?;
    line(&ascii_controls(&text))
}

/// Prints indented JSON.
pub(crate) fn pretty_json(value: &impl Serialize) -> Result<(), CommandError> {
    let text = serde_json::to_string_pretty(value).map_err(CommandError::internal)?;
    line(&ascii_controls(&text))
}

/// Prints an item of a server's list: its name on one line, and the first line of its description.
pub(crate) fn entry(item: &Value, name: &str) -> Result<(), CommandError> {
    let field = |name: &str| item.get(name).and_then(Value::as_str);
    text(&field(name).unwrap_or_default().replace('\n', " "))?;
    let description = field("description").or_else(|| field("title"));
    description.and_then(|description| description.lines().next()).map_or(Ok(()), |line| text(&format!("    {line}")))
}

/// Prints a note to stderr. A closed stderr is ignored.
pub(crate) fn note(text: &str) {
    let _ = writeln!(stderr(), "{}", escape_lines(text));
}

/// Prints a JSON value to stderr on one line. A closed stderr is ignored.
pub(crate) fn json_note(value: &impl Serialize) {
    // Only maps with keys that are not strings cannot be written as JSON.
    let text = serde_json::to_string(value).unwrap_or_default();
    let _ = writeln!(stderr(), "{}", ascii_controls(&text));
}

/// Prints a question to stderr; the cursor stays on its line.
pub(crate) fn prompt(text: &str) {
    let _ = write!(stderr(), "{}", escape_lines(text));
}

fn ignore_closed_pipe(written: io::Result<()>) -> Result<(), CommandError> {
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(CommandError::environment(error)),
        _ => Ok(()),
    }
}

/// Escapes control characters except line breaks and tabs.
fn escape_lines(text: &str) -> String {
    text.split('\n').map(escape_line).collect::<Vec<_>>().join("\n")
}

fn escape_line(line: &str) -> String {
    line.split('\t').map(printable).collect::<Vec<_>>().join("\t")
}

/// Writes control characters in JSON as escapes, which mean the same (RFC 8259, section 7). serde_json escapes only
/// characters below U+0020.
fn ascii_controls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for ch in text.chars() {
        if ch != '\n' && ch != '\\' && printable(ch.encode_utf8(&mut [0; 4])).starts_with('\\') {
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
        assert_eq!(escape_line("a\tb"), "a\tb");
        assert!(!escape_line("a\u{1b}[2J\r\u{9b}").chars().any(char::is_control));
    }

    #[test]
    fn only_a_closed_pipe_is_ignored() {
        assert!(ignore_closed_pipe(Err(ErrorKind::BrokenPipe.into())).is_ok());
        assert!(ignore_closed_pipe(Err(ErrorKind::StorageFull.into())).is_err());
    }
}
