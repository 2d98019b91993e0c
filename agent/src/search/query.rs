//! What a model asks for.

use bm25::Tokenizer as _;

use super::tokenizer::WordTokenizer;
use crate::limits::head;

/// How much of a query is read.
const MAX_CHARS: usize = 1_024;
/// How many words can be required; more are words like others.
const REQUIRED: usize = 4;
/// How many names can be asked for at a time.
const NAMES: usize = 50;

/// A search for tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Query {
    /// Tools of exactly these qualified names: `select:mcp__a__b,mcp__c__d`.
    Names(Vec<String>),
    /// Tools that have something of these words.
    WordTokenizer {
        /// WordTokenizer that each tool must have, written `+word`.
        required: Vec<String>,
        /// The others.
        words: Vec<String>,
    },
}

impl Query {
    /// Reads what a model wrote. Any text is a query; one without a word finds nothing.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        if let Some(names) = text.strip_prefix("select:") {
            let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
            return Self::Names(names.take(NAMES).map(str::to_owned).collect());
        }
        let (mut required, mut words) = (Vec::new(), Vec::new());
        for part in head(text, MAX_CHARS).split_whitespace() {
            match part.strip_prefix('+').filter(|_| required.len() < REQUIRED) {
                Some(part) => required.extend(WordTokenizer.tokenize(part)),
                None => words.extend(WordTokenizer.tokenize(part)),
            }
        }
        Self::WordTokenizer { required, words }
    }
}
