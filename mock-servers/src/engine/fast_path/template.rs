//! Parsed strings with placeholders.

use serde_json::{Map, Value};

use super::call::SimpleCall;

/// A string whose placeholders are arguments or the number of the call.
#[derive(Debug, Clone)]
pub(super) struct Template(Vec<Piece>);

#[derive(Debug, Clone)]
enum Piece {
    Text(String),
    /// The number of the call.
    Nth,
    /// One argument.
    Argument(String),
    /// All arguments, and the text without any.
    Arguments(&'static str),
}

impl Template {
    /// The default reply: name and arguments.
    pub(super) fn echo(name: &str) -> Self {
        Self(vec![Piece::Text(format!("{name}: ")), Piece::Arguments("{}")])
    }

    /// Parses a string; `None` if it has other placeholders, which need the normal path.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (mut pieces, mut rest) = (Vec::new(), text);
        while let Some((before, after)) = rest.split_once("{{") {
            let (name, behind) = after.split_once("}}")?;
            pieces.push(Piece::Text(before.to_owned()));
            pieces.push(match name.trim() {
                "nth" => Piece::Nth,
                "arguments" => Piece::Arguments(""),
                name => {
                    let argument = name.strip_prefix("arguments.").filter(|argument| !argument.contains('.'))?;
                    Piece::Argument(argument.to_owned())
                }
            });
            rest = behind;
        }
        pieces.push(Piece::Text(rest.to_owned()));
        Some(Self(pieces))
    }

    /// Writes the filled string as JSON.
    pub(super) fn write(&self, call: &SimpleCall<'_>, nth: u64, out: &mut Vec<u8>) {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(piece) => text.push_str(piece),
                Piece::Nth => text.push_str(&nth.to_string()),
                Piece::Argument(name) => match call.arguments.as_ref().and_then(|arguments| arguments.get(name)) {
                    None | Some(Value::Null) => {}
                    Some(Value::String(value)) => text.push_str(value),
                    Some(value) => text.push_str(&value.to_string()),
                },
                Piece::Arguments(none) => text.push_str(&call.arguments.as_ref().map_or((*none).to_owned(), all)),
            }
        }
        // Writing a string to a vector cannot fail.
        if let Err(cause) = serde_json::to_writer(out, &text) {
            tracing::error!(%cause, "a text has no JSON form");
        }
    }
}

fn all(arguments: &Map<String, Value>) -> String {
    // Keys are strings, so writing an object cannot fail.
    serde_json::to_string(arguments).unwrap_or_default()
}
