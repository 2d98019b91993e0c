//! Search for tools whose definitions are not in the model's context.
//!
//! The definitions of many tools would fill the context. They are then *deferred* ([`SearchMode`]): the model sees one search
//! tool ([`tool`]) and the definitions that it finds. The index ranks by BM25 over names and descriptions, without requests.

pub mod mode;
mod query;
#[cfg(test)]
mod tests;
mod tokenizer;
pub mod tool;

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use bm25::{Embedder, EmbedderBuilder, Scorer};
use client::{Tool, catalog::Entry};

use self::tokenizer::WordTokenizer;
pub use self::{mode::SearchMode, query::Query};
use crate::limits::head;

/// Length of an average tool in words, for the ranking: a longer text needs more occurrences. The true average would
/// change with each tool, and with it all other ones.
const AVERAGE_WORDS: f32 = 30.0;
/// Weight of words in a name, relative to words in a description.
const NAME_WEIGHT: usize = 3;
/// Indexed bytes of a description. Some servers put manuals there.
const DESCRIPTION_BYTES: usize = 4_096;
/// Maximum number of words of a query; the rarest are used.
const MAX_QUERY_WORDS: usize = 10;
/// Maximum number of occurrences of the words of a query, so that every search takes milliseconds. Words that nearly all
/// tools have do not help the ranking.
const MAX_OCCURRENCES: usize = 5_000;
/// Maximum number of completions of a word of the query.
const MAX_COMPLETIONS: usize = 6;
/// Minimum length of a word, in characters, for completions.
const MIN_PREFIX: usize = 3;

/// A search result.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolMatch {
    /// Qualified name of the tool.
    pub name: String,
    /// Relevance; comparable within one search.
    pub score: f32,
}

/// A search index of tools. Tools are added and removed one by one, so that no search has to wait for an index.
pub struct ToolIndex {
    tools: HashMap<u32, Indexed>,
    ids: HashMap<Arc<str>, u32>,
    next_id: u32,
    embedder: Embedder<u32, WordTokenizer>,
    scorer: Scorer<u32, u32>,
    /// Number of tools per word.
    vocabulary: BTreeMap<String, usize>,
}

/// A tool of the index.
struct Indexed {
    name: Arc<str>,
    text: Box<str>,
}

impl std::fmt::Debug for ToolIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolIndex").field("tools", &self.len()).finish_non_exhaustive()
    }
}

impl Default for ToolIndex {
    fn default() -> Self {
        let embedder = EmbedderBuilder::with_avgdl(AVERAGE_WORDS).build();
        let (tools, ids, vocabulary) = (HashMap::new(), HashMap::new(), BTreeMap::new());
        Self { tools, ids, next_id: 0, embedder, scorer: Scorer::new(), vocabulary }
    }
}

