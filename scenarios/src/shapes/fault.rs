//! Differences between a message and its shape, in words.

use std::fmt;

use serde_json::Value;

use super::{Type, expression::Range};

/// Maximum length of a string in a fault, in characters.
const MAX_STRING: usize = 80;

/// A difference between a message and its shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The definition that the value violates.
    pub definition: &'static str,
    /// The place of the value: a JSON Pointer into the message.
    pub pointer: String,
    /// What the value should be: `a string`.
    pub expected: String,
    /// The value.
    pub observed: Observed,
}

/// The value that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observed {
    /// A required member that is missing.
    Missing,
    /// A member that must not be present.
    Unexpected,
    /// A value, in bounded form.
    Value(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pointer, expected, observed, .. } = self;
        match observed {
            Observed::Missing => write!(f, "`{pointer}` is missing; expected {expected}"),
            Observed::Unexpected => write!(f, "`{pointer}` must not be present"),
            Observed::Value(value) => write!(f, "`{pointer}` is {value}, not {expected}"),
        }
    }
}

/// A value in bounded words.
pub(super) fn observed(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => match text.char_indices().nth(MAX_STRING) {
            Some((end, _)) => Value::from(format!("{}…", &text[..end])).to_string(),
            None => value.to_string(),
        },
        Value::Array(items) => match items.len() {
            1 => "an array of 1 item".to_owned(),
            count => format!("an array of {count} items"),
        },
        Value::Object(_) => "an object".to_owned(),
    }
}

impl Type {
    /// What a value of this type is.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Any => "a value".to_owned(),
            Self::Null => "null".to_owned(),
            Self::String => "a string".to_owned(),
            Self::Boolean => "a boolean".to_owned(),
            Self::Integer(range) => format!("an integer{}", range.words()),
            Self::Number(range) => format!("a number{}", range.words()),
            Self::Object | Self::Map(_) | Self::Definition(_) => "an object".to_owned(),
            Self::Absent => "absent".to_owned(),
            Self::Uri => "a URI".to_owned(),
            Self::UriTemplate => "a URI template".to_owned(),
            Self::Base64 => "base64".to_owned(),
            Self::Const(value) => format!("\"{value}\""),
            Self::Array { max: None, .. } => "an array".to_owned(),
            Self::Array { max: Some(max), .. } => format!("an array of at most {max} items"),
            Self::Union(all) => alternatives(all.iter().map(Self::words)),
        }
    }
}

/// `a`, `a or b`, or `a, b or c`.
pub(super) fn alternatives(words: impl Iterator<Item = String>) -> String {
    let mut words: Vec<String> = words.collect();
    match words.pop() {
        Some(last) if words.is_empty() => last,
        Some(last) => format!("{} or {last}", words.join(", ")),
        None => String::new(),
    }
}

impl Range {
    fn words(self) -> String {
        match (self.from, self.to) {
            (None, None) => String::new(),
            (Some(from), None) => format!(" of {from} or more"),
            (None, Some(to)) => format!(" of {to} or less"),
            (Some(from), Some(to)) => format!(" from {from} to {to}"),
        }
    }

    pub(super) fn contains(self, number: f64) -> bool {
        self.from.is_none_or(|from| from <= number) && self.to.is_none_or(|to| number <= to)
    }
}
