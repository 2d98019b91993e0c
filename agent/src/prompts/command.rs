//! Parser of slash commands.

use diagnostics::nearest;
use serde_json::{Map, Value};
use thiserror::Error;

use super::Prompt;

/// Why a slash command cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CommandError {
    /// It does not begin with `/` and a name.
    #[error("a command begins with `/` and a name, as `/mcp__server__prompt`")]
    NotACommand,
    /// The prompt does not exist.
    #[error("unknown prompt `/{name}`{}", .nearest.as_ref().map(|near| format!("; did you mean `/{near}`?")).unwrap_or_default())]
    Unknown {
        /// The name of the command.
        name: String,
        /// The most similar command.
        nearest: Option<String>,
    },
    /// A quote is not closed.
    #[error("the quote at character {at} of the values is not closed")]
    OpenQuote {
        /// Position of the quote in characters, counted from 1.
        at: usize,
    },
    /// A required argument has no value.
    #[error("`/{name}` requires a value for `{argument}`; usage: `{usage}`")]
    Missing {
        /// The command.
        name: String,
        /// The argument.
        argument: String,
        /// Usage of the command.
        usage: String,
    },
    /// The prompt has no arguments.
    #[error("`/{name}` takes no values")]
    NoArguments {
        /// The command.
        name: String,
    },
}

/// Splits a command into its name and the rest.
pub(super) fn split(typed: &str) -> Result<(&str, &str), CommandError> {
    let typed = typed.trim().strip_prefix('/').ok_or(CommandError::NotACommand)?;
    let (name, rest) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    if name.is_empty() { Err(CommandError::NotACommand) } else { Ok((name, rest)) }
}

/// Splits values at whitespace. A value that begins with `"` or `'` ends at the same quote before whitespace or the end. In
/// double quotes, `\"` is a quote. Other quotes and backslashes are literal: `it's` and `C:\new` are values.
///
/// # Errors
/// If a quote is not closed.
pub fn values(text: &str) -> Result<Vec<String>, CommandError> {
    let characters: Vec<char> = text.chars().collect();
    let (mut values, mut at) = (Vec::new(), 0);
    while at < characters.len() {
        match characters[at] {
            blank if blank.is_whitespace() => at += 1,
            quote @ ('"' | '\'') => {
                let (value, end) = quoted(&characters, at, quote)?;
                values.push(value);
                at = end;
            }
            _ => {
                let end =
                    characters[at..].iter().position(|one| one.is_whitespace()).map_or(characters.len(), |n| at + n);
                values.push(characters[at..end].iter().collect());
                at = end;
            }
        }
    }
    Ok(values)
}

/// Reads the quoted value at `begin`; returns it and the position after it.
fn quoted(characters: &[char], begin: usize, quote: char) -> Result<(String, usize), CommandError> {
    let (mut value, mut at) = (String::new(), begin + 1);
    while let Some(&character) = characters.get(at) {
        let next = characters.get(at + 1);
        if character == '\\' && quote == '"' && next == Some(&'"') {
            value.push('"');
            at += 2;
        } else if character == quote && next.is_none_or(|next| next.is_whitespace()) {
            return Ok((value, at + 1));
        } else {
            value.push(character);
            at += 1;
        }
    }
    Err(CommandError::OpenQuote { at: begin + 1 })
}

/// Assigns the values to the prompt's arguments.
pub(super) fn arguments(
    prompt: &Prompt,
    name: &str,
    mut values: Vec<String>,
) -> Result<Map<String, Value>, CommandError> {
    let known: Vec<(&str, bool)> = prompt.arguments().collect();
    if known.is_empty() && !values.is_empty() {
        return Err(CommandError::NoArguments { name: name.to_owned() });
    }
    if let Some((argument, _)) = known.iter().skip(values.len()).find(|(_, required)| *required) {
        let shown =
            known.iter().map(|(name, required)| if *required { format!(" <{name}>") } else { format!(" [{name}]") });
        let usage = format!("/{name}{}", shown.collect::<String>());
        return Err(CommandError::Missing { name: name.to_owned(), argument: (*argument).to_owned(), usage });
    }
    if values.len() > known.len() {
        let last = values.split_off(known.len() - 1).join(" ");
        values.push(last);
    }
    Ok(known.iter().zip(values).map(|((argument, _), value)| ((*argument).to_owned(), value.into())).collect())
}

pub(super) fn unknown_command<'a>(name: &str, known: impl Iterator<Item = &'a String>) -> CommandError {
    let nearest = nearest::nearest(name, known.map(String::as_str)).map(str::to_owned);
    CommandError::Unknown { name: name.to_owned(), nearest }
}