impl ToolIndex {
    /// Index of all tools of a catalog.
    #[must_use]
    pub fn from_entries<'a>(tools: impl IntoIterator<Item = (&'a str, &'a Entry)>) -> Self {
        let mut index = Self::default();
        for (name, entry) in tools {
            index.insert(name, &entry.server, &entry.tool);
        }
        index
    }

    /// Adds a tool by its qualified name, or replaces it.
    pub fn insert(&mut self, name: &str, server: &str, tool: &Tool) {
        self.insert_text(name, text(server, tool));
    }

    fn insert_text(&mut self, name: &str, text: String) {
        self.remove(name);
        self.scorer.upsert(&self.next_id, self.embedder.embed(&text));
        for word in tokenizer::distinct(&text) {
            *self.vocabulary.entry(word).or_insert(0) += 1;
        }
        let name: Arc<str> = name.into();
        self.ids.insert(Arc::clone(&name), self.next_id);
        self.tools.insert(self.next_id, Indexed { name, text: text.into() });
        self.next_id += 1;
    }

    /// Removes a tool, if it is there.
    pub fn remove(&mut self, name: &str) {
        let Some(removed) = self.ids.remove(name).and_then(|id| {
            self.scorer.remove(&id);
            self.tools.remove(&id)
        }) else {
            return;
        };
        for word in tokenizer::distinct(&removed.text) {
            if let Some(tools) = self.vocabulary.get_mut(&word) {
                *tools -= 1;
                if *tools == 0 {
                    self.vocabulary.remove(&word);
                }
            }
        }
    }

    /// Number of tools.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether the index is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// At most `limit` matching tools, the best first. Tools with equal scores are sorted by name.
    #[must_use]
    pub fn search(&self, query: &Query, limit: usize) -> Vec<ToolMatch> {
        match query {
            Query::Names(wanted) => wanted
                .iter()
                .filter(|name| self.ids.contains_key(name.as_str()))
                .take(limit)
                .map(|name| ToolMatch { name: name.clone(), score: 1.0 })
                .collect(),
            Query::Words { required, words } => self.ranked(required, words, limit),
        }
    }

    fn ranked(&self, required: &[String], words: &[String], limit: usize) -> Vec<ToolMatch> {
        let wanted = self.ranking_words(required, words);
        let query = self.embedder.embed(&wanted.join(" "));
        let required: Vec<_> =
            required.iter().map(|word| self.embedder.embed(&self.completions(word).join(" "))).collect();
        let mut matches: Vec<(f32, &str)> = self
            .scorer
            .matches(&query)
            .into_iter()
            .filter(|found| {
                required.iter().all(|one| self.scorer.score(&found.id, one).is_some_and(|score| score > 0.0))
            })
            .filter_map(|found| Some((found.score, &*self.tools.get(&found.id)?.name)))
            .collect();
        let better = |one: &(f32, &str), other: &(f32, &str)| -> Ordering {
            other.0.total_cmp(&one.0).then_with(|| one.1.cmp(other.1))
        };
        if matches.len() > limit && limit > 0 {
            matches.select_nth_unstable_by(limit - 1, better);
        }
        matches.truncate(limit);
        matches.sort_unstable_by(better);
        matches.into_iter().map(|(score, name)| ToolMatch { name: name.to_owned(), score }).collect()
    }

    /// The words of the ranking: words of the query that occur, and their completions. The rarest required word is
    /// sufficient, because every result has the others too. Of the other words the rarest are used.
    fn ranking_words(&self, required: &[String], words: &[String]) -> Vec<String> {
        let occurrences = |word: &String| self.vocabulary.get(word).copied().unwrap_or(0);
        let required = required.iter().map(|word| self.completions(word));
        let mut known =
            required.min_by_key(|completions| completions.iter().map(occurrences).sum::<usize>()).unwrap_or_default();
        let others: BTreeSet<String> = words.iter().flat_map(|word| self.completions(word)).collect();
        let mut others: Vec<String> = others.into_iter().filter(|word| !known.contains(word)).collect();
        others.sort_by_key(occurrences);
        let mut sum = 0;
        for word in others.into_iter().take(MAX_QUERY_WORDS) {
            sum += occurrences(&word);
            if sum > MAX_OCCURRENCES && !known.is_empty() {
                break;
            }
            known.push(word);
        }
        known
    }

    /// A word and words that begin with it.
    fn completions(&self, word: &str) -> Vec<String> {
        let mut completions: Vec<String> =
            self.vocabulary.contains_key(word).then(|| word.to_owned()).into_iter().collect();
        if word.chars().count() >= MIN_PREFIX {
            let longer = self.vocabulary.range::<str, _>((std::ops::Bound::Excluded(word), std::ops::Bound::Unbounded));
            let longer = longer.map(|(longer, _)| longer).take_while(|longer| longer.starts_with(word));
            completions.extend(longer.take(MAX_COMPLETIONS).cloned());
        }
        completions
    }
}

/// The indexed text of a tool: server, name, title and the beginning of the description.
fn text(server: &str, tool: &Tool) -> String {
    let mut text = format!("{server} ");
    for _ in 0..NAME_WEIGHT {
        text.push_str(tool.name());
        text.push(' ');
    }
    text.push_str(tool.title().unwrap_or_default());
    text.push(' ');
    let description = tool.description().unwrap_or_default();
    text.push_str(head(description, DESCRIPTION_BYTES));
    text
}
