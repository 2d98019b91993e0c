//! Syntax of search queries.

use bm25::Tokenizer as _;

use super::tokenizer::WordTokenizer;
use crate::limits::head;

/// Maximum length of a query, in bytes.
const MAX_BYTES: usize = 1_024;
/// Maximum number of required words; further ones are optional.
const MAX_REQUIRED: usize = 4;
/// Maximum number of selected names.
const MAX_NAMES: usize = 50;

/// A search for tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Query {
    /// Tools with exactly these qualified names: `select:mcp__a__b,mcp__c__d`.
    Names(Vec<String>),
    /// Tools that match some of these words.
    Words {
        /// Words that every result must have, written `+word`.
        required: Vec<String>,
        /// The others.
        words: Vec<String>,
    },
}

impl Query {
    /// Parses a query. Every text is valid; without a word it matches no tool.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        if let Some(names) = text.strip_prefix("select:") {
            let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
            return Self::Names(names.take(MAX_NAMES).map(str::to_owned).collect());
        }
        let (mut required, mut words) = (Vec::new(), Vec::new());
        for part in head(text, MAX_BYTES).split_whitespace() {
            match part.strip_prefix('+').filter(|_| required.len() < MAX_REQUIRED) {
                Some(part) => required.extend(WordTokenizer.tokenize(part)),
                None => words.extend(WordTokenizer.tokenize(part)),
            }
        }
        Self::Words { required, words }
    }
}
