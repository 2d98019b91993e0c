//! JSON as people and careless programs write it.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Text that is no JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct MalformedJson {
    /// What is wrong with it; drawn for each message if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with: Option<Malformation>,
}

/// What is wrong with a JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Malformation {
    /// The last brace is missing.
    MissingBrace,
    /// There is one brace too many.
    ExtraBrace,
    /// A comma stands before the last brace.
    TrailingComma,
    /// The first member's name is in single quotes.
    SingleQuotes,
    /// The first member's name has no quotes.
    UnquotedName,
    /// A member's value is `NaN`.
    NotANumber,
    /// There is a comment.
    Comment,
}

const ALL: [Malformation; 7] = [
    Malformation::MissingBrace,
    Malformation::ExtraBrace,
    Malformation::TrailingComma,
    Malformation::SingleQuotes,
    Malformation::UnquotedName,
    Malformation::NotANumber,
    Malformation::Comment,
];

impl MalformedJson {
    pub(super) fn respell(self, payload: &mut Vec<u8>, random: &mut ChaCha8Rng) {
        let with = self.with.unwrap_or_else(|| ALL[random.random_range(0..ALL.len())]);
        let last = payload.len().saturating_sub(1);
        match with {
            Malformation::MissingBrace => drop(payload.pop()),
            Malformation::ExtraBrace => payload.push(b'}'),
            Malformation::TrailingComma => payload.insert(last, b','),
            Malformation::SingleQuotes => quote_first_name(payload, b"'"),
            Malformation::UnquotedName => quote_first_name(payload, b""),
            Malformation::NotANumber => drop(payload.splice(1..1, *b"\"n\":NaN,")),
            Malformation::Comment => drop(payload.splice(1..1, *b"/* no comment */")),
        }
    }
}

fn quote_first_name(payload: &mut Vec<u8>, quote: &[u8]) {
    for _ in 0..2 {
        if let Some(at) = payload.iter().position(|byte| *byte == b'"') {
            payload.splice(at..=at, quote.iter().copied());
        }
    }
}
